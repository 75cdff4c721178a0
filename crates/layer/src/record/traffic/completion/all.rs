//! All requests of an array: `MPI_Waitall`, `MPI_Testall`.

use super::{drop_all, fail, forget, look, needs_status, publish, recall, remember, resolve};
use super::{waited_for_nothing, was_inactive};
use crate::interpose::frame::Call;
use crate::record::traffic::requests::complete;
use crate::record::traffic::scratch::{self, Item, Scratch, lend_many, nth};
use crate::record::traffic::state::{self, Held, Step, hold};
use crate::record::traffic::status;
use mpi_abi::Abi;
use std::ffi::{c_int, c_void};

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
        publish(call, held.null_request, self.count, self.array);
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
            all_failed(held.as_any(), &call.aside(), scratch, self.result, self.array, self.statuses);
        } else {
            let mut nothing = true;
            for (index, item) in scratch.items.iter().enumerate() {
                if let Some(request) = resolve(&held, item) {
                    nothing &= was_inactive(request);
                    complete(held, call, request, nth::<A>(self.statuses, index), A::SUCCESS);
                }
            }
            if nothing {
                waited_for_nothing(&call.aside(), self.result);
            }
        }
        scratch.items.clear();
    }
}

/// At least one request of an array has failed.
#[cold]
fn all_failed<A: Abi>(
    held: Held<false>,
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
