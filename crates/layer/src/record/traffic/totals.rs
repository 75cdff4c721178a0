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
use crate::interpose::real;
use crate::record::counts::{Count, Counts, plausible};
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

/// A vector of counts, one for each member.
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

    /// The sum of all; nothing without a vector.
    fn sum(self, members: Members) -> Option<u64> {
        if !self.0.is_plausible() {
            return None;
        }
        // SAFETY: the program passes as many counts as there are members.
        Some((0..members.size).map(|at| unsafe { self.get(at) }).fold(0, u64::wrapping_add))
    }

    /// The sum of all, each of a datatype of its own.
    fn bytes<A: Abi>(self, types: *const A::Handle, members: Members) -> Option<u64> {
        if !self.0.is_plausible() || !plausible(types.cast()) {
            return None;
        }
        (0..members.size).try_fold(0u64, |sum, at| {
            // SAFETY: the program passes as many counts and datatypes as there are members.
            let (count, datatype) = unsafe { (self.get(at), *types.add(at as usize)) };
            // The datatype of nothing is not significant.
            let part = if count == 0 { 0 } else { bytes::<A>(count, datatype)? };
            sum.checked_add(part)
        })
    }

    /// That of this process.
    fn own(self, members: Members) -> Option<u64> {
        // SAFETY: the program passes as many counts as there are members.
        self.0.is_plausible().then(|| unsafe { self.get(members.rank) })
    }
}

/// So many elements, in bytes.
fn bytes<A: Abi>(count: u64, datatype: A::Handle) -> Option<u64> {
    datatypes::known_size::<A>(datatype)?.checked_mul(count)
}

fn plain(count: i64) -> u64 {
    count.max(0).cast_unsigned()
}

/// Functions for hooks, which pass counts of either width, and one for each that does the work.
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

/// Bytes that are given, and bytes that are expected.
type Totals = Option<(u64, u64)>;

/// Those of a communicator; none of an intercommunicator. How far a vector of the program is read must not follow from a record, which
/// lies where others may have written: the library is asked.
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

hooks! {
    /// `MPI_Gather`.
    gather(root: Root, sendbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        if !is_root(root, members) {
            return Some((bytes::<A>(send, sendtype)?, 0));
        }
        let each = bytes::<A>(receive, recvtype)?;
        let own = if in_place::<A>(sendbuf) { each } else { bytes::<A>(send, sendtype)? };
        Some((own, each.checked_mul(members.size)?))
    }

    /// `MPI_Gatherv`.
    gatherv(root: Root, sendbuf: Buffer, send: Plain, sendtype: Type, receive: Vector, recvtype: Type) members {
        if !is_root(root, members) {
            return Some((bytes::<A>(send, sendtype)?, 0));
        }
        let own = match in_place::<A>(sendbuf) {
            true => bytes::<A>(receive.own(members)?, recvtype)?,
            false => bytes::<A>(send, sendtype)?,
        };
        Some((own, bytes::<A>(receive.sum(members)?, recvtype)?))
    }

    /// `MPI_Scatter`.
    scatter(root: Root, recvbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        if !is_root(root, members) {
            return Some((0, bytes::<A>(receive, recvtype)?));
        }
        let each = bytes::<A>(send, sendtype)?;
        let own = if in_place::<A>(recvbuf) { each } else { bytes::<A>(receive, recvtype)? };
        Some((each.checked_mul(members.size)?, own))
    }

    /// `MPI_Scatterv`.
    scatterv(root: Root, recvbuf: Buffer, send: Vector, sendtype: Type, receive: Plain, recvtype: Type) members {
        if !is_root(root, members) {
            return Some((0, bytes::<A>(receive, recvtype)?));
        }
        let own = match in_place::<A>(recvbuf) {
            true => bytes::<A>(send.own(members)?, sendtype)?,
            false => bytes::<A>(receive, recvtype)?,
        };
        Some((bytes::<A>(send.sum(members)?, sendtype)?, own))
    }

    /// `MPI_Allgather` and `MPI_Alltoall`: every member gives as much to each.
    to_each(sendbuf: Buffer, send: Plain, sendtype: Type, receive: Plain, recvtype: Type) members {
        let expects = bytes::<A>(receive, recvtype)?;
        let gives = if in_place::<A>(sendbuf) { expects } else { bytes::<A>(send, sendtype)? };
        Some((gives.checked_mul(members.size)?, expects.checked_mul(members.size)?))
    }

    /// `MPI_Allgatherv`.
    allgatherv(sendbuf: Buffer, send: Plain, sendtype: Type, receive: Vector, recvtype: Type) members {
        let gives = match in_place::<A>(sendbuf) {
            true => bytes::<A>(receive.own(members)?, recvtype)?,
            false => bytes::<A>(send, sendtype)?,
        };
        Some((gives.checked_mul(members.size)?, bytes::<A>(receive.sum(members)?, recvtype)?))
    }

    /// `MPI_Alltoallv`.
    alltoallv(sendbuf: Buffer, send: Vector, sendtype: Type, receive: Vector, recvtype: Type) members {
        let expects = bytes::<A>(receive.sum(members)?, recvtype)?;
        let gives = match in_place::<A>(sendbuf) {
            true => expects,
            false => bytes::<A>(send.sum(members)?, sendtype)?,
        };
        Some((gives, expects))
    }

    /// `MPI_Alltoallw`.
    alltoallw(sendbuf: Buffer, send: Vector, sendtypes: Types, receive: Vector, recvtypes: Types) members {
        let expects = receive.bytes::<A>(recvtypes, members)?;
        let gives = if in_place::<A>(sendbuf) { expects } else { send.bytes::<A>(sendtypes, members)? };
        Some((gives, expects))
    }
}
