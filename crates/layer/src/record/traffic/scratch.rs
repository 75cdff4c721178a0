//! A thread's state between a function's `before` and `after` hooks.
//!
//! Calls nest only through user callbacks (generalized requests, error handlers), so there is one scratch per
//! level of nesting.
#![allow(unsafe_code)]

use super::operations::Operations;
pub use super::scratch_memory::{Item, Scratch};
use crate::interpose::frame::Call;
use crate::interpose::tls::Tls;
use crate::record::local;
use mpi_abi::{Abi, Handle};
use std::ffi::c_void;

impl Scratch {
    /// Returns the number of the operation that this call performs, which is assigned on the first request.
    #[inline(always)]
    pub fn begin<A: Abi>(&mut self, operations: &Operations, call: &Call<A>) -> u64 {
        if !self.is_of(call) {
            self.begun = Self::number(call);
            self.operation = operations.next();
        }
        self.operation
    }

    /// Whether this call has been assigned its number.
    #[inline(always)]
    pub fn is_of<A: Abi>(&self, call: &Call<A>) -> bool {
        self.begun == Self::number(call)
    }

    /// Returns the number of the call in its thread.
    #[inline(always)]
    fn number<A: Abi>(call: &Call<A>) -> u64 {
        call.thread().call.completed.get() + 1
    }
}

/// Returns the scratch of a call; `None` if calls are nested too deeply.
#[inline(always)]
#[allow(clippy::mut_from_ref)] // The memory is the thread's, reached through the call that is under way on it.
pub fn of<A: Abi>(call: &Call<A>) -> Option<&mut Scratch> {
    at_level(call.tls(), call.level())
}

/// Returns the scratch of the call at this level of nesting.
#[inline(always)]
#[allow(clippy::mut_from_ref)] // As above.
pub fn at_level(tls: &Tls, level: usize) -> Option<&mut Scratch> {
    let place = local::of(tls)?.traffic.0.get(level)?;
    // SAFETY: the memory belongs to the thread, this level of it to this call, and a hook takes it once.
    Some(unsafe { &mut *place.get() })
}

/// Substitutes our own status for `MPI_STATUS_IGNORE`.
#[inline(always)]
pub fn lend<A: Abi>(scratch: &mut Scratch, status: &mut *mut c_void) {
    if status.addr() == A::STATUS_IGNORE {
        *status = scratch.status.as_mut_ptr().cast();
    }
}

/// Substitutes `count` statuses of our own for `MPI_STATUSES_IGNORE`.
#[inline]
pub fn lend_many<A: Abi>(scratch: &mut Scratch, statuses: &mut *mut c_void, count: usize) {
    if statuses.addr() == A::STATUSES_IGNORE {
        let words = count.saturating_mul(A::STATUS_SIZE).div_ceil(8);
        if scratch.statuses.len() < words {
            scratch.statuses.resize(words, 0);
        }
        *statuses = scratch.statuses.as_mut_ptr().cast();
    }
}

/// Returns the status at `index` of an array; null if there is no array.
#[inline(always)]
pub fn nth<A: Abi>(statuses: *const c_void, index: usize) -> *const c_void {
    if statuses.addr() == A::STATUSES_IGNORE {
        return std::ptr::null();
    }
    // Wrapping: the caller only uses statuses that exist.
    statuses.wrapping_byte_add(index * A::STATUS_SIZE)
}

/// Returns a status, or null for `MPI_STATUS_IGNORE`.
#[inline(always)]
pub fn given<A: Abi>(status: *const c_void) -> *const c_void {
    if status.addr() == A::STATUS_IGNORE { std::ptr::null() } else { status }
}

/// Returns the handle that a pointer of the program points to, as stored in the image; zero for a null
/// pointer.
#[inline(always)]
pub fn pointed<H: Handle>(place: *const H) -> u64 {
    // SAFETY: the standard requires the parameter to point to a handle; null is checked.
    unsafe { place.as_ref() }.map_or(0, |handle| handle.raw())
}

/// Returns the handle at `index` of an array of the program.
#[inline(always)]
pub fn element<H: Handle>(array: *const H, index: usize) -> u64 {
    if array.is_null() {
        return 0;
    }
    // SAFETY: the caller stays below the length that the program passed.
    unsafe { (*array.add(index)).raw() }
}

/// Returns the int stored in an output parameter.
#[inline(always)]
pub fn int(place: *const i32) -> i32 {
    // SAFETY: the standard requires the parameter to point to an int; null is checked.
    unsafe { place.as_ref() }.map_or(0, |value| *value)
}

/// Returns the int at `index` of an array of the program.
#[inline(always)]
pub fn int_at(array: *const i32, index: usize) -> i32 {
    if array.is_null() {
        return -1;
    }
    // SAFETY: the caller stays below the length that the library returned.
    unsafe { *array.add(index) }
}
