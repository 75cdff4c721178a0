//! Hooks of the functions that complete requests: `MPI_Wait`, `MPI_Test` and their families.
//!
//! The library sets the handles of completed requests to null, so they are copied before the call. Functions
//! that return only when all requests are complete look up the records before the call; the others
//! afterward, and only those of complete requests: a polling loop costs a copy and nothing else. With
//! threads everything is looked up before (see [`super::requests`]).
//!
//! A receive without a status is given one of ours, since what it received could not be known otherwise.
//! There is one case in which the program can notice: where Open MPI returns the error itself from
//! `MPI_Waitall` with `MPI_STATUSES_IGNORE`, it now returns `MPI_ERR_IN_STATUS`. Both mean that a request has
//! failed.

mod all;
mod any;
mod one;
mod status;

pub use all::*;
pub use any::*;
pub use one::*;
pub use status::*;

use super::contents;
use super::polling;
use super::requests::{complete, finish};
use super::scratch::{self, Item, Scratch, lend_many};
use super::state::{Held, State, hold};
use crate::interpose::frame::Call;
use mpi_abi::{Abi, Flags};
use mpiscope_image::objects::Flag;
use mpiscope_image::traffic::{Request, RequestKind};
use std::ffi::{c_int, c_void};

/// Looks up a request before the call, and marks it as waited for.
#[inline(always)]
fn look<const QUIET: bool>(held: Held<QUIET>, handle: u64) -> Item {
    if handle == held.null_request {
        return Item::default();
    }
    let Some(request) = held.requests.find(handle) else { return Item::default() };
    if !QUIET && contents::recorded() {
        held.watched.asked(request);
    }
    // The mark is for other threads.
    if !QUIET && !request.is(Flag::SHARED_HANDLE) {
        request.head.flags.set(request.head.flags.get() | Flag::WAITED.0);
    }
    Item::Record(request, request.head.uid.get())
}

/// A call asks about a request that it does not [look up](look): the contents of its buffer are compared.
#[inline(always)]
fn asked(held: &State, handle: u64) {
    if contents::recorded()
        && handle != held.null_request
        && let Some(request) = held.requests.find(handle)
    {
        held.watched.asked(request);
    }
}

/// Records a call that was given no active request. Polling functions are [recorded](polling::asked) anyway.
#[cold]
#[inline(never)]
fn waited_for_nothing<A: Abi>(call: &Call<A>, result: c_int) {
    if !call.function().properties().flags.has(Flags::POLLING) {
        polling::asked(call, result, 0);
    }
}

/// Whether a request is persistent and was not under way when the call was made.
#[inline(always)]
fn was_inactive(request: &Request) -> bool {
    const BOTH: u32 = Flag::PERSISTENT.0 | Flag::ACTIVE.0;
    request.head.flags.get() & BOTH == Flag::PERSISTENT.0
}

/// Returns the record of a request that was passed to a call.
#[inline(always)]
fn resolve(held: &State, item: &Item) -> Option<&'static Request> {
    match *item {
        // A shared handle has one record for many requests, with the uid of the newest.
        Item::Record(request, uid) => {
            (request.head.uid.get() == uid || request.is(Flag::SHARED_HANDLE)).then_some(request)
        }
        Item::Handle(handle) if handle == 0 || handle == held.null_request => None,
        Item::Handle(handle) => held.requests.find(handle),
    }
}

/// The call returned without completing the request.
fn forget(item: &Item) {
    if let Item::Record(request, uid) = *item
        && request.head.uid.get() == uid
        && request.is(Flag::WAITED)
    {
        request.head.flags.set(request.head.flags.get() & !Flag::WAITED.0);
    }
}

#[inline(always)]
fn needs_status(request: &Request) -> bool {
    RequestKind(request.kind.get()).receives() || request.is(Flag::CANCELLED)
}

/// Handles a failed operation. The library may or may not have freed the request.
#[cold]
fn fail<A: Abi>(
    held: Held<false>,
    call: &Call<A>,
    request: &'static Request,
    handle: u64,
    status: *const c_void,
    error: c_int,
) {
    if handle == held.null_request || request.is(Flag::PERSISTENT) {
        complete(held, call, request, status, error);
    } else if request.is(Flag::ACTIVE) {
        finish(held, call, request, status, error);
    }
}

/// Publishes what the call waits for, for readers of the image: without accessing the records, so that it
/// costs one store each.
#[inline(always)]
fn publish<A: Abi>(call: &Call<A>, null: u64, count: usize, array: *const A::Handle) {
    for (index, place) in call.thread().waited.iter().enumerate().take(count) {
        let handle = scratch::element(array, index);
        place.set(if handle == null { 0 } else { handle });
    }
}

/// Saves the handles of an array or, with threads, their records; and lends statuses to the call.
#[inline(always)]
fn remember<A: Abi>(
    call: &Call<A>,
    count: c_int,
    array: *const A::Handle,
    statuses: Option<&mut *mut c_void>,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let count = usize::try_from(count).unwrap_or(0);
    publish(call, held.null_request, count, array);
    scratch.items.clear();
    scratch.handles.clear();
    if held.is_multiple() {
        for (index, item) in scratch.items.fresh(count).iter_mut().enumerate() {
            *item = look(*held, scratch::element(array, index));
        }
    } else {
        scratch.handles.extend((0..count).map(|index| scratch::element(array, index)));
        scratch.handles.iter().for_each(|handle| asked(&held, *handle));
    }
    if let Some(statuses) = statuses {
        lend_many::<A>(scratch, statuses, count);
    }
}

/// Returns the request at `index` of those saved by [`remember`].
#[inline(always)]
fn recall(held: &State, scratch: &Scratch, index: usize) -> Option<&'static Request> {
    match scratch.items.get(index) {
        Some(item) => resolve(held, item),
        None => {
            let handle = *scratch.handles.get(index)?;
            if handle == held.null_request { None } else { held.requests.find(handle) }
        }
    }
}

/// Discards everything that was saved.
#[inline(always)]
fn drop_all(scratch: &mut Scratch) {
    scratch.items.iter().for_each(forget);
    scratch.items.clear();
    scratch.handles.clear();
}
