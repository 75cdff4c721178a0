//! Hooks of blocking sends and receives. They make no request: what they do is counted before and after the call.

use super::facts::{self, Envelope, Posted};
use super::lines::channel;
use super::requests::mode_of;
use super::scratch::{self, given, lend};
use super::state::{Held, hold, recorded};
use super::status;
use crate::interpose::frame::Call;
use crate::record::bytes;
use mpi_abi::{Abi, f};
use mpiscope_image::traffic::{EntryFlag, Peer, RequestKind};
use std::ffi::{c_int, c_void};

/// `MPI_Send` and its like, and the send half of `MPI_Sendrecv`.
#[inline(always)]
pub fn before_send<A: Abi>(
    call: &Call<A>,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
) {
    if dest < 0 || !recorded() {
        return;
    }
    let bytes = bytes::elements::<A>(count, datatype);
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let channel = channel::<A>(&held, comm);
    let to = Envelope::new::<false>(&channel, dest, tag, scratch.begin(&held, call));
    let synchronous = [f::MPI_Ssend, f::MPI_Ssend_c].contains(&call.function());
    let flags = EntryFlag::BLOCKING.0 | if synchronous { EntryFlag::SYNCHRONOUS.0 } else { 0 };
    scratch.entry = facts::send_posted(*held, to, bytes, call.since, flags);
    scratch.send_bytes = bytes;
    scratch.sending = true;
    scratch.channel = channel;
}

/// The same, after the call.
#[inline(always)]
pub fn after_send<A: Abi>(call: &Call<A>, result: c_int, dest: c_int, tag: c_int) {
    if dest < 0 {
        return;
    }
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    if !std::mem::take(&mut scratch.sending) {
        return;
    }
    let to = Envelope::new::<false>(&scratch.channel, dest, tag, scratch.operation);
    // A call that sends and receives may have failed in its receive.
    if result == A::SUCCESS || status::class(result) == A::ERR_TRUNCATE {
        facts::send_completed(*held, to, scratch.send_bytes, scratch.entry, call);
    } else {
        facts::send_failed(&held, to, scratch.send_bytes, scratch.entry);
    }
}

/// [`before_send`] out of line, for functions that are called seldom.
#[inline(never)]
pub fn before_send_rare<A: Abi>(
    call: &Call<A>,
    count: i64,
    datatype: A::Handle,
    dest: c_int,
    tag: c_int,
    comm: A::Handle,
) {
    before_send(call, count, datatype, dest, tag, comm);
}

/// [`after_send`] out of line.
#[inline(never)]
pub fn after_send_rare<A: Abi>(call: &Call<A>, result: c_int, dest: c_int, tag: c_int) {
    after_send(call, result, dest, tag);
}

/// `MPI_Recv`, and the receive half of `MPI_Sendrecv`.
#[inline(always)]
pub fn before_receive<A: Abi>(
    call: &Call<A>,
    source: c_int,
    tag: c_int,
    comm: A::Handle,
    status: &mut *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    scratch.order = 0;
    if source == A::PROC_NULL {
        return;
    }
    scratch.channel = channel::<A>(&held, comm);
    let operation = scratch.begin(&held, call);
    let from = Envelope::new::<false>(&scratch.channel, source, tag, operation);
    scratch.order = facts::receive_posted(*held, from, call.since);
    lend::<A>(scratch, status);
}

/// The same, after the call.
#[inline(always)]
pub fn after_receive<A: Abi>(
    call: &Call<A>,
    result: c_int,
    source: c_int,
    tag: c_int,
    status: *const c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let order = std::mem::take(&mut scratch.order);
    if order == 0 {
        return;
    }
    let named = Envelope::new::<false>(&scratch.channel, source, tag, scratch.operation);
    let peer = facts::receive_ended(*held, named);
    let posted = Posted { at: call.since, order };
    arrived(*held, call, result, (named, peer), RequestKind::RECV, posted, given::<A>(status));
}

/// A blocking receive has ended: counts the message, if there is one. `named` is what the receive named, with the record of
/// that rank if it is at hand.
#[inline(always)]
pub fn arrived<A: Abi>(
    held: Held<false>,
    call: &Call<A>,
    result: c_int,
    (named, peer): (Envelope, Option<&'static Peer>),
    kind: RequestKind,
    posted: Posted,
    status: *const c_void,
) {
    let error = if result == A::SUCCESS {
        0
    } else if status::class(result) == A::ERR_TRUNCATE {
        EntryFlag::ERROR.0
    } else {
        return;
    };
    if status.is_null() {
        return;
    }
    let got = status::read::<A>(&held, status);
    let from = Envelope { rank: got.source, tag: got.tag, ..named };
    call.add_bytes(got.bytes);
    let known = if from.rank == named.rank { peer } else { None };
    facts::receive_completed(held, from, got.bytes, known, call, move || {
        (posted, mode_of::<A>(kind, named) | EntryFlag::BLOCKING.0 | error)
    });
}
