//! Errors seen in calls: see `mpiscope_image::faults`. None of this is on the path of calls that succeed.

use super::data::Data;
use super::envelope::Envelope;
use super::state::{self, Held, State, Step};
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::{bytes, fortran_call_site};
use mpi_abi::Abi;
use mpiscope_image::derive::epochs::Open;
use mpiscope_image::faults::{Fault, FaultKind};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::Request;
use std::ffi::c_int;

/// A receive was too short for its message.
#[cold]
pub fn truncated<A: Abi>(held: &State, call: &Call<A>, from: Envelope, bytes: u64, into: &Data) {
    let room = if into.datatype == 0 { 0 } else { bytes::noted_elements::<A>(into.count, into.datatype) };
    // The line of the receive: its request may be completed elsewhere.
    held.faults.note(held.writer, call, FaultKind::TRUNCATED, into.from, |fault| {
        place(fault, from.identity, from.rank, from.tag);
        fault.bytes.set(bytes);
        fault.room.set(room);
    });
}

/// A request was freed whose operation was not complete.
#[cold]
pub fn freed_active<A: Abi>(held: &State, call: &Call<A>, request: &Request) {
    let from = fortran_call_site::here(call);
    held.faults.note(held.writer, call, FaultKind::FREED_ACTIVE, from, |fault| {
        let (peer, tag) = (request.peer.get().cast_signed(), request.tag.get().cast_signed());
        place(fault, request.comm_identity.get(), peer, tag);
    });
}

/// A call on a window was made at the wrong time, and the library let it pass. `window` is its identity.
#[cold]
pub fn untimely<A: Abi>(call: &Call<A>, window: u64, target: c_int, before: Open) {
    state::with(call, || Untimely { window, target, before });
}

struct Untimely {
    window: u64,
    target: c_int,
    before: Open,
}

impl<A: Abi> Step<A> for Untimely {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let from = fortran_call_site::here(call);
        held.faults.note(held.writer, call, FaultKind::UNTIMELY, from, |fault| {
            place(fault, self.window, self.target, -1);
            fault.set_open_epochs(self.before);
        });
    }
}

/// The two ends of a one-sided operation have different elements; `bytes` are their sizes. `window` is its
/// identity.
#[cold]
pub fn ends_differ<A: Abi>(call: &Call<A>, window: u64, target: c_int, bytes: (u64, u64)) {
    state::with(call, || EndsDiffer { window, target, bytes });
}

struct EndsDiffer {
    window: u64,
    target: c_int,
    bytes: (u64, u64),
}

impl<A: Abi> Step<A> for EndsDiffer {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let from = fortran_call_site::here(call);
        held.faults.note(held.writer, call, FaultKind::ENDS_DIFFER, from, |fault| {
            place(fault, self.window, self.target, -1);
            fault.bytes.set(self.bytes.0);
            fault.room.set(self.bytes.1);
        });
    }
}

/// A call of the program returned an error code.
#[cold]
pub fn failed<A: Abi>(call: &Call<A>, code: c_int) {
    state::with(call, || Failed { code });
}

struct Failed {
    code: c_int,
}

impl<A: Abi> Step<A> for Failed {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let class = real::class_of::<A>(self.code);
        let from = fortran_call_site::here(call);
        held.faults.note(held.writer, call, FaultKind::FAILED, from, |fault| {
            fault.bytes.set(u64::from(class.cast_unsigned()));
        });
    }
}

/// A call was given the handle of an object of this kind that had been freed.
#[cold]
pub fn freed_handle<A: Abi>(call: &Call<A>, kind: SectionKind) {
    state::with(call, || FreedHandle { kind });
}

struct FreedHandle {
    kind: SectionKind,
}

impl<A: Abi> Step<A> for FreedHandle {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let from = fortran_call_site::here(call);
        held.faults.note(held.writer, call, FaultKind::FREED_HANDLE, from, |fault| {
            fault.bytes.set(u64::from(self.kind.0));
        });
    }
}

fn place(fault: &Fault, comm: u64, peer: i32, tag: i32) {
    fault.comm.set(comm);
    fault.peer.set(peer.cast_unsigned());
    fault.tag.set(tag.cast_unsigned());
}
