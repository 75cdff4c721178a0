//! What a member of a collective contributes to all members and expects from all of them, itself included:
//! bytes, and kinds of elements.
//!
//! Whatever arguments the members pass, the total contribution must equal the total expectation. A gather
//! whose root has a wrong count, a vector with one wrong element, or a different datatype is detected by the
//! sums alone, so that no vector has to be kept. With `MPI_IN_PLACE` the significant count replaces the
//! other one. For an intercommunicator, or an unknown datatype, nothing is recorded.
#![allow(unsafe_code)]

use super::history::{self, Share};
use super::state::{self, Held, Step};
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::counts::{Count, Counts, plausible};
use crate::record::objects::datatypes;
use crate::record::objects::tables::COMMS;
use mpi_abi::{Abi, Handle};
use mpiscope_image::derive::members::is_inter;
use mpiscope_image::mixture::Mixture;
use mpiscope_image::objects::{Datatype, SIZE_UNKNOWN};
use mpiscope_image::signature::Signature;
use std::ffi::{c_int, c_void};

/// Number of members of the communicator, and this process's rank.
#[derive(Clone, Copy)]
struct Members {
    size: u64,
    rank: u64,
}

/// A vector of counts, one per member.
#[derive(Clone, Copy)]
struct Vector(Counts);

impl Vector {
    /// # Safety
    ///
    /// It has this element.
    unsafe fn get(self, at: u64) -> u64 {
        // SAFETY: the caller's promise.
        plain(unsafe { self.0.get(at as usize) })
    }

    /// Returns the sum of all counts; `None` without a vector.
    fn sum(self, members: Members) -> Option<u64> {
        if !self.0.is_plausible() {
            return None;
        }
        // SAFETY: the program passes as many counts as there are members.
        Some((0..members.size).map(|at| unsafe { self.get(at) }).fold(0, u64::wrapping_add))
    }

    /// Returns the share of all counts together, whose elements are marked if no count is zero.
    #[inline(always)]
    fn to_all<A: Abi>(self, datatype: A::Handle, members: Members, known: &mut Known) -> Option<Share> {
        if !self.0.is_plausible() {
            return None;
        }
        // SAFETY: the program passes as many counts as there are members.
        let counts = (0..members.size).map(|at| unsafe { self.get(at) });
        let (sum, least) =
            counts.fold((0_u64, u64::MAX), |(sum, least), count| (sum.wrapping_add(count), least.min(count)));
        Some(marked(known.share::<A>(sum, datatype)?, least > 0))
    }

    /// Returns the sum of all shares, each with its own datatype, whose elements are marked if no count is zero.
    fn share<A: Abi>(self, types: *const A::Handle, members: Members, known: &mut Known) -> Option<Share> {
        if !self.0.is_plausible() || !plausible(types.cast()) {
            return None;
        }
        let mut to_all = true;
        let sum = (0..members.size).try_fold(NOTHING, |sum, at| {
            // SAFETY: the program passes as many counts and datatypes as there are members.
            let (count, datatype) = unsafe { (self.get(at), *types.add(at as usize)) };
            // The datatype of zero elements is not significant.
            if count == 0 {
                to_all = false;
                return Some(sum);
            }
            together(sum, times(known.one::<A>(datatype)?, count)?)
        })?;
        Some(marked(sum, to_all))
    }

    /// Returns this process's count.
    fn own(self, members: Members) -> Option<u64> {
        // SAFETY: the program passes as many counts as there are members.
        self.0.is_plausible().then(|| unsafe { self.get(members.rank) })
    }
}

const NOTHING: Share = Share { bytes: 0, elements: Some(Mixture::EMPTY) };

/// Returns the share of one element of a datatype.
fn one<A: Abi>(datatype: A::Handle) -> Option<Share> {
    let record = datatypes::signed::<A>(datatype.raw());
    let bytes = match record.map(|record| record.size.get()) {
        Some(size) if size != SIZE_UNKNOWN => size,
        _ => datatypes::known_size::<A>(datatype)?,
    };
    let signature = record.and_then(Datatype::signature);
    Some(Share { bytes, elements: signature.map(Signature::mixture) })
}

/// The datatype that was looked up last: most calls use the same one repeatedly.
#[derive(Default)]
struct Known(Option<(u64, Share)>);

impl Known {
    #[inline(always)]
    fn one<A: Abi>(&mut self, datatype: A::Handle) -> Option<Share> {
        let raw = datatype.raw();
        if let Some((_, share)) = self.0.filter(|(known, _)| *known == raw) {
            return Some(share);
        }
        let share = one::<A>(datatype)?;
        self.0 = Some((raw, share));
        Some(share)
    }

    /// Returns the share of `count` elements of a datatype.
    #[inline(always)]
    fn share<A: Abi>(&mut self, count: u64, datatype: A::Handle) -> Option<Share> {
        times(self.one::<A>(datatype)?, count)
    }
}

fn times(share: Share, count: u64) -> Option<Share> {
    let elements = share.elements.map(|elements| elements.times(count));
    Some(Share { bytes: share.bytes.checked_mul(count)?, elements })
}

fn marked(share: Share, to_all: bool) -> Share {
    Share { elements: share.elements.map(|elements| elements.marked(to_all)), ..share }
}

fn together(these: Share, those: Share) -> Option<Share> {
    let elements = these.elements.zip(those.elements).map(|(these, those)| these.and(those));
    Some(Share { bytes: these.bytes.checked_add(those.bytes)?, elements })
}

fn plain(count: i64) -> u64 {
    count.max(0).cast_unsigned()
}

/// Defines functions for hooks, which pass counts of either width, each with one inner function that does the
/// work.
macro_rules! hooks {
    ($($(#[$doc:meta])* $name:ident ($($p:ident : $kind:ident),*) $members:ident $body:block)*) => {
        $(
            $(#[$doc])*
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            pub fn $name<A: Abi>(call: &Call<A>, comm: A::Handle, $($p: taken!($kind)),*) {
                #[inline(never)]
                #[allow(clippy::too_many_arguments)]
                fn work<A: Abi>(call: &Call<A>, comm: A::Handle, $($p: passed!($kind)),*) {
                    const VECTORS: bool = false $(|| is_vector!($kind))*;
                    note(call, members::<A, VECTORS>(comm), &|$members| {
                        $(let $p = used!($kind $p);)*
                        $body
                    });
                }
                work(call, comm, $(pass!($kind $p)),*);
            }
        )*
    };
}

macro_rules! taken {
    (Root) => { c_int };
    (Buffer) => { *const c_void };
    (Type) => { A::Handle };
    (Types) => { *const A::Handle };
    (Plain) => { impl Count };
    (Vector) => { impl Into<Counts> };
}

macro_rules! passed {
    (Plain) => { i64 };
    (Vector) => { *const c_void };
    ($other:ident) => { taken!($other) };
}

macro_rules! is_vector {
    (Vector) => {
        true
    };
    ($other:ident) => {
        false
    };
}

macro_rules! pass {
    (Plain $p:ident) => {
        $p.count()
    };
    (Vector $p:ident) => {
        $p.into().packed()
    };
    ($other:ident $p:ident) => {
        $p
    };
}

macro_rules! used {
    (Plain $p:ident) => {
        plain($p)
    };
    (Vector $p:ident) => {
        Vector(Counts::unpacked($p))
    };
    ($other:ident $p:ident) => {
        $p
    };
}

/// The contribution and the expectation.
type Totals = Option<(Share, Share)>;

/// Returns the members of a communicator; `None` for an intercommunicator. If vectors of the program are
/// read, their length must not come from a record that other processes may have overwritten: the library is
/// asked.
fn members<A: Abi, const VECTORS: bool>(comm: A::Handle) -> Option<Members> {
    let record = COMMS.find(comm.raw())?;
    if !VECTORS {
        let members = Members { size: record.size.get().into(), rank: record.rank.get().into() };
        return (!is_inter(record)).then_some(members);
    }
    if real::is_inter::<A>(comm) {
        return None;
    }
    let (mut size, mut rank) = (0, 0);
    real::comm_size::<A>(comm, &mut size);
    real::comm_rank::<A>(comm, &mut rank);
    Some(Members { size: u64::try_from(size).ok()?, rank: u64::try_from(rank).ok()? })
}

#[inline(never)]
fn note<A: Abi>(call: &Call<A>, members: Option<Members>, totals: &dyn Fn(Members) -> Totals) {
    let Some(members) = members else { return };
    if let Some((gives, expects)) = totals(members).filter(|_| members.rank < members.size) {
        state::with(call, || Note { gives, expects });
    }
}

struct Note {
    gives: Share,
    expects: Share,
}

impl<A: Abi> Step<A> for Note {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        history::totals(&held, call, self.gives, self.expects);
    }
}

fn is_root(root: c_int, members: Members) -> bool {
    u64::try_from(root) == Ok(members.rank)
}

fn in_place<A: Abi>(buffer: *const c_void) -> bool {
    buffer.addr() == A::IN_PLACE
}

hooks! {
    /// `MPI_Gather`.
    gather(root: Root, sendbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        let mut known = Known::default();
        if !is_root(root, members) {
            return Some((known.share::<A>(send, sendtype)?, NOTHING));
        }
        let each = known.share::<A>(receive, recvtype)?;
        let own = if in_place::<A>(sendbuf) { each } else { known.share::<A>(send, sendtype)? };
        Some((own, times(each, members.size)?))
    }

    /// `MPI_Gatherv`.
    gatherv(root: Root, sendbuf: Buffer, send: Plain, sendtype: Type, receive: Vector, recvtype: Type) members {
        let mut known = Known::default();
        if !is_root(root, members) {
            return Some((known.share::<A>(send, sendtype)?, NOTHING));
        }
        let own = match in_place::<A>(sendbuf) {
            true => known.share::<A>(receive.own(members)?, recvtype)?,
            false => known.share::<A>(send, sendtype)?,
        };
        Some((own, known.share::<A>(receive.sum(members)?, recvtype)?))
    }

    /// `MPI_Scatter`.
    scatter(root: Root, recvbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        let mut known = Known::default();
        if !is_root(root, members) {
            return Some((NOTHING, known.share::<A>(receive, recvtype)?));
        }
        let each = known.share::<A>(send, sendtype)?;
        let own = if in_place::<A>(recvbuf) { each } else { known.share::<A>(receive, recvtype)? };
        Some((times(each, members.size)?, own))
    }

    /// `MPI_Scatterv`.
    scatterv(root: Root, recvbuf: Buffer, send: Vector, sendtype: Type, receive: Plain, recvtype: Type) members {
        let mut known = Known::default();
        if !is_root(root, members) {
            return Some((NOTHING, known.share::<A>(receive, recvtype)?));
        }
        let own = match in_place::<A>(recvbuf) {
            true => known.share::<A>(send.own(members)?, sendtype)?,
            false => known.share::<A>(receive, recvtype)?,
        };
        Some((known.share::<A>(send.sum(members)?, sendtype)?, own))
    }

    /// `MPI_Allgather` and `MPI_Alltoall`: every member contributes the same amount to each.
    to_each(sendbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        let mut known = Known::default();
        let expects = known.share::<A>(receive.checked_mul(members.size)?, recvtype)?;
        let same = sendtype.raw() == recvtype.raw() && send == receive;
        if same || in_place::<A>(sendbuf) {
            return Some((expects, expects));
        }
        Some((known.share::<A>(send.checked_mul(members.size)?, sendtype)?, expects))
    }

    /// `MPI_Allgatherv`.
    allgatherv(sendbuf: Buffer, send: Plain, sendtype: Type, receive: Vector, recvtype: Type) members {
        let mut known = Known::default();
        let gives = match in_place::<A>(sendbuf) {
            true => known.share::<A>(receive.own(members)?, recvtype)?,
            false => known.share::<A>(send, sendtype)?,
        };
        Some((times(gives, members.size)?, known.share::<A>(receive.sum(members)?, recvtype)?))
    }

    /// `MPI_Alltoallv`.
    alltoallv(sendbuf: Buffer, send: Vector, sendtype: Type, receive: Vector, recvtype: Type) members {
        let mut known = Known::default();
        let expects = receive.to_all::<A>(recvtype, members, &mut known)?;
        let gives = match in_place::<A>(sendbuf) {
            true => expects,
            false => send.to_all::<A>(sendtype, members, &mut known)?,
        };
        Some((gives, expects))
    }

    /// `MPI_Alltoallw`.
    alltoallw(sendbuf: Buffer, send: Vector, sendtypes: Types, receive: Vector, recvtypes: Types) members {
        let mut known = Known::default();
        let expects = receive.share::<A>(recvtypes, members, &mut known)?;
        let gives = if in_place::<A>(sendbuf) { expects } else { send.share::<A>(sendtypes, members, &mut known)? };
        Some((gives, expects))
    }

    /// `MPI_Reduce_scatter`: every member contributes to each what that member expects from all.
    reduce_scatter(receive: Vector, datatype: Type) members {
        let each = one::<A>(datatype)?;
        let expects = times(each, receive.own(members)?)?;
        Some((times(each, receive.sum(members)?)?, times(expects, members.size)?))
    }
}
