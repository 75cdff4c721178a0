//! Life of request records.
//!
//! ```text
//!  create ─► LIVE ──complete──► FREED (the record waits for the next request with the handle)
//!             │  └ persistent: stays LIVE, start ⇄ complete, until free
//!             └ free while active ─► MARKED ──its end is known──► FREED
//! ```
//!
//! A request that was freed while active has ended when its handle reappears for another request, and a
//! receive also when it was [passed by](super::orphans).
//!
//! A handle does not identify a request. Libraries return one handle for all requests that are complete when
//! the call that makes them returns; it gets one record with [`Flag::SHARED_HANDLE`], which only counts.
//! MPICH marks such handles by their bits, Open MPI has a variable. The standard ABI says nothing, and Intel
//! MPI returns an ordinary handle for several buffered sends at once: there the second request with a live
//! handle reveals it.
//!
//! Between the return of a call that completes a request and our hook, another thread may be given the handle
//! again. So with threads, calls that complete requests look up their records beforehand ([`Flag::WAITED`]),
//! and a new request with such a handle takes over only the handle ([`Flag::DISPLACED`]).

mod create;
mod end;
pub mod overwrite;

pub use create::{New, create};
use end::got_its_message;
pub use end::{complete, finish, mode_of, passed_by, received};

use super::envelope::Envelope;
use super::facts;
use super::faults;
use super::orphans;
use super::state::{Held, State, reconsider};
use crate::interpose::frame::Call;
use mpi_abi::{Abi, AbiKind};
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{Request, RequestKind};

/// Whether the library returns this handle for every request that is complete at start.
#[inline(always)]
fn is_shared<A: Abi>(held: &State, handle: u64) -> bool {
    if A::CODE == AbiKind::MPICH {
        return handle & 0xfc00_0000 == 0x6c00_0000;
    }
    held.shared.iter().any(|shared| shared.get() == handle)
}

/// Ends the operation of a request without knowing its outcome.
#[cold]
pub fn settle<A: Abi>(held: Held<false>, call: &Call<A>, request: &'static Request) {
    if request.is(Flag::ACTIVE) {
        facts::buffers_unknown(&held, request);
        finish(held, call, request, std::ptr::null(), 0);
    }
}

/// The program has freed a request that is still active.
#[cold]
pub fn mark<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    let kind = RequestKind(request.kind.get());
    if kind.receives() && request.is(Flag::CANCELLED) {
        // It is cancelled or has got its message; either way it is no longer posted.
        settle(held.as_any(), call, request);
        return release(held, call, request);
    }
    if kind.sends() && request.is(Flag::CANCELLED) {
        facts::send_given_up(&held, Envelope::of::<QUIET>(request), request.entry.get(), call.since);
    }
    {
        let _open = request.head.seq.open();
        request.head.life.set(Life::MARKED.0);
        request.head.freed_by.set(u32::from(call.function().0) + 1);
        request.head.freed_at.set(call.since);
        request.head.freed_from.set(call.return_address());
    }
    facts::request_marked(held);
    // A freed send is harmless: its message arrives. But for a receive or collective the program never learns
    // when it may use the buffer, and freeing a partitioned send is an error (MPI standard, 4.2).
    if kind.receives() || kind.is_partitioned() || kind == RequestKind::COLLECTIVE {
        faults::freed_active(&held, call, request);
    }
    if held.orphans.add::<A>(request) {
        reconsider();
    }
}

/// The end of a request that the program freed while active is known.
#[cold]
pub fn untrack(held: &State, request: &Request) {
    if held.orphans.remove(request) {
        reconsider();
    }
}

/// A handle whose request the program freed while active now stands for another request: the old operation
/// has ended.
#[cold]
fn ended_unseen<A: Abi>(held: Held<false>, call: &Call<A>, request: &'static Request) {
    untrack(&held, request);
    if orphans::may_be::<A>(request) {
        return got_its_message(held, call, request);
    }
    settle(held, call, request);
    release(held, call, request);
}

/// Turns the record into a tombstone that is soon reused.
#[inline(always)]
pub fn release<A: Abi, const QUIET: bool>(held: Held<QUIET>, call: &Call<A>, request: &'static Request) {
    {
        let _open = request.head.seq.open();
        bury(call, request);
        request.head.freed_at.set(call.returned());
    }
    give_back(held, request);
}

/// Records in the open record that its request is gone, except the time.
#[inline(always)]
fn bury<A: Abi>(call: &Call<A>, request: &Request) {
    request.head.life.set(Life::FREED.0);
    request.head.freed_by.set(u32::from(call.function().0) + 1);
    request.head.freed_from.set(call.return_address());
}

/// Makes the record reusable: it stays in place for the next request with this handle.
#[inline(always)]
fn give_back<const QUIET: bool>(held: Held<QUIET>, request: &'static Request) {
    facts::request_freed(held, request);
    if !QUIET && request.is(Flag::DISPLACED) {
        held.requests.give(request);
    }
}
