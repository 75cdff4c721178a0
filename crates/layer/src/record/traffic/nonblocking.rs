//! Hooks of the functions that make requests.

use super::collectives;
use super::contents;
use super::data::Data;
use super::envelope::{Envelope, Operation};
use super::facts;
use super::freed;
use super::lines::channel;
use super::requests::{self, New};
use super::scratch::{self, Item};
use super::state::{self, Held, Step, hold};
use crate::interpose::frame::Call;
use crate::record::bytes;
use crate::record::fortran_call_site;
use crate::record::local;
use crate::record::sites;
use mpi_abi::{Abi, FunctionId, Handle, f};
use mpiscope_image::objects::Flag;
use mpiscope_image::one_sided::OneSidedFlag;
use mpiscope_image::traffic::{EntryFlag, Request, RequestKind};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Short names of the kinds, for the overlay.
pub mod kind {
    pub use mpiscope_image::traffic::RequestKind;
    pub const SEND: RequestKind = RequestKind::SEND;
    pub const BSEND: RequestKind = RequestKind::BSEND;
    pub const SSEND: RequestKind = RequestKind::SSEND;
    pub const RSEND: RequestKind = RequestKind::RSEND;
    pub const FILE_READ: RequestKind = RequestKind::FILE_READ;
    pub const FILE_WRITE: RequestKind = RequestKind::FILE_WRITE;
    pub const FLUSH: RequestKind = RequestKind::FLUSH;
    pub const GENERALIZED: RequestKind = RequestKind::GENERALIZED;
}

/// Ledger flags of a send.
#[inline(always)]
fn send_flags(kind: RequestKind) -> u32 {
    match kind {
        RequestKind::SSEND => EntryFlag::SYNCHRONOUS.0,
        RequestKind::BSEND => EntryFlag::BUFFERED.0,
        RequestKind::RSEND => EntryFlag::READY.0,
        RequestKind::PSEND => EntryFlag::PARTITIONED.0,
        _ => 0,
    }
}

/// `MPI_Isend` and similar functions; if `persistent`, `MPI_Send_init` and similar functions.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn send<A: Abi>(
    call: &Call<A>,
    result: c_int,
    kind: RequestKind,
    persistent: bool,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
    request: *const A::Handle,
) {
    if result != A::SUCCESS {
        return;
    }
    // Before taking the lock: it may query the library.
    let bytes = if persistent { call.take_bytes() } else { call.bytes() };
    freed::sign::<A>(call, datatype.raw());
    let (buffer, peer) = (buffer as u64, dest);
    state::with(call, || Send {
        new: New { peer, tag, count, datatype: datatype.raw(), buffer, bytes, persistent, ..New::of(kind) },
        comm,
        handle: scratch::pointed(request),
    });
}

/// [`send`] out of line, for functions that are rarely called.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub fn send_rare<A: Abi>(
    call: &Call<A>,
    result: c_int,
    kind: RequestKind,
    persistent: bool,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
    request: *const A::Handle,
) {
    send(call, result, kind, persistent, buffer, count, datatype, dest, tag, comm, request);
}

/// A send with a request.
struct Send<A: Abi> {
    new: New,
    comm: A::Handle,
    handle: u64,
}

impl<A: Abi> Step<A> for Send<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let channel = channel::<A>(&held, self.comm);
        let new = New { operation: held.next_operation(), ..self.new };
        let mut entry = 0;
        if new.peer >= 0 && !new.persistent {
            let to = Envelope::new::<QUIET>(&channel, new.peer, new.tag, new.operation);
            let (count, datatype) = (new.count.cast_unsigned(), new.datatype);
            let buffer = new.buffer;
            let data = Data { from: fortran_call_site::here(call), count, datatype, buffer };
            entry = facts::send_posted(held, to, new.bytes, call.since, (send_flags(new.kind), data));
        }
        let new = New { object: self.comm.raw(), channel, entry, ..new };
        requests::create(held, call, self.handle, &new);
    }
}

/// `MPI_Irecv`; if `persistent`, `MPI_Recv_init`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn receive<A: Abi>(
    call: &Call<A>,
    result: c_int,
    persistent: bool,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    source: c_int,
    tag: c_int,
    comm: A::Handle,
    request: *const A::Handle,
) {
    if result != A::SUCCESS {
        return;
    }
    freed::sign::<A>(call, datatype.raw());
    let (buffer, peer) = (buffer as u64, source);
    let kind = RequestKind::RECV;
    state::with(call, || Receive {
        new: New { peer, tag, count, datatype: datatype.raw(), buffer, persistent, ..New::of(kind) },
        comm,
        handle: scratch::pointed(request),
    });
}

/// [`receive`] out of line, for functions that are rarely called.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub fn receive_rare<A: Abi>(
    call: &Call<A>,
    result: c_int,
    persistent: bool,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    source: c_int,
    tag: c_int,
    comm: A::Handle,
    request: *const A::Handle,
) {
    receive(call, result, persistent, buffer, count, datatype, source, tag, comm, request);
}

/// A receive with a request.
struct Receive<A: Abi> {
    new: New,
    comm: A::Handle,
    handle: u64,
}

impl<A: Abi> Step<A> for Receive<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let channel = channel::<A>(&held, self.comm);
        let new = New { operation: held.next_operation(), ..self.new };
        let mut order = 0;
        if new.peer != A::PROC_NULL && !new.persistent {
            let from = Envelope::new::<QUIET>(&channel, new.peer, new.tag, new.operation);
            order = facts::receive_posted(held, from, call.since);
        }
        let new = New { object: self.comm.raw(), channel, order, ..new };
        requests::create(held, call, self.handle, &new);
    }
}

/// `MPI_Isendrecv`, `MPI_Isendrecv_replace`.
#[allow(clippy::too_many_arguments)]
pub fn send_receive<A: Abi>(
    call: &Call<A>,
    result: c_int,
    send: (i64, A::Handle, c_int, c_int),
    receive: (usize, i64, A::Handle, c_int, c_int),
    comm: A::Handle,
    request: *const A::Handle,
) {
    if result != A::SUCCESS {
        return;
    }
    let (send_count, send_type, dest, send_tag) = send;
    let (buffer, count, datatype, source, tag) = receive;
    let bytes = bytes::elements::<A>(send_count, send_type);
    freed::sign::<A>(call, send_type.raw());
    freed::sign::<A>(call, datatype.raw());
    let Some(held) = hold() else { return };
    let channel = channel::<A>(&held, comm);
    let (mut entry, mut order, operation) = (0, 0, held.next_operation());
    if dest >= 0 {
        let to = Envelope::new::<false>(&channel, dest, send_tag, operation);
        let (count, datatype) = (send_count.cast_unsigned(), send_type.raw());
        let data = Data { from: fortran_call_site::here(call), count, datatype, buffer: 0 };
        entry = facts::send_posted(*held, to, bytes, call.since, (0, data));
    }
    if source != A::PROC_NULL {
        order = facts::receive_posted(
            *held,
            Envelope::new::<false>(&channel, source, tag, operation),
            call.since,
        );
    }
    let new = New {
        operation,
        object: comm.raw(),
        channel,
        peer: source,
        tag,
        count,
        datatype: datatype.raw(),
        buffer: buffer as u64,
        bytes,
        order,
        entry,
        send: (dest, send_tag),
        ..New::of(RequestKind::SENDRECV)
    };
    requests::create(*held, call, scratch::pointed(request), &new);
}

/// `MPI_Psend_init`, `MPI_Precv_init`.
#[allow(clippy::too_many_arguments)]
pub fn partitioned<A: Abi>(
    call: &Call<A>,
    result: c_int,
    kind: RequestKind,
    buffer: usize,
    partitions: c_int,
    count: i64,
    datatype: A::Handle,
    peer: c_int,
    tag: c_int,
    comm: A::Handle,
    request: *const A::Handle,
) {
    if result != A::SUCCESS {
        return;
    }
    let bytes = bytes::elements::<A>(count, datatype).wrapping_mul(u64::try_from(partitions).unwrap_or(0));
    freed::sign::<A>(call, datatype.raw());
    let Some(held) = hold() else { return };
    let new = New {
        operation: held.next_operation(),
        object: comm.raw(),
        channel: channel::<A>(&held, comm),
        peer,
        tag,
        count,
        datatype: datatype.raw(),
        buffer: buffer as u64,
        bytes,
        partitions,
        persistent: true,
        ..New::of(kind)
    };
    requests::create(*held, call, scratch::pointed(request), &new);
}

/// `MPI_File_iread` and similar functions.
#[allow(clippy::too_many_arguments)]
pub fn file<A: Abi>(
    call: &Call<A>,
    result: c_int,
    kind: RequestKind,
    file: usize,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    request: *const A::Handle,
) {
    let bytes = bytes::elements::<A>(count, datatype);
    let object = file as u64;
    let order = call.sequence();
    let new =
        New { object, count, order, datatype: datatype.raw(), buffer: buffer as u64, bytes, ..New::of(kind) };
    other(call, result, &new, request);
}

/// `MPI_Rput` and similar functions.
#[allow(clippy::too_many_arguments)]
pub fn one_sided<A: Abi>(
    call: &Call<A>,
    result: c_int,
    window: A::Handle,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    target: c_int,
    request: *const A::Handle,
) {
    let new = New {
        object: window.raw(),
        peer: target,
        count,
        datatype: datatype.raw(),
        buffer: buffer as u64,
        bytes: bytes::elements::<A>(count, datatype),
        entry: call.operation(),
        ..New::of(RequestKind::RMA)
    };
    other(call, result, &new, request);
    if contents::recorded() && result == A::SUCCESS {
        compare_once_complete(&call.aside(), buffer, target, scratch::pointed(request));
    }
}

/// Connects the record of a one-sided operation with its request, whose completion allows the program to use the
/// buffer again. If that will not be seen, the buffer is not compared.
#[cold]
#[inline(never)]
fn compare_once_complete<A: Abi>(call: &Call<A>, buffer: usize, target: c_int, handle: u64) {
    let Some(held) = hold() else { return };
    let number = held.one_sided.newest(|record| {
        let same = record.since.get() == call.since && record.buffer.get() == buffer as u64;
        same && record.target.get() == target.cast_unsigned() && record.is(OneSidedFlag::REQUEST)
    });
    let request = held.requests.find(handle).filter(|request| {
        let is_known = handle != held.null_request && call.since != 0;
        is_known && request.head.made_at.get() == call.since
    });
    match request {
        Some(shared) if shared.is(Flag::SHARED_HANDLE) => {
            held.one_sided.complete_at_start(number);
            if shared.buffers() == 0 {
                shared.head.seq.write(|| shared.set_buffers(number));
            }
        }
        Some(request) => request.head.seq.write(|| request.set_buffers(number)),
        None => held.one_sided.forget(number, call.since),
    }
}

/// A request of which only the kind is recorded.
pub fn plain<A: Abi>(call: &Call<A>, result: c_int, kind: RequestKind, request: *const A::Handle) {
    other(call, result, &New::of(kind), request);
}

fn other<A: Abi>(call: &Call<A>, result: c_int, new: &New, request: *const A::Handle) {
    if result == A::SUCCESS
        && let Some(held) = hold()
    {
        let new = New { operation: held.next_operation(), ..*new };
        requests::create(*held, call, scratch::pointed(request), &new);
    }
}

/// `MPI_Start`.
pub fn start<A: Abi>(call: &Call<A>, result: c_int, request: *const A::Handle) {
    start_all(call, result, 1, request);
}

/// `MPI_Startall`.
pub fn start_all<A: Abi>(call: &Call<A>, result: c_int, count: c_int, array: *const A::Handle) {
    if result != A::SUCCESS {
        return;
    }
    let Some(held) = hold() else { return };
    local::moves_nothing_for_others(call.tls());
    for index in 0..usize::try_from(count).unwrap_or(0) {
        if let Some(request) = held.requests.find(scratch::element(array, index)) {
            begin(*held, call, request);
        }
    }
}

/// A persistent request was started.
fn begin<A: Abi>(held: Held<false>, call: &Call<A>, request: &'static Request) {
    let kind = RequestKind(request.kind.get());
    request.set_operation(held.next_operation());
    facts::request_told(held, || Operation::begun(request), call.since);
    let envelope = Envelope::of::<false>(request);
    // A collective's entry is its reduction operation, the same at each start.
    let kept = if kind == RequestKind::COLLECTIVE { request.entry.get() } else { 0 };
    let (mut entry, mut order) = (kept, request.order.get());
    if kind.sends() && envelope.rank >= 0 {
        let data = Data { from: fortran_call_site::here(call), ..Data::of(request) };
        entry = facts::send_posted(held, envelope, request.bytes.get(), call.since, (send_flags(kind), data));
    }
    if kind.receives() && envelope.rank != A::PROC_NULL {
        order = facts::receive_posted(held, envelope, call.since);
    }
    request.head.seq.write(|| {
        let over = Flag::COMPLETE.0 | Flag::CANCELLED.0 | Flag::STARTED_BY_ALL.0;
        let by = if call.function() == f::MPI_Startall { Flag::STARTED_BY_ALL.0 } else { 0 };
        let kept = request.head.flags.get() & !over;
        request.head.flags.set(kept | Flag::STARTED.0 | Flag::ACTIVE.0 | by);
        request.starts.add_mine(1);
        request.started_at.set(call.since);
        request.started_from.set(fortran_call_site::here(call));
        request.completed_at.set(0);
        request.entry.set(entry);
        request.order.set(order);
        request.error.set(0);
        if kind == RequestKind::PSEND {
            request.order.set(0);
            request.source.set(1);
        }
    });
    facts::request_started(held, request);
    if kind.sends() && envelope.rank != A::PROC_NULL {
        call.add_bytes(request.bytes.get());
    }
    if kind == RequestKind::COLLECTIVE {
        // Their direction follows from the operation.
        let made_by = FunctionId(request.head.made_by.get().wrapping_sub(1));
        let place = (request.head.made_from.get(), request.object.get());
        call.add_bytes_of(made_by, request.bytes.get());
        local::moved_for_others(call.tls(), request.bytes.get());
        sites::moved(call.tls(), made_by, place, request.bytes.get(), 0);
        collectives::restart(&held, call, request);
    }
}

/// Before `MPI_Request_free`: saves the handle, which is null afterward.
pub fn before_free<A: Abi>(call: &Call<A>, request: &mut *mut A::Handle) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        scratch.single = Item::Handle(scratch::pointed(*request));
    }
}

/// After `MPI_Request_free`: an active request lives on, perhaps under another handle.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, _: *mut A::Handle) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let Item::Handle(handle) = std::mem::take(&mut scratch.single) else { return };
    if result != A::SUCCESS || handle == held.null_request {
        return;
    }
    let Some(request) = held.requests.find(handle) else { return };
    if request.is(Flag::SHARED_HANDLE) {
        requests::complete(*held, call, request, std::ptr::null(), A::SUCCESS);
    } else if request.is(Flag::ACTIVE) {
        requests::mark(*held, call, request);
    } else {
        requests::release(*held, call, request);
    }
}

/// `MPI_Cancel`.
pub fn cancel<A: Abi>(_: &Call<A>, result: c_int, request: *const A::Handle) {
    if result != A::SUCCESS {
        return;
    }
    let handle = scratch::pointed(request);
    flag(handle, Flag::CANCELLED);
    let Some(held) = hold() else { return };
    let Some(request) = held.requests.find(handle).filter(|_| handle != held.null_request) else { return };
    if request.is(Flag::SHARED_HANDLE) {
        // Which of its sends it is, is unknown; so the program need not wait for any of them.
        request.entry.set(0);
    } else if request.is(Flag::CANCELLED) && RequestKind(request.kind.get()).sends() {
        facts::send_no_longer_waits(&held, request.entry.get());
    }
}

/// `MPI_Grequest_complete`.
pub fn complete<A: Abi>(_: &Call<A>, result: c_int, request: A::Handle) {
    if result == A::SUCCESS {
        flag(request.raw(), Flag::COMPLETE);
    }
}

/// Sets a flag of an active request.
fn flag(handle: u64, flag: Flag) {
    if let Some(held) = hold()
        && handle != held.null_request
        && let Some(request) = held.requests.find(handle)
        && request.is(Flag::ACTIVE)
    {
        request.head.seq.write(|| request.head.flags.set(request.head.flags.get() | flag.0));
    }
}

/// `MPI_Pready`, `MPI_Pready_range`: partitions `first` to `last`.
pub fn ready<A: Abi>(_: &Call<A>, result: c_int, request: A::Handle, first: c_int, last: c_int) {
    let Ok(span) = u64::try_from(i64::from(last) - i64::from(first) + 1) else { return };
    if result == A::SUCCESS
        && let Some(held) = hold()
        && let Some(request) = held.requests.find(request.raw())
    {
        mark(request, first, span);
        facts::partitions_ready(&held, request, first, span);
    }
}

/// Records in a send which partitions are ready. Threads may mark partitions of one send concurrently.
#[inline(always)]
fn mark(request: &Request, first: c_int, span: u64) {
    if RequestKind(request.kind.get()) != RequestKind::PSEND {
        return;
    }
    let (first, count) = (u32::try_from(first).unwrap_or(u32::MAX), u32::try_from(span).unwrap_or(u32::MAX));
    let ones: u64 = if count >= u64::BITS { u64::MAX } else { (1 << count) - 1 };
    if let Some(bits) = ones.checked_shl(first) {
        request.order.atomic().fetch_or(bits, Ordering::Relaxed);
    }
    request.source.atomic().fetch_add(count, Ordering::Relaxed);
}

/// `MPI_Pready_list`.
pub fn ready_list<A: Abi>(
    call: &Call<A>,
    result: c_int,
    request: A::Handle,
    count: c_int,
    partitions: *const c_int,
) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let partition = scratch::int_at(partitions, index);
        ready(call, result, request, partition, partition);
    }
}

/// `MPI_Parrived`.
pub fn arrived<A: Abi>(_: &Call<A>, result: c_int, request: A::Handle, partition: c_int, flag: *const c_int) {
    if result == A::SUCCESS
        && scratch::int(flag) != 0
        && let Some(held) = hold()
        && let Some(request) = held.requests.find(request.raw())
    {
        facts::partition_arrived(&held, request, partition);
    }
}
