//! One request: `MPI_Wait`, `MPI_Test`.

use super::{asked, fail, forget, look, needs_status, resolve, waited_for_nothing, was_inactive};
use crate::interpose::frame::Call;
use crate::record::traffic::requests::complete;
use crate::record::traffic::scratch::{self, Item, given, lend};
use crate::record::traffic::state::{self, Held, Step, hold};
use mpi_abi::Abi;
use std::ffi::{c_int, c_void};

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
        let Some(record) = resolve(&held, &item) else {
            return waited_for_nothing(&call.aside(), self.result);
        };
        if was_inactive(record) {
            waited_for_nothing(&call.aside(), self.result);
        }
        let status = given::<A>(self.status);
        if self.result == A::SUCCESS {
            complete(held, call, record, status, A::SUCCESS);
        } else {
            fail(held.as_any(), &call.aside(), record, scratch::pointed(self.request), status, self.result);
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
    scratch.tests_nothing = handle == held.null_request;
    scratch.single = if held.is_multiple() {
        look(*held, handle)
    } else {
        asked(&held, handle);
        Item::Handle(handle)
    };
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
