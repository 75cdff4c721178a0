//! Memory that is handed to the debugger.
//!
//! One block per structure or array, all from the debugger's own allocator. Until the answer is complete they belong to a
//! [`Allocations`], which gives all of them back when it is dropped: a query that fails half-way leaves nothing behind.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use super::basic;
use mpiscope_debug_interfaces::mqs::BasicCallbacks;

/// The debugger has no memory for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory;

/// Allocations of an answer that is not complete yet.
pub struct Allocations {
    basic: BasicCallbacks,
    held: Vec<*mut c_void>,
}

impl Allocations {
    /// Begins an answer. None before the debugger has given its callbacks.
    pub fn new() -> Option<Self> {
        let basic = basic()?;
        (basic.malloc.is_some() && basic.free.is_some()).then(|| Self { basic, held: Vec::new() })
    }

    fn bytes(&mut self, size: usize) -> Result<*mut c_void, NoMemory> {
        let malloc = self.basic.malloc.ok_or(NoMemory)?;
        // SAFETY: the debugger's allocator; any size may be asked for.
        let block = unsafe { malloc(size) };
        if block.is_null() {
            return Err(NoMemory);
        }
        self.held.push(block);
        Ok(block)
    }

    /// A copy of a value in a block of its own.
    pub fn one<T: Copy>(&mut self, value: &T) -> Result<*mut T, NoMemory> {
        let block = self.bytes(size_of::<T>())?.cast::<T>();
        // SAFETY: the block has room for one `T`; its alignment is left to the debugger.
        unsafe { block.write_unaligned(*value) };
        Ok(block)
    }

    /// A copy of an array in a block of its own; null for an empty one.
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

    /// As [`Allocations::array`], with the length, as the lists of the extended interface have it.
    pub fn list<T: Copy, L: From<(u64, *mut T)>>(&mut self, values: &[T]) -> Result<L, NoMemory> {
        Ok(L::from((values.len() as u64, self.array(values)?)))
    }

    /// An array whose elements point to texts, in one block: the array first, then the texts. `element` is given the
    /// addresses of the texts of one element, in order.
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
                // SAFETY: `at` and the text with its zero lie within the block, by the sums above.
                unsafe {
                    *place = block.cast::<c_char>().add(at);
                    std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast::<u8>(), text.len());
                    place.add(text.len()).write(0);
                }
                at += text.len() + 1;
            }
            let value = element(i, places);
            // SAFETY: element `i` lies in the head of the block.
            unsafe { block.cast::<T>().add(i).write_unaligned(value) };
        }
        Ok(block.cast())
    }

    /// The answer is complete: from here on the blocks are the debugger's.
    pub fn hand_over(mut self) {
        self.held.clear();
    }
}

impl Drop for Allocations {
    fn drop(&mut self) {
        if let Some(free) = self.basic.free {
            for block in self.held.drain(..) {
                // SAFETY: from the debugger's allocator, and nobody else knows of it.
                unsafe { free(block) };
            }
        }
    }
}
