//! End of a request's operation.

use super::{bury, give_back, is_shared, release, untrack};
use crate::interpose::frame::Call;
use crate::record::bytes;
use crate::record::sites;
use crate::record::traffic::contents;
use crate::record::traffic::data::Data;
use crate::record::traffic::envelope::{Envelope, Posted};
use crate::record::traffic::facts;
use crate::record::traffic::faults;
use crate::record::traffic::history;
use crate::record::traffic::state::Held;
use crate::record::traffic::status;
use mpi_abi::{Abi, AbiKind, FunctionId, f};
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{EntryFlag, Peer, Request, RequestKind, UNKNOWN_SIZE};
use std::ffi::c_void;

/// The operation of a request is complete, with this `status` (null if there is none) and `error` code.
#[inline(always)]
pub fn finish<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    status: *const c_void,
    error: i32,
) {
    let flags = request.head.flags.get();
    let cancelled = flags & Flag::CANCELLED.0 != 0 && !status.is_null() && status::cancelled(status);
    let kind = RequestKind(request.kind.get());
    end(held, call, request, &Ending { kind, flags, status, error, cancelled, last: false, untold: false });
}

/// A receive that the program freed while active has got a message, of which nothing more is known.
#[cold]
pub fn got_its_message<A: Abi>(held: Held<false>, call: &Call<A>, request: &'static Request) {
    let kind = RequestKind(request.kind.get());
    let (flags, status) = (request.head.flags.get(), std::ptr::null());
    let (error, cancelled) = (A::SUCCESS, false);
    end(held, call, request, &Ending { kind, flags, status, error, cancelled, last: false, untold: true });
    // The call that freed it, and the time, are already recorded.
    request.head.seq.write(|| request.head.life.set(Life::FREED.0));
    give_back(held, request);
}

/// How the operation of a request ended.
struct Ending {
    /// The request's kind.
    kind: RequestKind,
    /// The request's flags.
    flags: u32,
    /// Null if there is none.
    status: *const c_void,
    /// Error code.
    error: i32,
    /// Whether it was cancelled in time.
    cancelled: bool,
    /// Whether the request is also gone.
    last: bool,
    /// Whether it is known to have received a message, but nothing about that message.
    untold: bool,
}

/// Ends an operation. Checks of those fields of `how` that are constant at the call are compiled away.
///
/// The time is read after everything else: see [`Call::returned`].
#[inline(always)]
fn end<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    how: &Ending,
) {
    let received = if how.kind.receives() { Some(receive_ended(held, call, request, how)) } else { None };
    if how.kind.sends() {
        send_ended(held, call, request, how.cancelled);
    }
    let marked = request.head.life.get() == Life::MARKED.0;
    let open = request.head.seq.open();
    let off = Flag::ACTIVE.0
        | Flag::WAITED.0
        | Flag::OVERWRITTEN.0
        | if how.cancelled { 0 } else { Flag::CANCELLED.0 };
    request.head.flags.set((how.flags | Flag::COMPLETE.0) & !off);
    if how.last {
        bury(call, request);
    } else {
        request.completed_from.set(call.return_address());
    }
    if let Some((source, tag, bytes)) = received {
        request.source.set(source.cast_unsigned());
        request.actual_tag.set(tag.cast_unsigned());
        request.bytes.set(bytes);
    }
    if how.error != A::SUCCESS {
        request.error.set(how.error.cast_unsigned());
    }
    facts::request_completed(held, call, request, marked);
    if how.last {
        give_back(held, request);
    }
    let at = call.returned();
    request.completed_at.set(at);
    if how.kind == RequestKind::COLLECTIVE {
        history::completed(&held, call, request, at);
        if !QUIET && request.buffers() != 0 {
            facts::buffers_free(&held, request, &call.aside());
        }
    }
    if !QUIET && how.kind == RequestKind::RMA && request.buffers() != 0 {
        facts::origin_free(&held, request, &call.aside());
    }
    if how.last {
        request.head.freed_at.set(at);
    }
    drop(open);
}

#[inline(always)]
fn send_ended<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    cancelled: bool,
) {
    let to = Envelope::of::<QUIET>(request);
    if cancelled {
        facts::send_cancelled(&held, to, request.entry.get(), call.returned());
    } else if to.rank >= 0 {
        facts::send_completed(held, to, request.bytes.get(), request.entry.get(), call);
    }
}

/// Returns source, tag and size of the message. Without a message, those of the empty status (MPI standard,
/// 3.7.3) or that of `MPI_PROC_NULL`: otherwise the record would show what the previous request received.
#[inline(always)]
fn receive_ended<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    how: &Ending,
) -> (i32, i32, u64) {
    let (kind, status, error) = (how.kind, how.status, how.error);
    let named = Envelope::of::<QUIET>(request);
    if named.rank == A::PROC_NULL {
        return no_message::<A>(request, kind, A::PROC_NULL);
    }
    if how.cancelled {
        facts::receive_cancelled(held, named, call.returned());
        return no_message::<A>(request, kind, A::ANY_SOURCE);
    }
    let peer = if kind == RequestKind::MRECV { None } else { facts::receive_ended(held, named) };
    let arrived = status::arrived::<A>(error);
    if !QUIET && !arrived && kind != RequestKind::MRECV {
        facts::receive_failed(&named, call.returned());
    }
    if !arrived || (status.is_null() && !kind.is_partitioned() && !how.untold) {
        return no_message::<A>(request, kind, A::ANY_SOURCE);
    }
    // MPICH (seen in 4.0 and 5.0, and in Intel MPI) leaves the status of a send and receive unchanged.
    if how.untold || kind == RequestKind::SENDRECV && A::CODE != AbiKind::OPENMPI {
        return received_untold(held, call, request, how);
    }
    let (from, bytes) = if kind.is_partitioned() {
        // The status of a partitioned receive differs between libraries, but nothing in it can differ from
        // what was specified.
        (named, request.bytes.get())
    } else {
        let got = status::read::<A>(&held.sizes, status);
        (Envelope { rank: got.source, tag: got.tag, ..named }, got.bytes)
    };
    let (mover, from_call) = (mover(request, how.flags), called_from(request, how.flags));
    call.add_received_of(mover, bytes);
    sites::moved(call.tls(), mover, (from_call, request.object.get()), bytes, bytes);
    if error != A::SUCCESS {
        faults::truncated::<A>(&held, call, from, bytes, &Data::of(request));
    }
    let known = if from.rank == named.rank { peer } else { None };
    let written = if !QUIET && contents::recorded() { held.watched.completed(request) } else { 0 };
    let told = move || (posted(request), mode_of::<A>(kind, named) | failed::<A>(error) | written);
    received(held, from, (bytes, from_call), known, call, told);
    (from.rank, from.tag, bytes)
}

/// A message was received: counts and reports it, see [`facts::receive_counted`] and [`facts::receive_told`].
/// Orphans that it passed by have got theirs.
#[inline(always)]
pub fn received<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    from: Envelope,
    (bytes, place): (u64, u64),
    known: Option<&'static Peer>,
    call: &Call<A>,
    how: impl Fn() -> (Posted, u32),
) {
    let nth = facts::receive_counted(held, from, (bytes, place), known);
    if QUIET {
        return;
    }
    if held.orphans.any() {
        let (posted, flags) = how();
        if flags & EntryFlag::PARTITIONED.0 == 0 {
            passed_by(held, call, &from, (posted.at, posted.order));
        }
    }
    facts::receive_told(held, from, (bytes, nth), call, how);
}

/// A message with this envelope went to the receive that was posted `at` that time as number `order` of the
/// process, or was found waiting for a receive: earlier receives that would have taken it have got another
/// message.
#[inline(never)]
pub fn passed_by<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    message: &Envelope,
    (at, order): (u64, u64),
) {
    let names = |named: u32, any: i32, value: i32| {
        named.cast_signed() == value && value >= 0 || named.cast_signed() == any
    };
    let passed = |request: &&'static Request| {
        request.head.parent.get() == message.comm
            && request.order.get() < order
            // With threads both may have been posted at once, unless this one was freed before the other
            // began.
            && (!held.is_multiple() || request.head.freed_at.get() <= at)
            && names(request.peer.get(), A::ANY_SOURCE, message.rank)
            && names(request.tag.get(), A::ANY_TAG, message.tag)
    };
    while let Some(request) = held.orphans.iter().find(passed) {
        untrack(&held, request);
        got_its_message(held.as_any(), call, request);
    }
}

/// [`receive_ended`] of a receive whose message the library does not describe. Its size is known only if
/// there was room for nothing.
#[cold]
fn received_untold<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    how: &Ending,
) -> (i32, i32, u64) {
    let named = Envelope::of::<QUIET>(request);
    let room = bytes::noted_elements::<A>(request.count.get(), request.datatype.get());
    if how.error != A::SUCCESS {
        faults::truncated::<A>(&held, call, named, room, &Data::of(request));
    }
    let known = Some(room).filter(|room| *room == 0 && how.error == A::SUCCESS);
    let flags = mode_of::<A>(how.kind, named) | failed::<A>(how.error) | EntryFlag::UNTOLD.0;
    facts::receive_untold(held, named, request.object.get(), known, call, || (posted(request), flags));
    (named.rank, named.tag, known.unwrap_or(UNKNOWN_SIZE))
}

/// Returns when and how a request's receive was posted.
#[inline(always)]
fn posted(request: &Request) -> Posted {
    Posted { at: request.started(), order: request.order.get(), data: Data::of(request) }
}

#[inline(always)]
fn failed<A: Abi>(error: i32) -> u32 {
    if error == A::SUCCESS { 0 } else { EntryFlag::ERROR.0 }
}

/// Returns the function that a request's bytes count for: the one that made it or, for a persistent one,
/// started it.
#[inline(always)]
fn mover(request: &Request, flags: u32) -> FunctionId {
    if flags & Flag::PERSISTENT.0 == 0 {
        FunctionId(request.head.made_by.get().wrapping_sub(1))
    } else if flags & Flag::STARTED_BY_ALL.0 != 0 {
        f::MPI_Startall
    } else {
        f::MPI_Start
    }
}

/// [`Request::called_from`] of a request with these flags.
#[inline(always)]
fn called_from(request: &Request, flags: u32) -> u64 {
    if flags & Flag::PERSISTENT.0 == 0 { request.head.made_from.get() } else { request.started_from.get() }
}

/// Returns the result of [`receive_ended`] for a receive without a message.
#[cold]
fn no_message<A: Abi>(request: &Request, kind: RequestKind, source: i32) -> (i32, i32, u64) {
    // The size of a partitioned receive does not come from a status, and is needed again.
    (source, A::ANY_TAG, if kind.is_partitioned() { request.bytes.get() } else { 0 })
}

/// Returns the ledger flags that follow from how a receive was posted.
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

/// A call has shown the program that a request is complete and, unless it is persistent, has freed it.
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
        let how = |kind| Ending {
            kind,
            flags,
            status,
            error: A::SUCCESS,
            cancelled: false,
            last: true,
            untold: false,
        };
        // Nearly all requests are of these kinds, which are compiled separately.
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

/// [`end`] of a rarer kind, out of line.
#[inline(never)]
fn ended_rarely<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &'static Request,
    how: &Ending,
) {
    end(held, call, request, how);
}

/// [`complete`] for a request that is persistent, cancelled, failed or already complete; or gone, because it
/// occurs twice in an array.
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

/// One of the requests of a shared handle is complete. Unless the library has reserved the handle, it may
/// refer to something else after the last of them.
#[inline(always)]
fn shared_completed<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    let left = request.outstanding.get().saturating_sub(1);
    request.outstanding.set(left);
    if !QUIET && request.buffers() != 0 {
        facts::origins_free(&held, request, &call.aside());
    }
    if !QUIET && request.entry.get() != 0 {
        shared_sends_awaited(held, &call.aside(), request, left);
    }
    if left == 0 && !is_shared::<A>(&held, request.head.handle.get()) {
        release_rarely(held, &call.aside(), request);
    }
}

/// A call has completed one of the requests of a shared handle, and `left` remain. Which one is unknown, unless
/// one call completes all of them: then the sends among them were waited for in it. Until the first of them, the program
/// knew of none that it was complete.
#[inline(never)]
fn shared_sends_awaited<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    request: &Request,
    left: u32,
) {
    // The program need not wait for a request that it tested or freed.
    let waits = [f::MPI_Wait, f::MPI_Waitall].contains(&call.function());
    if request.started_at.get() == 0 {
        request.started_at.set(call.since);
        let completes_all = waits && (left == 0 || call.function() == f::MPI_Waitall);
        if contents::recorded() && !completes_all {
            facts::first_send_awaited(&held, request.entry.get(), call);
        }
    }
    if !waits || request.started_at.get() != call.since {
        request.entry.set(0);
    } else if left == 0 {
        facts::sends_awaited(&held, request.entry.get(), call);
    }
}

/// [`release`], out of line.
#[cold]
fn release_rarely<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    release(held, call, request);
}
