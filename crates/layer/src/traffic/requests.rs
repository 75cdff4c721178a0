//! Life of request records.
//!
//! ```text
//!  create ─► LIVE ──complete──► FREED (the record waits for the next request with the handle)
//!             │  └ persistent: stays LIVE, start ⇄ complete, until free
//!             └ free while active ─► MARKED ──handle seen again for another request──► FREED
//! ```
//!
//! A handle does not name a request. Libraries give one handle to all requests that are complete when the call
//! that makes them returns; it gets one record with [`Flag::SHARED_HANDLE`] that only counts. MPICH marks such
//! handles by their bits, Open MPI has a variable. The standard ABI says nothing, and Intel MPI gives an ordinary
//! handle to several buffered sends at once: there the second request with a live handle tells.
//!
//! Between the return of a call that completes a request and our look at it, another thread may be given the
//! handle again. So with threads, who completes requests looks their records up before the call
//! ([`Flag::WAITED`]), and a new request with such a handle takes only the handle over ([`Flag::DISPLACED`]).

use super::facts::{self, Envelope, Posted};
use super::lines::Channel;
use super::state::{Held, State};
use super::status;
use crate::bytes;
use crate::call::Call;
use crate::objects::datatypes;
use mpi_abi::{Abi, AbiKind, Handle};
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::objects::{Flag, Life, uid};
use mpiscope_image::traffic::{EntryFlag, Request, RequestKind};
use std::ffi::c_void;

/// What is known of a request when it is made.
#[derive(Clone, Copy)]
pub struct New {
    /// What it is.
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
    /// Of a message that is sent.
    pub bytes: u64,
    /// Number of a collective, place of a receive.
    pub order: u64,
    /// Ledger entry of a send; the operation's handle of a collective or one-sided one.
    pub entry: u64,
    /// Partitions of each side of a partitioned operation.
    pub partitions: i32,
    /// Destination and tag of the send half of a send and receive.
    pub send: (i32, i32),
    /// Not started yet.
    pub persistent: bool,
}

impl New {
    /// A request of which only the kind is known.
    pub fn of(kind: RequestKind) -> Self {
        Self {
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

/// Whether the library gives this handle to every request that is complete at start.
#[inline(always)]
fn is_shared<A: Abi>(held: &State, handle: u64) -> bool {
    if A::CODE == AbiKind::MPICH {
        return handle & 0xfc00_0000 == 0x6c00_0000;
    }
    held.shared.iter().any(|shared| shared.get() == handle)
}

/// A request was made (and started, unless it is persistent).
///
/// `new` must not leave this function: then it is never written to memory.
#[inline(always)]
pub fn create<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, handle: u64, new: &New) {
    if handle == held.null_request || handle == 0 {
        return;
    }
    let request = match held.requests.known(handle) {
        // A handle that is set apart for sharing never has a record of a request that is gone.
        Some(gone) if gone.head.life.get() == Life::FREED.0 => gone,
        Some(known) if !new.persistent && known.is(Flag::SHARED_HANDLE) && is_shared::<A>(&held, handle) => {
            return share_again(held, call, known, new);
        }
        known => match begin_rarely(held, &call.aside(), handle, known, &New { ..*new }) {
            Some(request) => request,
            None => return,
        },
    };
    {
        let _open = request.head.seq.open();
        fill(&held, call, request, new);
        let active = if new.persistent { Flag::PERSISTENT.0 } else { Flag::STARTED.0 | Flag::ACTIVE.0 };
        request.head.flags.set(active);
    }
    if !new.persistent {
        facts::request_started(held, request);
    }
}

/// A handle that is new, or that we think has a live request. Gives the record to be filled; nothing if the handle is shared,
/// and all is done.
#[inline(never)]
fn begin_rarely<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
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
        fill(&held, call, request, new);
        request.head.flags.set(Flag::SHARED_HANDLE.0 | Flag::STARTED.0 | Flag::COMPLETE.0);
        request.outstanding.set(0);
        request.starts.set(0);
    }
    share_again(held, call, request, new);
    None
}

/// A record in the table for a handle that is known to have none of a live request.
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

/// The fields of a new request that mean something for its kind, but for flags, starts and outstanding.
///
/// What means nothing is left as it was: this is the hottest path of all, and its cost is the number of stores.
#[inline(always)]
fn fill<A: Abi>(held: &State, call: &Call<A>, request: &Request, new: &New) {
    let serial = held.serials.0.get() + 1;
    held.serials.0.set(serial);
    let head = &request.head;
    head.uid.set(uid(SectionKind::REQUESTS, serial));
    head.life.set(Life::LIVE.0);
    head.made_by.set(u32::from(call.function().0) + 1);
    head.made_at.set(call.since);
    head.made_from.set(call.return_address());
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
    if new.kind.receives() || new.kind == RequestKind::COLLECTIVE {
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
    }
}

/// Where it communicates: mostly where the last request with this handle did.
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

/// A further request with a handle that many requests share: it is complete.
#[inline(always)]
fn share_again<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &Request, new: &New) {
    {
        let _open = request.head.seq.open();
        request.head.made_by.set(u32::from(call.function().0) + 1);
        request.head.made_at.set(call.since);
        request.head.made_from.set(call.return_address());
        request.kind.set(new.kind.0);
        request.outstanding.set(request.outstanding.get() + 1);
        request.starts.add_mine(1);
    }
    if new.kind.sends() && new.peer >= 0 {
        let to = Envelope::new(&new.channel, new.peer, new.tag);
        facts::send_completed(held, to, new.bytes, new.entry, call);
    }
    facts::request_complete_at_start(held, request);
}

/// A new request has the handle of one that we think lives. True if they share it.
#[cold]
fn displace<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    old: &'static Request,
    new: RequestKind,
    persistent: bool,
) -> bool {
    if old.is(Flag::WAITED) && held.is_multiple() {
        // Another thread is about to find out that it is complete.
        held.requests.remove(old);
        old.head.flags.set(old.head.flags.get() | Flag::DISPLACED.0);
        return false;
    }
    // A receive has a status of its own, so it never shares a handle.
    let kind = RequestKind(old.kind.get());
    let alone = |kind: RequestKind, persistent: bool| persistent || kind.receives();
    let marked = old.head.life.get() == Life::MARKED.0;
    if !marked && !alone(kind, old.is(Flag::PERSISTENT)) && !alone(new, persistent) {
        if !old.is(Flag::SHARED_HANDLE) {
            // The first one was complete at start too.
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
    if !marked {
        // Its end was not seen: completed while nothing was recorded, or in a call that we could not follow.
        held.writer.lose(Loss::REQUESTS, 1);
    }
    settle(held, call, old);
    release(held, call, old);
    false
}

/// Ends the operation of a request without knowing how it went.
#[cold]
pub fn settle<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    if request.is(Flag::ACTIVE) {
        finish(held, call, request, std::ptr::null(), 0);
    }
}

/// The program has freed a request that is still active.
#[cold]
pub fn mark<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    {
        let _open = request.head.seq.open();
        request.head.life.set(Life::MARKED.0);
        request.head.freed_by.set(u32::from(call.function().0) + 1);
        request.head.freed_at.set(call.since);
        request.head.freed_from.set(call.return_address());
    }
    facts::request_marked(&held, request);
}

/// The record becomes a tombstone that is used again soon.
#[inline(always)]
pub fn release<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    {
        let _open = request.head.seq.open();
        bury(call, request);
        request.head.freed_at.set(call.returned());
    }
    give_back(held, request);
}

/// Writes into the open record that its request is gone; not since when.
#[inline(always)]
fn bury<A: Abi>(call: &Call<A>, request: &Request) {
    request.head.life.set(Life::FREED.0);
    request.head.freed_by.set(u32::from(call.function().0) + 1);
    request.head.freed_from.set(call.return_address());
}

/// The record may be used again: it waits where it is for the next request with this handle.
#[inline(always)]
fn give_back<const QUIET: bool>(held: Held<QUIET>, request: &'static Request) {
    facts::request_freed(held, request);
    if !QUIET && request.is(Flag::DISPLACED) {
        held.requests.give(request);
    }
}

/// The operation of a request is complete: `status` is its status, null if there is none; `error` its error code.
#[inline(always)]
pub fn finish<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    status: *const c_void,
    error: i32,
) {
    let cancelled = request.is(Flag::CANCELLED) && !status.is_null() && status::cancelled(status);
    let kind = RequestKind(request.kind.get());
    end(held, call, request, &Ending { kind, status, error, cancelled, last: false });
}

/// How the operation of a request ended.
struct Ending {
    /// The request's kind.
    kind: RequestKind,
    /// Null if there is none.
    status: *const c_void,
    /// Error code.
    error: i32,
    /// It was cancelled in time.
    cancelled: bool,
    /// And the request is gone.
    last: bool,
}

/// The end of an operation. What of `how` is constant where this is called is not looked at.
///
/// The time is asked for after everything else: see [`Call::returned`].
#[inline(always)]
fn end<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    how: &Ending,
) {
    let message = if how.kind.receives() { receive_ended(held, call, request, how) } else { None };
    if how.kind.sends() {
        send_ended(held, call, request, how.cancelled);
    }
    let open = request.head.seq.open();
    let off = Flag::ACTIVE.0 | Flag::WAITED.0 | if how.cancelled { 0 } else { Flag::CANCELLED.0 };
    request.head.flags.set((request.head.flags.get() | Flag::COMPLETE.0) & !off);
    if how.last {
        bury(call, request);
    } else {
        request.completed_from.set(call.return_address());
    }
    if let Some((source, tag, bytes)) = message {
        request.source.set(source.cast_unsigned());
        request.actual_tag.set(tag.cast_unsigned());
        request.bytes.set(bytes);
    }
    if how.error != A::SUCCESS {
        request.error.set(how.error.cast_unsigned());
    }
    facts::request_completed(held, request);
    if how.last {
        give_back(held, request);
    }
    let at = call.returned();
    request.completed_at.set(at);
    if how.last {
        request.head.freed_at.set(at);
    }
    drop(open);
}

/// What the request was posted with.
#[inline(always)]
fn posted_with(request: &Request) -> Envelope {
    Envelope {
        comm: request.head.parent.get(),
        identity: request.comm_identity.get(),
        peers: request.peers.get(),
        rank: request.peer.get().cast_signed(),
        tag: request.tag.get().cast_signed(),
    }
}

#[inline(always)]
fn send_ended<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    cancelled: bool,
) {
    let to = posted_with(request);
    if cancelled {
        facts::send_cancelled(&held, to, request.entry.get(), call.returned());
    } else if to.rank >= 0 {
        facts::send_completed(held, to, request.bytes.get(), request.entry.get(), call);
    }
}

/// Gives source, tag and size of the message, if there is one.
#[inline(always)]
fn receive_ended<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    how: &Ending,
) -> Option<(i32, i32, u64)> {
    let named = posted_with(request);
    if named.rank == A::PROC_NULL {
        return None;
    }
    let (kind, status, error) = (how.kind, how.status, how.error);
    if how.cancelled {
        facts::receive_cancelled(held, named);
        return None;
    }
    let peer = if kind == RequestKind::MRECV { None } else { facts::receive_ended(held, named) };
    let arrived = error == A::SUCCESS || status::class(error) == A::ERR_TRUNCATE;
    if !arrived || (status.is_null() && !kind.is_partitioned()) {
        return None;
    }
    // MPICH (seen in 4.0 and 5.0, and in Intel MPI) leaves the status of a send and receive as it was.
    let untold = kind == RequestKind::SENDRECV && A::CODE != AbiKind::OPENMPI;
    let (from, bytes) = if kind.is_partitioned() {
        // The status of a partitioned receive is not the same on all libraries; nothing in it can differ.
        (named, request.bytes.get())
    } else if untold {
        let datatype = A::Handle::from_raw(request.datatype.get());
        (named, bytes::elements::<A>(request.count.get().cast_signed(), datatype))
    } else {
        let got = status::read::<A>(&held, status);
        (Envelope { rank: got.source, tag: got.tag, ..named }, got.bytes)
    };
    let known = if from.rank == named.rank { peer } else { None };
    facts::receive_completed(held, from, bytes, known, call, move || {
        let failed = if error == A::SUCCESS { 0 } else { EntryFlag::ERROR.0 };
        let untold = if untold { EntryFlag::UNTOLD.0 } else { 0 };
        let posted = Posted { at: request.started(), order: request.order.get() };
        (posted, mode_of::<A>(kind, named) | failed | untold)
    });
    Some((from.rank, from.tag, bytes))
}

/// Ledger flags that follow from how a receive was posted.
#[inline(always)]
pub fn mode_of<A: Abi>(kind: RequestKind, named: Envelope) -> u32 {
    let mut flags = 0;
    if named.rank == A::ANY_SOURCE {
        flags |= EntryFlag::ANY_SOURCE.0;
    }
    if named.tag == A::ANY_TAG {
        flags |= EntryFlag::ANY_TAG.0;
    }
    if kind == RequestKind::MRECV {
        flags |= EntryFlag::PROBED.0;
    }
    if kind.is_partitioned() {
        flags |= EntryFlag::PARTITIONED.0;
    }
    flags
}

/// A call has told the program that a request is complete, and, unless it is persistent, has freed it.
#[inline(always)]
pub fn complete<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    status: *const c_void,
    error: i32,
) {
    const UNUSUAL: u32 = Flag::SHARED_HANDLE.0 | Flag::PERSISTENT.0 | Flag::CANCELLED.0;
    let flags = request.head.flags.get();
    if error == A::SUCCESS && flags & (Flag::ACTIVE.0 | UNUSUAL) == Flag::ACTIVE.0 {
        let how = |kind| Ending { kind, status, error: A::SUCCESS, cancelled: false, last: true };
        // Nearly all requests: each kind is compiled by itself.
        match RequestKind(request.kind.get()) {
            RequestKind::RECV => end(held, call, request, &how(RequestKind::RECV)),
            RequestKind::SEND => end(held, call, request, &how(RequestKind::SEND)),
            kind => ended_rarely(held, &call.aside(), request, &how(kind)),
        }
    } else if flags & Flag::SHARED_HANDLE.0 != 0 {
        shared_completed(held, call, request);
    } else {
        completed_rarely(held, &call.aside(), request, status, error);
    }
}

/// [`end`] of one of the rarer kinds, out of the way.
#[inline(never)]
fn ended_rarely<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    how: &Ending,
) {
    end(held, call, request, how);
}

/// [`complete`] for a request that is persistent, cancelled, failed or was complete already; or is gone, because it stands
/// twice in an array.
#[inline(never)]
fn completed_rarely<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    status: *const c_void,
    error: i32,
) {
    let flags = request.head.flags.get();
    let last = flags & Flag::PERSISTENT.0 == 0;
    if request.head.life.get() == Life::FREED.0 {
        return;
    }
    if flags & Flag::ACTIVE.0 != 0 {
        finish(held, call, request, status, error);
    } else if !last && flags & Flag::WAITED.0 != 0 {
        request.head.flags.set(flags & !Flag::WAITED.0);
    }
    if last {
        release(held, call, request);
    }
}

/// One of the requests of a shared handle is complete. If the library has not set the handle apart for ever, it may
/// stand for something else after the last of them.
#[inline(always)]
fn shared_completed<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    let left = request.outstanding.get().saturating_sub(1);
    request.outstanding.set(left);
    if left == 0 && !is_shared::<A>(&held, request.head.handle.get()) {
        release_rarely(held, &call.aside(), request);
    }
}

/// [`release`], out of the way.
#[cold]
fn release_rarely<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    release(held, call, request);
}
