//! What a thread keeps between a function's `before` and its `after`.
//!
//! Calls nest only through user callbacks (generalised requests, error handlers), so there is one scratch for
//! each level of nesting.
#![allow(unsafe_code)]

pub use super::scratch_memory::{Item, Scratch};
use super::state::State;
use crate::interpose::frame::Call;
use crate::interpose::tls::Tls;
use crate::record::local;
use mpi_abi::{Abi, Handle};
use std::ffi::c_void;

impl Scratch {
    /// The number of the operation that this call stands for, given when it is asked for first.
    #[inline(always)]
    pub fn begin<A: Abi>(&mut self, held: &State, call: &Call<A>) -> u64 {
        if !self.is_of(call) {
            self.begun = Self::number(call);
            self.operation = held.next_operation();
        }
        self.operation
    }

    /// Whether this call has asked for its number.
    #[inline(always)]
    pub fn is_of<A: Abi>(&self, call: &Call<A>) -> bool {
        self.begun == Self::number(call)
    }

    /// Which call of the thread it is.
    #[inline(always)]
    fn number<A: Abi>(call: &Call<A>) -> u64 {
        call.thread().call.completed.get() + 1
    }
}

/// The scratch of a call; nothing if too many calls are nested.
#[inline(always)]
#[allow(clippy::mut_from_ref)] // The memory is the thread's, reached through the call that is under way on it.
pub fn of<A: Abi>(call: &Call<A>) -> Option<&mut Scratch> {
    at_level(call.tls(), call.level())
}

/// The scratch of the call at this level of nesting.
#[inline(always)]
#[allow(clippy::mut_from_ref)] // As above.
pub fn at_level(tls: &Tls, level: usize) -> Option<&mut Scratch> {
    let place = local::of(tls)?.traffic.0.get(level)?;
    // SAFETY: the memory belongs to the thread, this level of it to this call, and a hook takes it once.
    Some(unsafe { &mut *place.get() })
}

/// Puts our own status in place of `MPI_STATUS_IGNORE`.
#[inline(always)]
pub fn lend<A: Abi>(scratch: &mut Scratch, status: &mut *mut c_void) {
    if status.addr() == A::STATUS_IGNORE {
        *status = scratch.status.as_mut_ptr().cast();
    }
}

/// Puts `count` statuses of our own in place of `MPI_STATUSES_IGNORE`.
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

/// The status at `index` of an array; null if there is no array.
#[inline(always)]
pub fn nth<A: Abi>(statuses: *const c_void, index: usize) -> *const c_void {
    if statuses.addr() == A::STATUSES_IGNORE {
        return std::ptr::null();
    }
    // Wrapping: the caller only uses statuses that exist.
    statuses.wrapping_byte_add(index * A::STATUS_SIZE)
}

/// A status, or null for `MPI_STATUS_IGNORE`.
#[inline(always)]
pub fn given<A: Abi>(status: *const c_void) -> *const c_void {
    if status.addr() == A::STATUS_IGNORE { std::ptr::null() } else { status }
}

/// The handle that a pointer of the program points to, as the image keeps it; zero for a null pointer.
#[inline(always)]
pub fn pointed<H: Handle>(place: *const H) -> u64 {
    // SAFETY: the standard requires the parameter to point to a handle; null is looked at.
    unsafe { place.as_ref() }.map_or(0, |handle| handle.raw())
}

/// The handle at `index` of an array of the program.
#[inline(always)]
pub fn element<H: Handle>(array: *const H, index: usize) -> u64 {
    if array.is_null() {
        return 0;
    }
    // SAFETY: the caller stays below the length that the program stated.
    unsafe { (*array.add(index)).raw() }
}

/// The int that an output parameter got.
#[inline(always)]
pub fn int(place: *const i32) -> i32 {
    // SAFETY: the standard requires the parameter to point to an int; null is looked at.
    unsafe { place.as_ref() }.map_or(0, |value| *value)
}

/// The int at `index` of an array of the program.
#[inline(always)]
pub fn int_at(array: *const i32, index: usize) -> i32 {
    if array.is_null() {
        return -1;
    }
    // SAFETY: the caller stays below the length that the library stated.
    unsafe { *array.add(index) }
}
