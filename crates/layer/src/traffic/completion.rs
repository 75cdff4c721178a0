//! Hooks of the functions that complete requests: `MPI_Wait`, `MPI_Test` and their families.
//!
//! The library sets the handles of completed requests to null, so they are copied before the call. Functions that
//! return only when all requests are complete look the records up before; the others afterwards, and only
//! those that are complete: a polling loop costs a copy and nothing else. With threads everything is looked up
//! before (see [`super::requests`]).
//!
//! A receive without a status gets one of ours, because nobody would know otherwise what it received. In one
//! case the program can tell: where Open MPI gives the error itself from `MPI_Waitall` with
//! `MPI_STATUSES_IGNORE`, it gives `MPI_ERR_IN_STATUS` now. Both mean that a request has failed.

use super::requests::{complete, finish};
use super::scratch::{self, Item, Scratch, given, lend, lend_many, nth};
use super::state::{self, Held, State, Step, hold};
use super::status;
use crate::call::Call;
use mpi_abi::{Abi, Handle};
use mpiscope_image::objects::Flag;
use mpiscope_image::traffic::{Request, RequestKind};
use std::ffi::{c_int, c_void};

/// Looks a request up before the call, and marks it as waited for.
#[inline(always)]
fn look<const QUIET: bool>(held: Held<QUIET>, handle: u64) -> Item {
    if handle == held.null_request {
        return Item::default();
    }
    let Some(request) = held.requests.find(handle) else { return Item::default() };
    // The mark is for other threads.
    if !QUIET && !request.is(Flag::SHARED_HANDLE) {
        request.head.flags.set(request.head.flags.get() | Flag::WAITED.0);
    }
    Item::Record(request, request.head.uid.get())
}

/// The record of a request that a call was given.
#[inline(always)]
fn resolve(held: &State, item: &Item) -> Option<&'static Request> {
    match *item {
        // A shared handle has one record for many requests, whose uid is that of the newest.
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

/// The operation failed. The library may or may not have freed the request.
#[cold]
fn fail<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
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

/// `MPI_Wait`.
#[inline(always)]
pub fn before_wait<A: Abi>(call: &Call<A>, request: &mut *mut A::Handle, status: &mut *mut c_void) {
    state::with(call, || LookAtOne { handle: scratch::pointed(*request), status });
}

struct LookAtOne<'a> {
    handle: u64,
    status: &'a mut *mut c_void,
}

impl<A: Abi> Step<A> for LookAtOne<'_> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        let item = look(held, self.handle);
        if let Item::Record(request, _) = item
            && needs_status(request)
        {
            lend::<A>(scratch, self.status);
        }
        scratch.single = item;
    }
}

/// `MPI_Wait`.
#[inline(always)]
pub fn after_wait<A: Abi>(call: &Call<A>, result: c_int, request: *mut A::Handle, status: *mut c_void) {
    state::with(call, || Waited { result, request, status });
}

struct Waited<A: Abi> {
    result: c_int,
    request: *mut A::Handle,
    status: *mut c_void,
}

impl<A: Abi> Step<A> for Waited<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        let item = std::mem::take(&mut scratch.single);
        let Some(record) = resolve(&held, &item) else { return };
        let status = given::<A>(self.status);
        if self.result == A::SUCCESS {
            complete(held, call, record, status, A::SUCCESS);
        } else {
            fail(held, &call.aside(), record, scratch::pointed(self.request), status, self.result);
        }
    }
}

/// `MPI_Test`.
#[inline(always)]
pub fn before_test<A: Abi>(
    call: &Call<A>,
    request: &mut *mut A::Handle,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let handle = scratch::pointed(*request);
    scratch.single = if held.is_multiple() { look(*held, handle) } else { Item::Handle(handle) };
    lend::<A>(scratch, status);
}

/// `MPI_Test`.
#[inline(always)]
pub fn after_test<A: Abi>(
    call: &Call<A>,
    result: c_int,
    request: *mut A::Handle,
    flag: *mut c_int,
    status: *mut c_void,
) {
    let Some(scratch) = scratch::of(call) else { return };
    if result == A::SUCCESS && scratch::int(flag) == 0 {
        return forget(&std::mem::take(&mut scratch.single));
    }
    after_wait(call, result, request, status);
}

/// `MPI_Waitall`.
#[inline(always)]
pub fn before_waitall<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    statuses: &mut *mut c_void,
) {
    let (count, array) = (usize::try_from(*count).unwrap_or(0), *array);
    state::with(call, || LookAtAll { count, array, statuses });
}

struct LookAtAll<'a, A: Abi> {
    count: usize,
    array: *const A::Handle,
    statuses: &'a mut *mut c_void,
}

impl<A: Abi> Step<A> for LookAtAll<'_, A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        let mut wanted = false;
        for (index, item) in scratch.items.fresh(self.count).iter_mut().enumerate() {
            *item = look(held, scratch::element(self.array, index));
            wanted |= matches!(item, Item::Record(request, _) if needs_status(request));
        }
        if wanted {
            lend_many::<A>(scratch, self.statuses, self.count);
        }
    }
}

/// `MPI_Waitall`.
#[inline(always)]
pub fn after_waitall<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    statuses: *mut c_void,
) {
    state::with(call, || AllWaited::<A> { result, array, statuses });
}

struct AllWaited<A: Abi> {
    result: c_int,
    array: *const A::Handle,
    statuses: *const c_void,
}

impl<A: Abi> Step<A> for AllWaited<A> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let Some(scratch) = scratch::of(call) else { return };
        if self.result != A::SUCCESS {
            all_failed(held, &call.aside(), scratch, self.result, self.array, self.statuses);
        } else {
            for (index, item) in scratch.items.iter().enumerate() {
                if let Some(request) = resolve(&held, item) {
                    complete(held, call, request, nth::<A>(self.statuses, index), A::SUCCESS);
                }
            }
        }
        scratch.items.clear();
    }
}

/// At least one request of an array has failed.
#[cold]
fn all_failed<A: Abi, const QUIET: bool>(
    held: Held<QUIET>,
    call: &Call<A>,
    scratch: &Scratch,
    result: c_int,
    array: *const A::Handle,
    statuses: *const c_void,
) {
    let each = status::class(result) == A::ERR_IN_STATUS;
    for (index, item) in scratch.items.iter().enumerate() {
        let Some(request) = resolve(&held, item) else { continue };
        let (handle, status) = (scratch::element(array, index), nth::<A>(statuses, index));
        let error = match (each && !status.is_null(), handle == held.null_request) {
            (true, _) => status::error::<A>(status),
            (false, true) => A::SUCCESS,
            (false, false) => result,
        };
        if error == A::SUCCESS {
            complete(held, call, request, status, error);
        } else if status::class(error) != A::ERR_PENDING && each {
            fail(held, call, request, handle, status, error);
        } else {
            forget(item);
        }
    }
}

/// `MPI_Testall`.
#[inline(always)]
pub fn before_testall<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    _: &mut *mut c_int,
    statuses: &mut *mut c_void,
) {
    remember(call, *count, *array, Some(statuses));
}

/// Keeps the handles of an array, or, with threads, their records; and gives the call statuses.
#[inline(always)]
fn remember<A: Abi>(
    call: &Call<A>,
    count: c_int,
    array: *const A::Handle,
    statuses: Option<&mut *mut c_void>,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let count = usize::try_from(count).unwrap_or(0);
    scratch.items.clear();
    scratch.handles.clear();
    if held.is_multiple() {
        for (index, item) in scratch.items.fresh(count).iter_mut().enumerate() {
            *item = look(*held, scratch::element(array, index));
        }
    } else {
        scratch.handles.extend((0..count).map(|index| scratch::element(array, index)));
    }
    if let Some(statuses) = statuses {
        lend_many::<A>(scratch, statuses, count);
    }
}

/// The request at `index` of those that [`remember`] kept.
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

/// Nothing that was kept is needed any longer.
#[inline(always)]
fn drop_all(scratch: &mut Scratch) {
    scratch.items.iter().for_each(forget);
    scratch.items.clear();
    scratch.handles.clear();
}

/// `MPI_Testall`.
#[inline(always)]
pub fn after_testall<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    flag: *mut c_int,
    statuses: *mut c_void,
) {
    if result != A::SUCCESS || scratch::int(flag) != 0 {
        tested(call, result, array, statuses);
    }
    if let Some(scratch) = scratch::of(call) {
        drop_all(scratch);
    }
}

fn tested<A: Abi>(call: &Call<A>, result: c_int, array: *const A::Handle, statuses: *const c_void) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    if result != A::SUCCESS {
        if scratch.items.is_empty() {
            for (item, handle) in scratch.items.fresh(scratch.handles.len()).iter_mut().zip(&scratch.handles)
            {
                *item = Item::Handle(*handle);
            }
        }
        return all_failed(*held, call, scratch, result, array, statuses);
    }
    for index in 0..scratch.items.len().max(scratch.handles.len()) {
        if let Some(request) = recall(&held, scratch, index) {
            complete(*held, call, request, nth::<A>(statuses, index), A::SUCCESS);
        }
    }
}

/// `MPI_Waitany`.
#[inline(always)]
pub fn before_waitany<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    remember(call, *count, *array, None);
    if let Some(scratch) = scratch::of(call) {
        lend::<A>(scratch, status);
    }
}

/// `MPI_Waitany`.
#[inline(always)]
pub fn after_waitany<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    index: *mut c_int,
    status: *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    if let Ok(index) = usize::try_from(scratch::int(index))
        && let Some(request) = recall(&held, scratch, index)
    {
        if result == A::SUCCESS {
            complete(*held, call, request, given::<A>(status), A::SUCCESS);
        } else {
            fail(*held, &call.aside(), request, scratch::element(array, index), given::<A>(status), result);
        }
    }
    drop_all(scratch);
}

/// `MPI_Testany`.
#[inline(always)]
pub fn before_testany<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    index: &mut *mut c_int,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    before_waitany(call, count, array, index, status);
}

/// `MPI_Testany`.
#[inline(always)]
pub fn after_testany<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: c_int,
    array: *mut A::Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS && scratch::int(flag) == 0 {
        if let Some(scratch) = scratch::of(call) {
            drop_all(scratch);
        }
        return;
    }
    after_waitany(call, result, count, array, index, status);
}

/// `MPI_Waitsome`, `MPI_Testsome`.
#[inline(always)]
pub fn before_some<A: Abi>(
    call: &Call<A>,
    count: &mut c_int,
    array: &mut *mut A::Handle,
    _: &mut *mut c_int,
    _: &mut *mut c_int,
    statuses: &mut *mut c_void,
) {
    remember(call, *count, *array, Some(statuses));
}

/// `MPI_Waitsome`, `MPI_Testsome`.
#[inline(always)]
pub fn after_some<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *mut A::Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut c_void,
) {
    let (Some(held), Some(scratch)) = (hold(), scratch::of(call)) else { return };
    let each = result == A::SUCCESS || status::class(result) == A::ERR_IN_STATUS;
    let complete_now = if each { usize::try_from(scratch::int(outcount)).unwrap_or(0) } else { 0 };
    for place in 0..complete_now {
        let Ok(index) = usize::try_from(scratch::int_at(indices, place)) else { continue };
        let Some(request) = recall(&held, scratch, index) else { continue };
        let status = nth::<A>(statuses, place);
        let error =
            if result == A::SUCCESS || status.is_null() { A::SUCCESS } else { status::error::<A>(status) };
        if error == A::SUCCESS {
            complete(*held, call, request, status, error);
        } else {
            fail(*held, &call.aside(), request, scratch::element(array, index), status, error);
        }
    }
    drop_all(scratch);
}

/// `MPI_Request_get_status`.
pub fn before_status<A: Abi>(
    call: &Call<A>,
    _: &mut A::Handle,
    _: &mut *mut c_int,
    status: &mut *mut c_void,
) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        lend::<A>(scratch, status);
    }
}

/// A request is complete, and stays with the program.
fn seen<A: Abi>(held: Held<false>, call: &Call<A>, handle: u64, status: *const c_void) {
    if handle != held.null_request
        && let Some(request) = held.requests.find(handle)
        && request.is(Flag::ACTIVE)
    {
        finish(held, call, request, status, A::SUCCESS);
    }
}

/// `MPI_Request_get_status`: complete, but not freed.
pub fn after_status<A: Abi>(
    call: &Call<A>,
    result: c_int,
    request: A::Handle,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS
        && scratch::int(flag) != 0
        && let Some(held) = hold()
    {
        seen(*held, call, request.raw(), given::<A>(status));
    }
}

/// `MPI_Request_get_status_all`, `_any`, `_some`: `statuses` is an array of `count`, or a single one.
pub fn before_statuses<A: Abi>(call: &Call<A>, count: c_int, statuses: &mut *mut c_void) {
    if let (Some(_), Some(scratch)) = (hold(), scratch::of(call)) {
        lend_many::<A>(scratch, statuses, usize::try_from(count).unwrap_or(0));
    }
}

/// `MPI_Request_get_status_all`.
pub fn after_status_all<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: c_int,
    array: *const A::Handle,
    flag: *mut c_int,
    statuses: *mut c_void,
) {
    if result != A::SUCCESS || scratch::int(flag) == 0 {
        return;
    }
    let Some(held) = hold() else { return };
    for index in 0..usize::try_from(count).unwrap_or(0) {
        seen(*held, call, scratch::element(array, index), nth::<A>(statuses, index));
    }
}

/// `MPI_Request_get_status_any`.
pub fn after_status_any<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *const A::Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut c_void,
) {
    if result == A::SUCCESS
        && scratch::int(flag) != 0
        && let (Ok(index), Some(held)) = (usize::try_from(scratch::int(index)), hold())
    {
        seen(*held, call, scratch::element(array, index), given::<A>(status));
    }
}

/// `MPI_Request_get_status_some`.
pub fn after_status_some<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    array: *const A::Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut c_void,
) {
    let (true, Some(held)) = (result == A::SUCCESS, hold()) else { return };
    for place in 0..usize::try_from(scratch::int(outcount)).unwrap_or(0) {
        if let Ok(index) = usize::try_from(scratch::int_at(indices, place)) {
            seen(*held, call, scratch::element(array, index), nth::<A>(statuses, place));
        }
    }
}
