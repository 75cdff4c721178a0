//! What a member of a collective gives to all members, and what it expects of all of them, itself included, in bytes.
//!
//! Whatever the members name, all together must give what all together expect: a gather whose root has a wrong count, or a vector
//! with one wrong element, is seen by the sums alone, so that no vector has to be kept. Where something stays in place, the
//! count that is significant stands for the other one. Of an intercommunicator, and of a datatype that is not known, nothing is written
//! down.
#![allow(unsafe_code)]

use super::history;
use super::state::{self, Held, Step};
use crate::interpose::frame::Call;
use crate::record::bytes::{Count, plausible};
use crate::record::objects::comms::COMMS;
use crate::record::objects::datatypes;
use mpi_abi::{Abi, Handle};
use mpiscope_image::derive::members::is_inter;
use std::ffi::{c_int, c_void};

/// Members of the communicator, and which one this is.
#[derive(Clone, Copy)]
struct Members {
    size: u64,
    rank: u64,
}

/// A vector of counts: `int`, or `MPI_Count`.
#[derive(Clone, Copy)]
struct Counts {
    first: *const c_void,
    wide: bool,
}

impl Counts {
    fn of<C: Count>(counts: *const C) -> Self {
        Self { first: counts.cast(), wide: size_of::<C>() == size_of::<i64>() }
    }

    /// # Safety
    ///
    /// It has this element.
    unsafe fn get(self, at: u64) -> u64 {
        let at = at as usize;
        let count = if self.wide {
            // SAFETY: the caller's promise.
            unsafe { *self.first.cast::<i64>().add(at) }
        } else {
            // SAFETY: the caller's promise.
            i64::from(unsafe { *self.first.cast::<c_int>().add(at) })
        };
        count.max(0).cast_unsigned()
    }

    /// The sum of all; nothing without a vector.
    fn sum(self, members: Members) -> Option<u64> {
        if !plausible(self.first) {
            return None;
        }
        // SAFETY: the program passes as many counts as there are members.
        Some((0..members.size).map(|at| unsafe { self.get(at) }).fold(0, u64::wrapping_add))
    }

    /// That of this process.
    fn own(self, members: Members) -> Option<u64> {
        // SAFETY: the program passes as many counts as there are members.
        plausible(self.first).then(|| unsafe { self.get(members.rank) })
    }
}

/// So many elements, in bytes.
fn bytes<A: Abi>(count: u64, datatype: A::Handle) -> Option<u64> {
    datatypes::known_size::<A>(datatype)?.checked_mul(count)
}

fn plain(count: impl Count) -> u64 {
    count.count().max(0).cast_unsigned()
}

/// Bytes that are given, and bytes that are expected.
type Totals = Option<(u64, u64)>;

#[inline(never)]
fn note<A: Abi>(call: &Call<A>, comm: A::Handle, totals: &dyn Fn(Members) -> Totals) {
    let Some(record) = COMMS.find(comm.raw()).filter(|record| !is_inter(record)) else { return };
    let members = Members { size: record.size.get().into(), rank: record.rank.get().into() };
    if let Some((gives, expects)) = totals(members).filter(|_| members.rank < members.size) {
        state::with(call, || Note { gives, expects });
    }
}

struct Note {
    gives: u64,
    expects: u64,
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

/// `MPI_Gather`.
pub fn gather<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    root: c_int,
    sendbuf: *const c_void,
    (sendcount, sendtype): (impl Count, A::Handle),
    (recvcount, recvtype): (impl Count, A::Handle),
) {
    let [send, receive] = [plain(sendcount), plain(recvcount)];
    note(call, comm, &|members| {
        if !is_root(root, members) {
            return Some((bytes::<A>(send, sendtype)?, 0));
        }
        let each = bytes::<A>(receive, recvtype)?;
        let own = if in_place::<A>(sendbuf) { each } else { bytes::<A>(send, sendtype)? };
        Some((own, each.checked_mul(members.size)?))
    });
}

/// `MPI_Gatherv`.
pub fn gatherv<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    root: c_int,
    sendbuf: *const c_void,
    (sendcount, sendtype): (impl Count, A::Handle),
    (recvcounts, recvtype): (*const impl Count, A::Handle),
) {
    let (send, receive) = (plain(sendcount), Counts::of(recvcounts));
    note(call, comm, &|members| {
        if !is_root(root, members) {
            return Some((bytes::<A>(send, sendtype)?, 0));
        }
        let own = if in_place::<A>(sendbuf) {
            bytes::<A>(receive.own(members)?, recvtype)?
        } else {
            bytes::<A>(send, sendtype)?
        };
        Some((own, bytes::<A>(receive.sum(members)?, recvtype)?))
    });
}

/// `MPI_Scatter`.
pub fn scatter<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    root: c_int,
    recvbuf: *const c_void,
    send: (impl Count, A::Handle),
    receive: (impl Count, A::Handle),
) {
    gather_turned::<A>(call, comm, root, recvbuf, (plain(receive.0), receive.1), (plain(send.0), send.1));
}

/// What is given to the root of a gather is what the root of a scatter gives.
fn gather_turned<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    root: c_int,
    own_buffer: *const c_void,
    (own, own_type): (u64, A::Handle),
    (each, each_type): (u64, A::Handle),
) {
    note(call, comm, &|members| {
        if !is_root(root, members) {
            return Some((0, bytes::<A>(own, own_type)?));
        }
        let each = bytes::<A>(each, each_type)?;
        let own = if in_place::<A>(own_buffer) { each } else { bytes::<A>(own, own_type)? };
        Some((each.checked_mul(members.size)?, own))
    });
}

/// `MPI_Scatterv`.
pub fn scatterv<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    root: c_int,
    recvbuf: *const c_void,
    (sendcounts, sendtype): (*const impl Count, A::Handle),
    (recvcount, recvtype): (impl Count, A::Handle),
) {
    let (send, receive) = (Counts::of(sendcounts), plain(recvcount));
    note(call, comm, &|members| {
        if !is_root(root, members) {
            return Some((0, bytes::<A>(receive, recvtype)?));
        }
        let own = if in_place::<A>(recvbuf) {
            bytes::<A>(send.own(members)?, sendtype)?
        } else {
            bytes::<A>(receive, recvtype)?
        };
        Some((bytes::<A>(send.sum(members)?, sendtype)?, own))
    });
}

/// `MPI_Allgather` and `MPI_Alltoall`: every member gives as much to each.
pub fn to_each<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    sendbuf: *const c_void,
    (sendcount, sendtype): (impl Count, A::Handle),
    (recvcount, recvtype): (impl Count, A::Handle),
) {
    let [send, receive] = [plain(sendcount), plain(recvcount)];
    note(call, comm, &|members| {
        let expects = bytes::<A>(receive, recvtype)?;
        let gives = if in_place::<A>(sendbuf) { expects } else { bytes::<A>(send, sendtype)? };
        Some((gives.checked_mul(members.size)?, expects.checked_mul(members.size)?))
    });
}

/// `MPI_Allgatherv`.
pub fn allgatherv<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    sendbuf: *const c_void,
    (sendcount, sendtype): (impl Count, A::Handle),
    (recvcounts, recvtype): (*const impl Count, A::Handle),
) {
    let (send, receive) = (plain(sendcount), Counts::of(recvcounts));
    note(call, comm, &|members| {
        let gives = if in_place::<A>(sendbuf) {
            bytes::<A>(receive.own(members)?, recvtype)?
        } else {
            bytes::<A>(send, sendtype)?
        };
        Some((gives.checked_mul(members.size)?, bytes::<A>(receive.sum(members)?, recvtype)?))
    });
}

/// `MPI_Alltoallv`.
pub fn alltoallv<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    sendbuf: *const c_void,
    (sendcounts, sendtype): (*const impl Count, A::Handle),
    (recvcounts, recvtype): (*const impl Count, A::Handle),
) {
    let (send, receive) = (Counts::of(sendcounts), Counts::of(recvcounts));
    note(call, comm, &|members| {
        let expects = bytes::<A>(receive.sum(members)?, recvtype)?;
        let in_place = in_place::<A>(sendbuf);
        let gives = if in_place { expects } else { bytes::<A>(send.sum(members)?, sendtype)? };
        Some((gives, expects))
    });
}

/// `MPI_Alltoallw`.
pub fn alltoallw<A: Abi>(
    call: &Call<A>,
    comm: A::Handle,
    sendbuf: *const c_void,
    (sendcounts, sendtypes): (*const impl Count, *const A::Handle),
    (recvcounts, recvtypes): (*const impl Count, *const A::Handle),
) {
    let (send, receive) = (Counts::of(sendcounts), Counts::of(recvcounts));
    note(call, comm, &|members| {
        let all = |counts: Counts, types: *const A::Handle| {
            if !plausible(counts.first) || !plausible(types.cast()) {
                return None;
            }
            (0..members.size).try_fold(0u64, |sum, at| {
                // SAFETY: the program passes as many counts and datatypes as there are members.
                let (count, datatype) = unsafe { (counts.get(at), *types.add(at as usize)) };
                // The datatype of nothing is not significant.
                let part = if count == 0 { 0 } else { bytes::<A>(count, datatype)? };
                sum.checked_add(part)
            })
        };
        let expects = all(receive, recvtypes)?;
        Some((if in_place::<A>(sendbuf) { expects } else { all(send, sendtypes)? }, expects))
    });
}
