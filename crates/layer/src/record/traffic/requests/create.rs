//! Creation of requests.

use super::{ended_unseen, is_shared, release, settle};
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::objects::datatypes;
use crate::record::traffic::channel::Channel;
use crate::record::traffic::envelope::{Envelope, Operation};
use crate::record::traffic::facts;
use crate::record::traffic::state::{Held, State};
use mpi_abi::Abi;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::objects::{Flag, Life, uid};
use mpiscope_image::traffic::{Request, RequestKind};

/// What is known about a request when it is made.
#[derive(Clone, Copy)]
pub struct New {
    /// Its number among all operations that this process posts: see `Request::operation`.
    pub operation: u64,
    /// The kind of request.
    pub kind: RequestKind,
    /// Handle of the communicator, file or window.
    pub object: u64,
    /// The communicator.
    pub channel: Channel,
    /// Destination, source, target or root.
    pub peer: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub count: i64,
    /// Handle of the datatype.
    pub datatype: u64,
    /// Address.
    pub buffer: u64,
    /// Bytes of a message that is sent.
    pub bytes: u64,
    /// Number of a collective, position of a receive.
    pub order: u64,
    /// Ledger entry of a send; handle of the reduction operation of a collective or one-sided operation.
    pub entry: u64,
    /// Number of partitions on this side of a partitioned operation.
    pub partitions: i32,
    /// Destination and tag of the send half of a send and receive.
    pub send: (i32, i32),
    /// Whether the request is persistent, so that it is not started yet.
    pub persistent: bool,
}

impl New {
    /// Returns the operation as events report it.
    fn operation(&self, handle: u64) -> Operation {
        let with = Envelope::new::<false>(&self.channel, self.peer, self.tag, self.operation);
        Operation { kind: self.kind, handle, with, bytes: self.bytes }
    }

    /// Returns a request of which only the kind is known.
    pub fn of(kind: RequestKind) -> Self {
        Self {
            operation: 0,
            kind,
            object: 0,
            channel: Channel::default(),
            peer: 0,
            tag: 0,
            count: 0,
            datatype: 0,
            buffer: 0,
            bytes: 0,
            order: 0,
            entry: 0,
            partitions: 0,
            send: (0, 0),
            persistent: false,
        }
    }
}

/// A request was made (and started, unless it is persistent).
///
/// `new` must not escape from this function: then it is never written to memory.
#[inline(always)]
pub fn create<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, handle: u64, new: &New) {
    if handle == held.null_request || handle == 0 {
        return;
    }
    if !new.persistent {
        facts::request_told(held, || new.operation(handle), call.since);
    }
    let request = match held.requests.known(handle) {
        // A handle reserved for sharing never has the record of a request that is gone.
        Some(gone) if gone.head.life.get() == Life::FREED.0 => gone,
        Some(known) if !new.persistent && known.is(Flag::SHARED_HANDLE) && is_shared::<A>(&held, handle) => {
            return share_again(held, call, known, new);
        }
        known => match begin_rarely(held.as_any(), &call.aside(), handle, known, &New { ..*new }) {
            Some(request) => request,
            None => return,
        },
    };
    {
        let _open = request.head.seq.open();
        fill(call, request, new);
        let active = if new.persistent { Flag::PERSISTENT.0 } else { Flag::STARTED.0 | Flag::ACTIVE.0 };
        request.head.flags.set(active);
        if !QUIET && matches!(new.kind, RequestKind::COLLECTIVE | RequestKind::RMA) {
            request.set_buffers(0);
        }
    }
    if !new.persistent {
        facts::request_started(held, request);
    }
}

/// The handle is new, or is thought to have a live request. Returns the record to be filled; `None` if the
/// handle is shared and nothing remains to be done.
#[inline(never)]
fn begin_rarely<A: Abi>(
    held: Held<false>,
    call: &Call<A>,
    handle: u64,
    known: Option<&'static Request>,
    new: &New,
) -> Option<&'static Request> {
    if let Some(known) = known
        && displace(held, call, known, new.kind, new.persistent)
    {
        share_again(held, call, known, new);
        return None;
    }
    let request = record_for(&held, handle)?;
    if new.persistent || !is_shared::<A>(&held, handle) {
        return Some(request);
    }
    {
        let _open = request.head.seq.open();
        fill(call, request, new);
        request.head.flags.set(Flag::SHARED_HANDLE.0 | Flag::STARTED.0 | Flag::COMPLETE.0);
        request.outstanding.set(0);
        request.starts.set(0);
    }
    share_again(held, call, request, new);
    None
}

/// Returns a record in the table for a handle that is known to have no live request.
#[cold]
fn record_for(held: &State, handle: u64) -> Option<&'static Request> {
    if let Some(gone) = held.requests.known(handle) {
        return Some(gone);
    }
    let Some(request) = held.requests.take(held.writer) else {
        held.writer.lose(Loss::REQUESTS, 1);
        return None;
    };
    {
        let _open = request.head.seq.open();
        request.head.handle.set(handle);
        request.head.life.set(Life::FREED.0);
        request.head.flags.set(0);
    }
    held.requests.insert(handle, request);
    Some(request)
}

/// Sets the fields of a new request that are meaningful for its kind, except flags, starts and outstanding.
///
/// Other fields keep their values: this is the hottest path of all, and its cost is the number of stores.
#[inline(always)]
fn fill<A: Abi>(call: &Call<A>, request: &Request, new: &New) {
    let head = &request.head;
    head.uid.set(uid(SectionKind::REQUESTS, new.operation));
    head.life.set(Life::LIVE.0);
    head.made_by.set(call.function().0 + 1);
    head.made_at.set(call.since);
    head.made_from.set(fortran_call_site::here(call));
    request.kind.set(new.kind.0);
    place(request, new);
    request.peer.set(new.peer.cast_unsigned());
    request.tag.set(new.tag.cast_unsigned());
    request.count.set(new.count as u64);
    request.datatype.set(new.datatype);
    request.datatype_uid.set(datatypes::uid::<A>(new.datatype));
    request.buffer.set(new.buffer);
    if !matches!(new.kind, RequestKind::RECV | RequestKind::MRECV) {
        request.bytes.set(new.bytes);
    }
    if request.error.get() != 0 {
        request.error.set(0);
    }
    if new.kind.receives() || new.kind == RequestKind::COLLECTIVE || new.kind.is_file() {
        request.order.set(new.order);
    }
    if new.kind.sends() || matches!(new.kind, RequestKind::COLLECTIVE | RequestKind::RMA) {
        request.entry.set(new.entry);
    }
    if new.kind.is_partitioned() {
        request.partitions.set(new.partitions.cast_unsigned());
    }
    if new.kind == RequestKind::SENDRECV {
        request.dest.set(new.send.0.cast_unsigned());
        request.send_tag.set(new.send.1.cast_unsigned());
    }
    if new.persistent {
        request.starts.set(0);
        request.set_operation(0);
    }
}

/// Sets where it communicates: usually the same place as the last request with this handle.
#[inline(always)]
fn place(request: &Request, new: &New) {
    let same = request.head.parent.get() == new.channel.uid
        && request.object.get() == new.object
        && request.comm_identity.get() == new.channel.identity
        && request.peers.get() == new.channel.peers;
    if !same {
        request.head.parent.set(new.channel.uid);
        request.object.set(new.object);
        request.comm_identity.set(new.channel.identity);
        request.peers.set(new.channel.peers);
    }
}

/// Counts a further request with a shared handle: it is complete.
#[inline(always)]
fn share_again<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &Request, new: &New) {
    {
        let _open = request.head.seq.open();
        request.head.made_by.set(call.function().0 + 1);
        request.head.made_at.set(call.since);
        request.head.made_from.set(fortran_call_site::here(call));
        request.kind.set(new.kind.0);
        if !QUIET && request.outstanding.get() == 0 {
            request.entry.set(if new.kind.sends() { new.entry } else { 0 });
            request.started_at.set(0);
            request.set_buffers(0);
        }
        request.outstanding.set(request.outstanding.get() + 1);
        request.starts.add_mine(1);
    }
    let operation = || new.operation(request.head.handle.get());
    if !QUIET && new.kind.sends() && new.peer >= 0 {
        facts::send_completed(held, operation().with, new.bytes, new.entry, call);
    }
    facts::request_complete_at_start(held, call, operation);
}

/// A new request has the handle of one that is thought to be live. Returns whether they share it.
#[cold]
fn displace<A: Abi>(
    held: Held<false>,
    call: &Call<A>,
    old: &'static Request,
    new: RequestKind,
    persistent: bool,
) -> bool {
    if old.is(Flag::WAITED) && held.is_multiple() {
        // Another thread is about to learn that it is complete.
        held.requests.remove(old);
        old.head.flags.set(old.head.flags.get() | Flag::DISPLACED.0);
        return false;
    }
    // A receive has its own status, so it never shares a handle.
    let kind = RequestKind(old.kind.get());
    let alone = |kind: RequestKind, persistent: bool| persistent || kind.receives();
    let marked = old.head.life.get() == Life::MARKED.0;
    if !marked && !alone(kind, old.is(Flag::PERSISTENT)) && !alone(new, persistent) {
        if !old.is(Flag::SHARED_HANDLE) {
            // The first one was also complete at start.
            settle(held, call, old);
            {
                let _open = old.head.seq.open();
                old.head.flags.set(Flag::SHARED_HANDLE.0 | Flag::STARTED.0 | Flag::COMPLETE.0);
                old.outstanding.set(1);
                old.starts.set(1);
            }
        }
        return true;
    }
    if marked {
        ended_unseen(held, call, old);
    } else {
        // Its end was not seen: it completed while nothing was recorded, or in a call that could not be
        // followed.
        held.writer.lose(Loss::REQUESTS, 1);
        settle(held, call, old);
        release(held, call, old);
    }
    false
}
