//! Memory handed to the debugger.
//!
//! There is one block per structure or array, all from the debugger's own allocator. Until the answer is
//! complete they belong to an [`Allocations`], which frees all of them when it is dropped: a query that fails
//! half-way leaks nothing.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use super::basic;
use mpiscope_debug_interfaces::mqs::BasicCallbacks;

/// The debugger has no memory for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory;

/// The allocations of an unfinished answer.
pub struct Allocations {
    basic: BasicCallbacks,
    held: Vec<*mut c_void>,
}

impl Allocations {
    /// Starts an answer. `None` before the debugger has passed its callbacks.
    pub fn new() -> Option<Self> {
        let basic = basic()?;
        (basic.malloc.is_some() && basic.free.is_some()).then(|| Self { basic, held: Vec::new() })
    }

    fn bytes(&mut self, size: usize) -> Result<*mut c_void, NoMemory> {
        let malloc = self.basic.malloc.ok_or(NoMemory)?;
        // SAFETY: the debugger's allocator; any size may be requested.
        let block = unsafe { malloc(size) };
        if block.is_null() {
            return Err(NoMemory);
        }
        self.held.push(block);
        Ok(block)
    }

    /// Copies a value to a new block.
    pub fn one<T: Copy>(&mut self, value: &T) -> Result<*mut T, NoMemory> {
        let block = self.bytes(size_of::<T>())?.cast::<T>();
        // SAFETY: the block has room for one `T`; its alignment is left to the debugger.
        unsafe { block.write_unaligned(*value) };
        Ok(block)
    }

    /// Copies an array to a new block; null for an empty one.
    pub fn array<T: Copy>(&mut self, values: &[T]) -> Result<*mut T, NoMemory> {
        if values.is_empty() {
            return Ok(std::ptr::null_mut());
        }
        let block = self.bytes(size_of_val(values))?;
        // SAFETY: the block has room for all bytes of the array, and is not part of it.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), block.cast(), size_of_val(values));
        }
        Ok(block.cast())
    }

    /// Like [`Allocations::array`], with the length, for the lists of the extended interface.
    pub fn list<T: Copy, L: From<(u64, *mut T)>>(&mut self, values: &[T]) -> Result<L, NoMemory> {
        Ok(L::from((values.len() as u64, self.array(values)?)))
    }

    /// Creates an array whose elements point to texts, in one block: the array first, then the texts.
    /// `element` gets the addresses of the texts of one element, in order.
    pub fn with_texts<T: Copy, const N: usize>(
        &mut self,
        texts: &[[&str; N]],
        mut element: impl FnMut(usize, [*mut c_char; N]) -> T,
    ) -> Result<*mut T, NoMemory> {
        if texts.is_empty() {
            return Ok(std::ptr::null_mut());
        }
        let head = size_of::<T>().checked_mul(texts.len()).ok_or(NoMemory)?;
        let tail =
            texts.iter().flatten().try_fold(0usize, |sum, text| sum.checked_add(text.len())?.checked_add(1));
        let block = self.bytes(tail.and_then(|tail| tail.checked_add(head)).ok_or(NoMemory)?)?;
        let mut at = head;
        for (i, group) in texts.iter().enumerate() {
            let mut places = [std::ptr::null_mut(); N];
            for (place, text) in places.iter_mut().zip(group) {
                // SAFETY: `at` and the text with its terminator are within the block, by the sums above.
                unsafe {
                    *place = block.cast::<c_char>().add(at);
                    std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast::<u8>(), text.len());
                    place.add(text.len()).write(0);
                }
                at += text.len() + 1;
            }
            let value = element(i, places);
            // SAFETY: element `i` is in the head of the block.
            unsafe { block.cast::<T>().add(i).write_unaligned(value) };
        }
        Ok(block.cast())
    }

    /// Completes the answer: from now on the blocks belong to the debugger.
    pub fn hand_over(mut self) {
        self.held.clear();
    }
}

impl Drop for Allocations {
    fn drop(&mut self) {
        if let Some(free) = self.basic.free {
            for block in self.held.drain(..) {
                // SAFETY: from the debugger's allocator, and there are no other references to it.
                unsafe { free(block) };
            }
        }
    }
}
