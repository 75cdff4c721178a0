//! The buffers of collectives, while the contents of buffers are compared: which memory an operation reads and
//! writes, from its start until the program knows that it is complete.
//!
//! They are entries of the ledger's third ring: see `mpiscope_image::traffic::Entry`. A request refers to the
//! first one. A persistent collective has entries without a beginning from its initialization on, and each start
//! copies those of the last one. Blocking collectives have entries only if these can matter, since there are
//! many of them.
//!
//! Only arguments that are significant on this process are looked at. `MPI_IN_PLACE` is no buffer: what such a
//! process contributes is in its receive buffer, which the operation may write. With `MPI_BOTTOM` nothing is
//! recorded.
#![allow(unsafe_code)]

use super::contents;
use super::data::Data;
use super::facts::{self, MOST_BUFFERS as MOST};
use super::faults;
use super::freed;
use super::ledger::Line;
use super::scratch;
use super::state::{State, hold};
use crate::interpose::frame::Call;
use crate::interpose::real::{self, Neighbors};
use crate::record::bytes;
use crate::record::counts::{Counts, plausible};
use crate::record::fortran_call_site;
use crate::record::objects::{ask, comms, datatypes, live, tables};
use mpi_abi::{Abi, FunctionId, Handle, f};
use mpiscope_image::layout::{Loss, SectionKind, Thread};
use mpiscope_image::objects::Flag;
use mpiscope_image::traffic::{Entry, EntryFlag, Request, RequestKind};
use std::ffi::c_int;

/// Maximum number of entries for one buffer: adjacent blocks are one. Further ones are not recorded.
const MOST_BLOCKS: usize = MOST / 2;

/// Address, count and datatype.
type Plain<A> = (usize, i64, <A as Abi>::Handle);
/// Address, counts, displacements and datatype.
type Vector<A> = (usize, Counts, Counts, <A as Abi>::Handle);
/// Address, counts, displacements in bytes, and datatypes.
type Mixed<A> = (usize, Counts, Counts, *const <A as Abi>::Handle);

/// Adjacent elements.
#[derive(Clone, Copy, Default)]
struct Block {
    address: u64,
    count: u64,
    datatype: u64,
    bytes: u64,
    /// Whether its elements have no gaps.
    is_dense: bool,
    is_written: bool,
    /// Whether it contains bytes of memory twice.
    repeats: bool,
}

impl Block {
    /// Adds a block that begins where this one ends. Returns false if it does not.
    fn join(&mut self, next: &Self) -> bool {
        let alike = self.is_dense && self.datatype == next.datatype && self.is_written == next.is_written;
        let joins = alike && self.address.checked_add(self.bytes) == Some(next.address);
        if joins {
            self.count = self.count.saturating_add(next.count);
            self.bytes = self.bytes.saturating_add(next.bytes);
        }
        joins
    }

    fn used(&self) -> (u64, bool) {
        (self.bytes, self.is_written)
    }

    fn data(&self, from: u64) -> Data {
        Data { from, count: self.count, datatype: self.datatype, buffer: self.address }
    }

    /// Whether two blocks without gaps have a byte in common.
    fn shares(&self, other: &Self) -> bool {
        let end = |block: &Self| block.address.saturating_add(block.bytes);
        let gapless = self.is_dense && other.is_dense;
        gapless && self.address < end(other) && other.address < end(self)
    }
}

/// The part of a process in a rooted collective.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// The root, which has a part of its own.
    Root,
    /// The root of an intercommunicator.
    RootOfOthers,
    Leaf,
    /// In the root's group of an intercommunicator.
    Neither,
}

/// What an operation uses.
struct Buffers<A: Abi> {
    comm: A::Handle,
    /// The blocking function that does the same.
    operation: FunctionId,
    blocks: [Block; MOST],
    len: usize,
    /// Whether a datatype has been freed.
    is_freed: bool,
}

impl<A: Abi> Buffers<A> {
    /// Returns `None` without times, or if the communicator may be none.
    #[inline(never)]
    fn of(call: &Call<A>, comm: A::Handle, request: *const A::Handle) -> Option<Self> {
        // Before the call, its success does not show that it is one.
        let known = if request.is_null() {
            tables::comm::<A>(comm).is_some()
        } else {
            comms::may_ask_about::<A>(comm)
        };
        let operation = call.function().operation();
        let blocks = [Block::default(); MOST];
        (known && call.since != 0).then_some(Self { comm, operation, blocks, len: 0, is_freed: false })
    }

    #[inline(never)]
    fn part(&self, root: c_int) -> Part {
        if root == A::PROC_NULL {
            Part::Neither
        } else if root == A::ROOT {
            Part::RootOfOthers
        } else if !real::is_inter::<A>(self.comm) && self.rank() == usize::try_from(root).ok() {
            Part::Root
        } else {
            Part::Leaf
        }
    }

    fn rank(&self) -> Option<usize> {
        let mut rank = 0;
        real::comm_rank::<A>(self.comm, &mut rank).filter(|result| *result == A::SUCCESS)?;
        usize::try_from(rank).ok()
    }

    fn peers(&self) -> u64 {
        bytes::peers::<A>(self.comm)
    }

    fn members(&self) -> u64 {
        bytes::members::<A>(self.comm)
    }

    fn is_buffer(address: usize) -> bool {
        address != 0 && address != A::IN_PLACE
    }

    /// Adds `times` blocks that follow one another.
    #[inline(never)]
    fn plain(&mut self, (address, count, datatype): Plain<A>, times: u64, is_written: bool) {
        if !Self::is_buffer(address) || count <= 0 {
            return;
        }
        let Some(count) = count.cast_unsigned().checked_mul(times) else { return };
        self.add(address as u64, count, datatype, is_written);
    }

    /// Adds a block for each of `places`.
    ///
    /// # Safety
    ///
    /// If there is a buffer, both arrays are null or have an element at each place.
    unsafe fn vector(
        &mut self,
        (address, counts, displacements, datatype): Vector<A>,
        places: impl Iterator<Item = usize>,
        is_written: bool,
    ) {
        if !Self::is_buffer(address) || !counts.is_plausible() || !displacements.is_plausible() {
            return;
        }
        let (mut extent, first) = (None, self.len);
        for at in places {
            // SAFETY: the caller's promise.
            let (count, displacement) = unsafe { (counts.get(at), displacements.get(at)) };
            // The displacement of no elements is not significant, nor is the datatype if there are none at all.
            if count <= 0 {
                continue;
            }
            let Some(extent) = *extent.get_or_insert_with(|| Self::extent(datatype)) else { return };
            let start = displacement.wrapping_mul(extent).wrapping_add_unsigned(address as u64);
            self.next(first, start.cast_unsigned(), count.cast_unsigned(), datatype, is_written);
        }
    }

    /// Like [`vector`](Self::vector) with a datatype for each place.
    ///
    /// # Safety
    ///
    /// If there is a buffer, the arrays are null or have an element at each place.
    unsafe fn mixed(
        &mut self,
        (address, counts, displacements, types): Mixed<A>,
        places: impl Iterator<Item = usize>,
        is_written: bool,
    ) {
        let there = counts.is_plausible() && displacements.is_plausible() && plausible(types.cast());
        if !Self::is_buffer(address) || !there {
            return;
        }
        let first = self.len;
        for at in places {
            // SAFETY: the caller's promise.
            let (count, displacement, datatype) =
                unsafe { (counts.get(at), displacements.get(at), *types.add(at)) };
            if count > 0 {
                let start = displacement.wrapping_add_unsigned(address as u64);
                self.next(first, start.cast_unsigned(), count.cast_unsigned(), datatype, is_written);
            }
        }
    }

    /// Adds a block of a buffer whose other blocks begin at index `first`.
    fn next(&mut self, first: usize, address: u64, count: u64, datatype: A::Handle, is_written: bool) {
        if self.len < first + MOST_BLOCKS {
            let added = self.len;
            self.add(address, count, datatype, is_written);
            if added > first
                && let Some([.., last, new]) = self.blocks.get_mut(..self.len)
                && self.len > added
                && last.join(new)
            {
                self.len = added;
            }
        }
    }

    #[inline(never)]
    fn add(&mut self, address: u64, count: u64, datatype: A::Handle, is_written: bool) {
        let bytes = bytes::elements::<A>(i64::try_from(count).unwrap_or(0), datatype);
        let datatype = datatype.raw();
        self.is_freed |= !freed::sign_one::<A>(datatype);
        let record = datatypes::signed::<A>(datatype);
        let is_dense = record.is_some_and(datatypes::is_gapless);
        let repeats = record.is_some_and(|record| record.repeats_memory(bytes));
        if let Some(to) = self.blocks.get_mut(self.len).filter(|_| bytes != 0) {
            *to = Block { address, count, datatype, bytes, is_dense, is_written, repeats };
            self.len += 1;
        }
    }

    #[inline(never)]
    fn extent(datatype: A::Handle) -> Option<i64> {
        let is_dense = datatypes::signed::<A>(datatype.raw()).is_some_and(datatypes::is_gapless);
        if is_dense {
            return i64::try_from(bytes::elements::<A>(1, datatype)).ok();
        }
        let (mut lower, mut extent) = (0, 0);
        ask::type_extent::<A>(datatype, &mut lower, &mut extent).filter(|result| *result == A::SUCCESS)?;
        Some(extent)
    }

    /// Adds the blocks that a neighborhood collective receives one after the other.
    fn received_from_neighbors(&mut self, (address, count, datatype): Plain<A>) {
        self.block_for_each(real::receives_from::<A>(self.comm), (address, count, datatype), true);
    }

    fn has_neighbors_to_send_to(&self) -> bool {
        real::sends_to::<A>(self.comm).is_some_and(|out| out.there().next().is_some())
    }

    fn sent_to_neighbors(&mut self, sent: Plain<A>) {
        self.block_for_each(real::sends_to::<A>(self.comm), sent, false);
    }

    fn block_for_each(
        &mut self,
        neighbors: Option<Neighbors<A>>,
        (address, count, datatype): Plain<A>,
        is_written: bool,
    ) {
        if !Self::is_buffer(address) || count <= 0 {
            return;
        }
        let Some(extent) = Self::extent(datatype) else { return };
        let first = self.len;
        for at in neighbors.iter().flat_map(Neighbors::there) {
            let before = extent.wrapping_mul(count).wrapping_mul(at as i64);
            let start = before.wrapping_add_unsigned(address as u64);
            self.next(first, start.cast_unsigned(), count.cast_unsigned(), datatype, is_written);
        }
    }

    /// Makes the entries.
    #[inline(never)]
    fn record(&self, call: &Call<A>, request: *const A::Handle) {
        if self.is_freed {
            faults::freed_handle(call, SectionKind::DATATYPES);
        }
        let Some(held) = hold() else { return };
        if request.is_null() {
            return self.record_blocking(&held, call);
        }
        let handle = scratch::pointed(request);
        let Some(request) = held.requests.find(handle).filter(|_| handle != held.null_request) else {
            return;
        };
        // With a shared handle it was complete when the call returned, and its completion is not seen.
        let is_mine = request.head.made_at.get() == call.since && !request.is(Flag::SHARED_HANDLE);
        if !is_mine || RequestKind(request.kind.get()) != RequestKind::COLLECTIVE {
            return;
        }
        let from = fortran_call_site::here(call);
        let posted = if request.is(Flag::PERSISTENT) { 0 } else { call.since };
        let of = Owner::of(request);
        let lines = self.blocks().iter().map(|block| line(of, posted, block.used(), block.data(from)));
        refer(request, written(&held, lines));
    }

    /// A blocking collective has entries if other operations are under way when it begins, if others may access memory
    /// of windows, or if its own buffers share memory. Nothing else can begin before it returns, so that its beginning
    /// is enough.
    fn record_blocking(&self, held: &State, call: &Call<A>) {
        let is_alone = held.totals.pending.get() == 0 && live::of(SectionKind::WINDOWS) == 0;
        if is_alone && !self.overlaps_itself() {
            return;
        }
        let from = fortran_call_site::here(call);
        let of = Owner { comm: 0, function: call.function().0 + 1, serial: 0 };
        for block in self.blocks() {
            let mut line = line(of, call.since, block.used(), block.data(from));
            line.flags |= EntryFlag::BLOCKING.0;
            facts::buffer_used(held, &line);
        }
    }

    fn blocks(&self) -> &[Block] {
        self.blocks.get(..self.len).unwrap_or_default()
    }

    /// Whether it writes bytes twice, or bytes that another of its blocks contains.
    fn overlaps_itself(&self) -> bool {
        let blocks = self.blocks();
        if blocks.iter().any(|block| block.is_written && block.repeats) {
            return true;
        }
        let pair = |(at, one): (usize, &Block)| {
            let others = blocks.get(at + 1..).unwrap_or_default();
            others.iter().any(|other| (one.is_written || other.is_written) && one.shares(other))
        };
        blocks.iter().enumerate().any(pair)
    }
}

/// What the entries of an operation have in common.
#[derive(Clone, Copy)]
struct Owner {
    /// Identity of the communicator; zero without a request.
    comm: u64,
    /// Function number plus one.
    function: u16,
    /// Number of the operation that the request was made for; zero without one.
    serial: u64,
}

impl Owner {
    fn of(request: &Request) -> Self {
        let (comm, function) = (request.comm_identity.get(), request.head.made_by.get());
        Self { comm, function, serial: facts::owner(request) }
    }
}

/// Returns the entry of a buffer.
fn line(of: Owner, posted: u64, (bytes, is_written): (u64, bool), data: Data) -> Line {
    Line {
        comm: of.comm,
        peer: 0,
        tag: of.function.into(),
        bytes,
        posted,
        completed: 0,
        order: of.serial,
        nth: 0,
        flags: if is_written { EntryFlag::WRITTEN.0 } else { 0 },
        data,
        waited: None,
        probed: None,
    }
}

/// Writes entries and returns the number of the first, zero if there is none.
fn written(held: &State, lines: impl Iterator<Item = Line>) -> u64 {
    lines.fold(0, |first, line| {
        let number = facts::buffer_used(held, &line);
        if first == 0 { number } else { first }
    })
}

fn refer(request: &Request, number: u64) {
    request.head.seq.write(|| request.set_buffers(number));
}

/// A persistent collective was started.
#[cold]
#[inline(never)]
pub fn restarted<A: Abi>(held: &State, call: &Call<A>, request: &Request) {
    if request.buffers() == 0 || call.since == 0 {
        return;
    }
    let from = fortran_call_site::here(call);
    let mut any = false;
    let lines = facts::buffers(held, request).map(|entry| {
        any = true;
        again(request, call.since, from, entry)
    });
    let first = written(held, lines);
    if !any {
        held.writer.lose(Loss::BUFFERS, 1);
    }
    refer(request, first);
}

fn again(request: &Request, posted: u64, from: u64, entry: &Entry) -> Line {
    let is_written = entry.flags.get() & EntryFlag::WRITTEN.0 != 0;
    let (count, datatype, buffer) = (entry.count.get(), entry.datatype.get(), entry.buffer.get());
    line(Owner::of(request), posted, (entry.bytes.get(), is_written), Data { from, count, datatype, buffer })
}

/// Defines functions for hooks, each with one function that does the work.
macro_rules! hooks {
    ($($(#[$doc:meta])* $name:ident ($($p:ident : $t:ty),*) $uses:ident $body:block)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            pub fn $name<A: Abi>(
                call: &Call<A>,
                result: c_int,
                comm: A::Handle,
                request: *const A::Handle,
                $($p: $t),*
            ) {
                if contents::recorded() && result == A::SUCCESS {
                    works::$name::<A>((call.thread(), call.since), call.function(), comm, request, $($p),*);
                }
            }
        )*

        /// Hooks before blocking collectives, which may not return if their buffers are wrong.
        pub mod blocking {
            use super::*;

            $(
                $(#[$doc])*
                #[inline(always)]
                #[allow(clippy::too_many_arguments)]
                pub fn $name<A: Abi>(call: &Call<A>, comm: A::Handle, $($p: $t),*) {
                    if contents::recorded() {
                        let place = (call.thread(), call.since);
                        works::$name::<A>(place, call.function(), comm, std::ptr::null(), $($p),*);
                    }
                }
            )*
        }

        /// The parts of a call travel in registers, which keeps the many hooks small.
        mod works {
            use super::*;

            $(
                #[cold]
                #[inline(never)]
                #[allow(clippy::too_many_arguments)]
                pub fn $name<A: Abi>(
                    (thread, since): (&'static Thread, u64),
                    function: FunctionId,
                    comm: A::Handle,
                    request: *const A::Handle,
                    $($p: $t),*
                ) {
                    let call = &Call::again(thread, function, since, 0);
                    let Some(mut buffers) = Buffers::<A>::of(call, comm, request) else { return };
                    let $uses = &mut buffers;
                    $body
                    buffers.record(call, request);
                }
            )*
        }
    };
}

/// The positions in arrays with an element for each process.
fn each(number: u64) -> std::ops::Range<usize> {
    0..usize::try_from(number).unwrap_or(0)
}

hooks! {
    /// `MPI_Bcast`, `MPI_Ibcast`.
    bcast(root: c_int, all: Plain<A>) uses {
        match uses.part(root) {
            Part::Root | Part::RootOfOthers => uses.plain(all, 1, false),
            Part::Leaf => uses.plain(all, 1, true),
            Part::Neither => {}
        }
    }

    /// `MPI_Gather`, `MPI_Igather`.
    gather(root: c_int, send: Plain<A>, receive: Plain<A>) uses {
        let part = uses.part(root);
        if matches!(part, Part::Root | Part::Leaf) {
            uses.plain(send, 1, false);
        }
        if matches!(part, Part::Root | Part::RootOfOthers) {
            uses.plain(receive, uses.peers(), true);
        }
    }

    /// `MPI_Gatherv`, `MPI_Igatherv`.
    gatherv(root: c_int, send: Plain<A>, receive: Vector<A>) uses {
        let part = uses.part(root);
        if matches!(part, Part::Root | Part::Leaf) {
            uses.plain(send, 1, false);
        }
        if matches!(part, Part::Root | Part::RootOfOthers) {
            // SAFETY: at the root, the program passes an element for each process.
            unsafe { uses.vector(receive, each(uses.peers()), true) };
        }
    }

    /// `MPI_Scatter`, `MPI_Iscatter`.
    scatter(root: c_int, send: Plain<A>, receive: Plain<A>) uses {
        let part = uses.part(root);
        if matches!(part, Part::Root | Part::RootOfOthers) {
            uses.plain(send, uses.peers(), false);
        }
        if matches!(part, Part::Root | Part::Leaf) {
            uses.plain(receive, 1, true);
        }
    }

    /// `MPI_Scatterv`, `MPI_Iscatterv`.
    scatterv(root: c_int, send: Vector<A>, receive: Plain<A>) uses {
        let part = uses.part(root);
        if matches!(part, Part::Root | Part::RootOfOthers) {
            // SAFETY: at the root, the program passes an element for each process.
            unsafe { uses.vector(send, each(uses.peers()), false) };
        }
        if matches!(part, Part::Root | Part::Leaf) {
            uses.plain(receive, 1, true);
        }
    }

    /// `MPI_Allgather`, `MPI_Iallgather`.
    allgather(send: Plain<A>, receive: Plain<A>) uses {
        uses.plain(send, 1, false);
        uses.plain(receive, uses.peers(), true);
    }

    /// `MPI_Allgatherv`, `MPI_Iallgatherv`.
    allgatherv(send: Plain<A>, receive: Vector<A>) uses {
        uses.plain(send, 1, false);
        // SAFETY: the program passes an element for each process.
        unsafe { uses.vector(receive, each(uses.peers()), true) };
    }

    /// `MPI_Alltoall`, `MPI_Ialltoall`.
    alltoall(send: Plain<A>, receive: Plain<A>) uses {
        let peers = uses.peers();
        uses.plain(send, peers, false);
        uses.plain(receive, peers, true);
    }

    /// `MPI_Alltoallv`, `MPI_Ialltoallv`.
    alltoallv(send: Vector<A>, receive: Vector<A>) uses {
        let peers = uses.peers();
        // SAFETY: the program passes an element for each process.
        unsafe {
            uses.vector(send, each(peers), false);
            uses.vector(receive, each(peers), true);
        }
    }

    /// `MPI_Alltoallw`, `MPI_Ialltoallw`.
    alltoallw(send: Mixed<A>, receive: Mixed<A>) uses {
        let peers = uses.peers();
        // SAFETY: the program passes an element for each process.
        unsafe {
            uses.mixed(send, each(peers), false);
            uses.mixed(receive, each(peers), true);
        }
    }

    /// `MPI_Reduce`, `MPI_Ireduce`.
    reduce(root: c_int, send: usize, receive: usize, count: i64, datatype: A::Handle) uses {
        let part = uses.part(root);
        if matches!(part, Part::Root | Part::Leaf) {
            uses.plain((send, count, datatype), 1, false);
        }
        if matches!(part, Part::Root | Part::RootOfOthers) {
            uses.plain((receive, count, datatype), 1, true);
        }
    }

    /// `MPI_Allreduce`, `MPI_Scan`, `MPI_Exscan` and the nonblocking ones. On the first process of `MPI_Exscan`, the
    /// receive buffer is not significant.
    reduce_to_all(send: usize, receive: usize, count: i64, datatype: A::Handle) uses {
        uses.plain((send, count, datatype), 1, false);
        if uses.operation != f::MPI_Exscan || uses.rank() != Some(0) {
            uses.plain((receive, count, datatype), 1, true);
        }
    }

    /// `MPI_Reduce_scatter`, `MPI_Ireduce_scatter`.
    reduce_scatter(send: usize, receive: usize, counts: Counts, datatype: A::Handle) uses {
        let (members, rank) = (each(uses.members()), uses.rank());
        if !counts.is_plausible() {
            return;
        }
        // SAFETY: the program passes a count for each process of the (local) group.
        let count = |at| unsafe { counts.get(at) };
        let sum = members.clone().map(count).fold(0, i64::wrapping_add);
        uses.plain((send, sum, datatype), 1, false);
        if let Some(rank) = rank.filter(|rank| members.contains(rank)) {
            uses.plain((receive, count(rank), datatype), 1, true);
        }
    }

    /// `MPI_Reduce_scatter_block`, `MPI_Ireduce_scatter_block`.
    reduce_scatter_block(send: usize, receive: usize, count: i64, datatype: A::Handle) uses {
        uses.plain((send, count, datatype), uses.members(), false);
        uses.plain((receive, count, datatype), 1, true);
    }

    /// `MPI_Neighbor_allgather`, `MPI_Neighbor_alltoall` and the nonblocking ones.
    neighbors_alike(send: Plain<A>, receive: Plain<A>) uses {
        if uses.operation == f::MPI_Neighbor_alltoall {
            uses.sent_to_neighbors(send);
        } else if uses.has_neighbors_to_send_to() {
            uses.plain(send, 1, false);
        }
        uses.received_from_neighbors(receive);
    }

    /// `MPI_Neighbor_allgatherv`, `MPI_Ineighbor_allgatherv`.
    neighbor_allgatherv(send: Plain<A>, receive: Vector<A>) uses {
        if uses.has_neighbors_to_send_to() {
            uses.plain(send, 1, false);
        }
        let from = real::receives_from::<A>(uses.comm);
        // SAFETY: the program passes an element for each neighbor.
        unsafe { uses.vector(receive, from.iter().flat_map(Neighbors::there), true) };
    }

    /// `MPI_Neighbor_alltoallv`, `MPI_Ineighbor_alltoallv`.
    neighbor_alltoallv(send: Vector<A>, receive: Vector<A>) uses {
        let (to, from) = (real::sends_to::<A>(uses.comm), real::receives_from::<A>(uses.comm));
        // SAFETY: the program passes an element for each neighbor.
        unsafe {
            uses.vector(send, to.iter().flat_map(Neighbors::there), false);
            uses.vector(receive, from.iter().flat_map(Neighbors::there), true);
        }
    }

    /// `MPI_Neighbor_alltoallw`, `MPI_Ineighbor_alltoallw`.
    neighbor_alltoallw(send: Mixed<A>, receive: Mixed<A>) uses {
        let (to, from) = (real::sends_to::<A>(uses.comm), real::receives_from::<A>(uses.comm));
        // SAFETY: the program passes an element for each neighbor.
        unsafe {
            uses.mixed(send, to.iter().flat_map(Neighbors::there), false);
            uses.mixed(receive, from.iter().flat_map(Neighbors::there), true);
        }
    }
}
