//! Messages, requests and collectives.

use super::super::kinds::Kind;
use super::super::{Payload, anybody, wanted};
use super::senders::{self, Received};
use super::{note, number};
use crate::call::Call;
use crate::objects::comms::COMMS;
use crate::traffic::facts::Envelope;
use crate::traffic::lines::Channel;
use mpi_abi::{Abi, FUNCTIONS, FunctionId};
use mpiscope_image::traffic::Request;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something happened to a message.
#[inline(always)]
pub fn message(kind: Kind, on: &Envelope, bytes: u64, at: u64) {
    note(kind, on.comm, at, || Payload::new().int(on.rank).int(on.tag).word(bytes));
}

/// A message was received, the `nth` from its sender.
#[inline(always)]
pub fn received(from: &Envelope, nth: u64, bytes: u64, posted: u64, at: u64, probed: bool) {
    compare(from, nth, bytes, posted, at);
    // A message that a probe matched is told then.
    if !probed {
        message(Kind::RECEIVE_MATCHED, from, bytes, at);
    }
    note(Kind::RECEIVE_COMPLETED, from.comm, at, || {
        Payload::new().int(from.rank).int(from.tag).word(bytes).word(posted)
    });
}

/// Compares with what the sender recorded: who was first?
#[cold]
fn compare(from: &Envelope, nth: u64, bytes: u64, posted: u64, at: u64) {
    let heard = |kind| wanted(kind, from.comm).is_some();
    if posted == 0 || !(heard(Kind::RECEIVE_UNEXPECTED) || heard(Kind::RECEIVE_LATE)) {
        return;
    }
    let message = Received { comm: from.comm, from: from.rank, tag: from.tag, bytes };
    let Some(sent) = senders::sent_at(message, nth) else { return };
    let kind = if sent < posted { Kind::RECEIVE_UNEXPECTED } else { Kind::RECEIVE_LATE };
    note(kind, from.comm, at, || {
        Payload::new().int(from.rank).int(from.tag).word(bytes).word(sent).word(posted)
    });
}

/// A request was started, completed or freed.
#[inline(always)]
pub fn request(kind: Kind, request: &Request) {
    note(kind, 0, 0, || {
        let payload = Payload::new().int(request.kind.get().cast_signed());
        let handle = request.head.handle.get();
        if kind == Kind::REQUEST_FREED {
            return payload.word(handle);
        }
        let (peer, tag) = (request.peer.get().cast_signed(), request.tag.get().cast_signed());
        let payload = payload.int(peer).int(tag).word(handle);
        if kind == Kind::REQUEST_STARTED { payload } else { payload.word(request.started()) }
    });
}

/// Partitions of a send were marked ready.
#[inline(always)]
pub fn partitions_ready(request: &Request, first: i32, count: u64) {
    note(Kind::PARTITION_READY, 0, 0, || {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        Payload::new().int(first).int(count).word(request.head.handle.get())
    });
}

/// A partition of a receive was seen to have arrived.
#[inline(always)]
pub fn partition_arrived(request: &Request, partition: i32) {
    note(Kind::PARTITION_ARRIVED, 0, 0, || Payload::new().int(partition).word(request.head.handle.get()));
}

/// A collective was entered.
#[inline(always)]
pub fn collective_entered<A: Abi>(call: &Call<A>, channel: &Channel, sequence: u64) {
    note(Kind::COLLECTIVE_ENTERED, channel.uid, call.since, || collective(call, channel.identity, sequence));
}

/// The call of a collective returned.
#[inline(always)]
pub fn collective_left<A: Abi>(call: &Call<A>, sequence: u64) {
    if anybody()
        && let Some(comm) = COMMS.find(call.thread().call.object.get())
    {
        let head = &comm.head;
        note(Kind::COLLECTIVE_LEFT, head.uid.get(), call.returned(), || {
            let duration = call.returned().wrapping_sub(call.since);
            collective(call, head.identity.get(), sequence).word(duration)
        });
    }
}

/// The elements that both have.
#[inline(never)]
fn collective<A: Abi>(call: &Call<A>, identity: u64, sequence: u64) -> Payload {
    let noted = &call.thread().call;
    let datatype = mpi_abi::Handle::from_raw(noted.datatype.get());
    let bytes = match noted.datatype.get() {
        0 => 0,
        _ => crate::bytes::elements::<A>(noted.count.get().cast_signed(), datatype),
    };
    let root = if has_root(call.function()) { noted.peer.get() as i32 } else { -1 };
    Payload::new().int(number(call.function())).int(root).word(identity).word(sequence).word(bytes)
}

fn has_root(function: FunctionId) -> bool {
    let params = FUNCTIONS.get(usize::from(function.0)).map_or(&[][..], |function| function.params);
    params.iter().any(|param| param.name == "root")
}

/// A level is higher than ever before.
#[inline(always)]
pub fn watermark(which: &AtomicU64, value: u64) {
    note(Kind::WATERMARK_PASSED, 0, 0, || {
        Payload::new().int(which.load(Ordering::Relaxed) as i32).word(value)
    });
}
