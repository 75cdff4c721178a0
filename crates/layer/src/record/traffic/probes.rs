//! Hooks of probes and of receives of messages that a probe has matched.

use super::blocking::{arrived, named_by};
use super::envelope::{Envelope, Posted};
use super::facts;
use super::ledger;
use super::lines::channel;
use super::probed::{Found, Probe};
use super::requests::{self, New};
use super::scratch::{self, given, lend};
use super::state::{Held, State, hold};
use super::status;
use crate::interpose::frame::Call;
use crate::record::objects;
use mpi_abi::{Abi, Handle, f};
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::objects::{Life, serial_of, uid};
use mpiscope_image::traffic::{Message, RequestKind};
use std::ffi::{c_int, c_void};

/// `MPI_Probe`, `MPI_Iprobe`: a message was there if `flag` is nonzero. An unsuccessful poll costs no more
/// than this check.
#[inline(always)]
pub fn probed<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (source, tag): (c_int, c_int),
    comm: A::Handle,
    flag: c_int,
    status: *const c_void,
) {
    if result == A::SUCCESS && flag != 0 && source != A::PROC_NULL {
        hit::<A>(&call.aside(), (source, tag), comm, status);
    }
}

#[inline(never)]
fn hit<A: Abi>(call: &Call<A>, named: (c_int, c_int), comm: A::Handle, status: *const c_void) {
    let Some(held) = hold() else { return };
    facts::probe_hit(&held);
    if held.orphans.any() || ledger::recorded() {
        found::<A>(*held, call, named, comm, status);
    }
}

/// Provides a status if the program passed none and the message's identity is needed.
pub fn need_status_of_message<A: Abi>(call: &Call<A>, status: &mut *mut c_void) {
    if ledger::recorded() {
        need_status(call, status);
    }
}

/// A probe has found a message that no receive was posted for, and its identity is needed.
#[cold]
fn found<A: Abi>(
    held: Held<false>,
    call: &Call<A>,
    (source, tag): (c_int, c_int),
    comm: A::Handle,
    status: *const c_void,
) {
    let status = given::<A>(status);
    let (source, tag) = if status.is_null() {
        (source, tag)
    } else {
        let got = status::read::<A>(&held.sizes, status);
        (got.source, got.tag)
    };
    let message = Envelope::new::<false>(&channel::<A>(&held, comm), source, tag, 0);
    if held.orphans.any() {
        requests::passed_by(held, call, &message, (call.since, u64::MAX));
    }
    waited(&held, call, &message, 0);
}

/// Remembers a call that waited for a message, or ended a polling loop: it is entered in the ledger when the
/// message is received.
fn waited<A: Abi>(held: &State, call: &Call<A>, message: &Envelope, order: u64) {
    if !ledger::recorded() || call.since == 0 {
        return;
    }
    let probe = Probe::of(call);
    let blocks = [f::MPI_Probe, f::MPI_Mprobe].contains(&call.function());
    if blocks || probe.since < call.since {
        held.probed.add(Found { order, ..message.found() }, probe);
    }
}

/// Returns the value of a flag parameter.
pub fn flag(place: *const c_int) -> c_int {
    scratch::int(place)
}

/// What a flag parameter got, with the index of what was found: `MPI_UNDEFINED`, which is below zero, if there is nothing to be found.
pub fn flag_of(flag: *const c_int, index: *const c_int) -> c_int {
    if scratch::int(index) < 0 { 0 } else { scratch::int(flag) }
}

/// How many were found, of nothing also none.
pub fn count(place: *const c_int) -> c_int {
    scratch::int(place).max(0)
}

/// Provides a status if the program passed none.
pub fn need_status<A: Abi>(call: &Call<A>, status: &mut *mut c_void) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        lend::<A>(scratch, status);
    }
}

/// `MPI_Mprobe`, and `MPI_Improbe` if `flag` is nonzero: the message was removed from the queue.
pub fn matched<A: Abi>(
    call: &Call<A>,
    result: c_int,
    source: c_int,
    comm: A::Handle,
    flag: c_int,
    message: *const A::Handle,
    status: *const c_void,
) {
    if result != A::SUCCESS || flag == 0 || source == A::PROC_NULL {
        return;
    }
    let Some(held) = hold() else { return };
    let (handle, status) = (scratch::pointed(message), given::<A>(status));
    if handle == held.null_message || status.is_null() {
        return;
    }
    let channel = channel::<A>(&held, comm);
    let got = status::read::<A>(&held.sizes, status);
    if let Some(old) = held.messages.find(handle) {
        held.messages.remove(old);
        held.messages.give(old);
    }
    let Some(record) = held.messages.take(held.writer) else {
        held.writer.lose(Loss::OBJECTS, 1);
        return;
    };
    let serial = held.next_operation();
    let from = Envelope::new::<false>(&channel, got.source, got.tag, serial);
    let order = facts::message_matched(&held, &from, got.bytes, call.returned());
    if held.orphans.any() {
        requests::passed_by(*held, &call.aside(), &from, (call.since, order));
    }
    waited(&held, call, &from, order);
    {
        let _open = record.head.seq.open();
        let head = &record.head;
        head.handle.set(handle);
        head.uid.set(uid(SectionKind::MESSAGES, serial));
        head.life.set(Life::LIVE.0);
        head.made_by.set(call.function().0 + 1);
        head.made_at.set(call.returned());
        head.made_from.set(call.return_address());
        head.freed_by.set(0);
        head.freed_at.set(0);
        head.parent.set(channel.uid);
        record.comm_identity.set(channel.identity);
        record.peers.set(channel.peers);
        record.object.set(comm.raw());
        record.source.set(got.source.cast_unsigned());
        record.tag.set(got.tag.cast_unsigned());
        record.bytes.set(got.bytes);
        record.order.set(order);
    }
    held.messages.insert(handle, record);
    objects::facts::created(SectionKind::MESSAGES, &record.head);
}

/// Frees a matched message, for the receive that took it.
fn taken<A: Abi>(held: &State, call: &Call<A>, message: &'static Message) -> (Envelope, Posted) {
    {
        let _open = message.head.seq.open();
        message.head.life.set(Life::FREED.0);
        message.head.freed_by.set(u32::from(call.function().0) + 1);
        message.head.freed_at.set(call.since);
        message.head.freed_from.set(call.return_address());
    }
    facts::message_taken(held, message);
    objects::facts::freed(SectionKind::MESSAGES, &message.head);
    held.messages.give(message);
    let from = Envelope {
        comm: message.head.parent.get(),
        identity: message.comm_identity.get(),
        peers: message.peers.get(),
        rank: message.source.get().cast_signed(),
        tag: message.tag.get().cast_signed(),
        id: serial_of(message.head.uid.get()),
        object: message.object.get(),
        partitions: 0,
    };
    (from, Posted { at: message.head.made_at.get(), order: message.order.get(), data: named_by(call) })
}

/// Before `MPI_Mrecv`, `MPI_Imrecv`: saves the message, whose handle is null afterward.
pub fn before_matched_receive<A: Abi>(call: &Call<A>, message: *const A::Handle) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let handle = scratch::pointed(message);
    scratch.message = if handle == held.null_message { None } else { held.messages.find(handle) };
    // The library may reuse the handle for the next message before this call is over: a probe of another
    // thread must not find this record.
    if let Some(message) = scratch.message {
        held.messages.remove(message);
    }
}

/// The receive of a message has failed: the message is still there.
#[cold]
fn not_taken(held: &State, message: &'static Message) {
    held.messages.insert(message.head.handle.get(), message);
}

/// After `MPI_Mrecv`.
pub fn after_mrecv<A: Abi>(call: &Call<A>, result: c_int, buffer: usize, status: *const c_void) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let Some(message) = scratch.message.take() else { return };
    if result == A::SUCCESS || status::class(result) == A::ERR_TRUNCATE {
        let (from, mut posted) = taken(&held, call, message);
        posted.data.buffer = buffer as u64;
        arrived(*held, call, result, (from, None), RequestKind::MRECV, posted, given::<A>(status));
    } else {
        not_taken(&held, message);
    }
}

/// After `MPI_Imrecv`.
pub fn after_imrecv<A: Abi>(
    call: &Call<A>,
    result: c_int,
    buffer: usize,
    count: i64,
    datatype: A::Handle,
    request: *const A::Handle,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let message = scratch.message.take();
    if result != A::SUCCESS {
        if let Some(message) = message {
            not_taken(&held, message);
        }
        return;
    }
    let mut new = New {
        operation: held.next_operation(),
        peer: A::PROC_NULL,
        tag: A::ANY_TAG,
        count,
        datatype: datatype.raw(),
        buffer: buffer as u64,
        ..New::of(RequestKind::MRECV)
    };
    if let Some(message) = message {
        new.object = message.object.get();
        new.channel.uid = message.head.parent.get();
        new.channel.identity = message.comm_identity.get();
        new.channel.peers = message.peers.get();
        let (from, posted) = taken(&held, call, message);
        (new.peer, new.tag, new.order, new.operation) = (from.rank, from.tag, posted.order, from.id);
    }
    requests::create(*held, call, scratch::pointed(request), &new);
}
