//! What a thread keeps between a function's `before` and its `after`.
//!
//! Calls nest only through user callbacks (generalised requests, error handlers), so there is one scratch for
//! each level of nesting.
#![allow(unsafe_code)]

use super::lines::Channel;
use super::state::State;
use super::status;
use crate::interpose::frame::Call;
use crate::record::threads;
use mpi_abi::{Abi, Handle};
use mpiscope_image::history::Entered;
use mpiscope_image::traffic::{Message, Request};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::Deref;

/// Levels of nesting that are followed.
const LEVELS: usize = 4;

/// A request that a call was given: its handle may be gone when the call returns.
#[derive(Clone, Copy)]
pub enum Item {
    /// To be looked up after the call, by its handle; zero if there is nothing to look up.
    Handle(u64),
    /// The record, looked up before the call, and its uid then.
    Record(&'static Request, u64),
}

impl Default for Item {
    fn default() -> Self {
        Self::Handle(0)
    }
}

/// The requests of a call: memory that only grows, and how much of it is used.
#[derive(Default)]
pub struct Items {
    memory: Vec<Item>,
    used: usize,
}

impl Items {
    /// Room for as many, to be written over: what stands there is left of earlier calls.
    #[inline(always)]
    pub fn fresh(&mut self, count: usize) -> &mut [Item] {
        if count > self.memory.len() {
            self.grow(count);
        }
        self.used = count;
        self.memory.get_mut(..count).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.memory.resize(count, Item::default());
    }

    /// None are left.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl Deref for Items {
    type Target = [Item];

    #[inline(always)]
    fn deref(&self) -> &[Item] {
        self.memory.get(..self.used).unwrap_or_default()
    }
}

/// One level.
#[derive(Default)]
pub struct Scratch {
    /// The request of a call that has one.
    pub single: Item,
    /// That is none: `MPI_Test` says at once that it is complete.
    pub tests_nothing: bool,
    /// Requests of a call that looks all of them up before.
    pub items: Items,
    /// Requests of a call that looks up afterwards which of them are complete: their handles.
    pub handles: Vec<u64>,
    /// Statuses that were lent to the call.
    pub statuses: Vec<u64>,
    /// A single status.
    pub status: status::Memory,
    /// The send of a blocking call: its entry in the ring plus one, and whether it was counted at all.
    pub entry: u64,
    #[allow(missing_docs)]
    pub sending: bool,
    #[allow(missing_docs)]
    pub send_bytes: u64,
    /// The receive of a blocking call: place among the receives posted; zero for none.
    pub order: u64,
    /// The communicator of a blocking call.
    pub channel: Channel,
    /// The message of a matched receive.
    pub message: Option<&'static Message>,
    /// The record of a collective call on a window or file.
    pub entered: Option<&'static Entered>,
    /// Number of the operation of a blocking call or a collective.
    pub operation: u64,
    /// Which call of the thread that is: both halves of a send and receive are one operation.
    begun: u64,
}

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

/// The scratches of a thread.
#[derive(Default)]
pub struct Stack([UnsafeCell<Scratch>; LEVELS]);

/// The scratch of a call; nothing if too many calls are nested.
#[inline(always)]
#[allow(clippy::mut_from_ref)] // The memory is the thread's, reached through the call that is under way on it.
pub fn of<A: Abi>(call: &Call<A>) -> Option<&mut Scratch> {
    let place = threads::local(call.tls())?.traffic.0.get(call.level())?;
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
