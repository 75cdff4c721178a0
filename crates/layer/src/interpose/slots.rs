//! The slots, two for each function, and the tables of addresses with the same numbering.
#![allow(unsafe_code)]

use mpi_abi::COUNT;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of slots: two for each function, `MPI_X` and `PMPI_X`.
pub const SLOTS: usize = 2 * COUNT;

/// A table of code addresses that assembly code reads.
#[repr(transparent)]
pub struct Slots<const N: usize>(UnsafeCell<[usize; N]>);

// SAFETY: all accesses from Rust go through `load` and `store`, which are atomic.
unsafe impl<const N: usize> Sync for Slots<N> {}

impl<const N: usize> Slots<N> {
    /// A table of zeros.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([0; N]))
    }

    fn cell(&self, index: usize) -> Option<&AtomicUsize> {
        // SAFETY: in bounds (checked), aligned, and only ever accessed atomically from Rust.
        (index < N).then(|| unsafe { &*self.0.get().cast::<AtomicUsize>().add(index) })
    }

    /// The value of a slot; 0 if `index` is out of bounds.
    #[inline(always)]
    pub fn load(&self, index: usize) -> usize {
        self.cell(index).map_or(0, |c| c.load(Ordering::Acquire))
    }

    /// The value of a slot, without a bounds check.
    ///
    /// # Safety
    ///
    /// `index` must be less than `N`.
    #[inline(always)]
    pub unsafe fn load_within(&self, index: usize) -> usize {
        // SAFETY: as in `cell`; in bounds by the caller's contract.
        unsafe { &*self.0.get().cast::<AtomicUsize>().add(index) }.load(Ordering::Acquire)
    }

    /// Sets a slot.
    pub fn store(&self, index: usize, value: usize) {
        if let Some(cell) = self.cell(index) {
            cell.store(value, Ordering::Release);
        }
    }
}

/// The real functions, by slot.
pub static REAL: Slots<SLOTS> = Slots::new();
/// The hooks of the ABI, by function.
pub static HOOK: Slots<COUNT> = Slots::new();
