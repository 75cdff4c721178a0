//! Element counts in the arguments of a call: `int`, or `MPI_Count` in large-count variants.
#![allow(unsafe_code)]

use mpi_abi::{Flags, FunctionId};
use std::ffi::{c_int, c_void};

/// A count, or an element of an array of counts.
pub trait Count: Copy {
    /// Returns the count.
    fn count(self) -> i64;
}

impl Count for c_int {
    fn count(self) -> i64 {
        i64::from(self)
    }
}

impl Count for i64 {
    fn count(self) -> i64 {
        self
    }
}

/// The width of a call's counts, for hooks that a function shares with its large-count variant.
#[derive(Clone, Copy)]
pub struct Width {
    large: bool,
}

impl Width {
    /// Returns the width for calls of `function`.
    #[inline(always)]
    pub fn of(function: FunctionId) -> Self {
        Self { large: function.properties().flags.has(Flags::C) }
    }

    /// Extracts the count from a register or stack word, whose upper half is undefined for an `int`.
    #[inline(always)]
    pub fn count(self, word: i64) -> i64 {
        if self.large { word } else { i64::from(word as c_int) }
    }

    /// Returns the array of counts that begins at `first`.
    #[inline(always)]
    pub fn counts(self, first: *const c_void) -> Counts {
        Counts { first, large: self.large }
    }
}

/// An array of counts.
#[derive(Clone, Copy)]
pub struct Counts {
    first: *const c_void,
    large: bool,
}

impl<C: Count> From<*const C> for Counts {
    #[inline(always)]
    fn from(first: *const C) -> Self {
        Self { first: first.cast(), large: size_of::<C>() == size_of::<i64>() }
    }
}

impl Counts {
    /// Packs the array into one word, using the lowest bit of the aligned address: what a hook passes on must
    /// be small, since there are many.
    #[inline(always)]
    pub fn packed(self) -> *const c_void {
        self.first.map_addr(|address| address | usize::from(self.large))
    }

    /// Reverses [`packed`](Self::packed).
    pub fn unpacked(word: *const c_void) -> Self {
        // Null stays null.
        Self { first: word.map_addr(|address| address & !1), large: word.addr() & 1 != 0 }
    }

    /// Whether the pointer is null.
    pub fn is_null(self) -> bool {
        self.first.is_null()
    }

    /// Whether the pointer can be an array: some ABIs use small numbers as special values.
    pub fn is_plausible(self) -> bool {
        plausible(self.first)
    }

    /// Returns the element at index `at`.
    ///
    /// # Safety
    ///
    /// The array has that many elements.
    pub unsafe fn get(self, at: usize) -> i64 {
        if self.large {
            // SAFETY: the caller's promise.
            unsafe { self.first.cast::<i64>().add(at).read_unaligned() }
        } else {
            // SAFETY: the caller's promise.
            i64::from(unsafe { self.first.cast::<c_int>().add(at).read_unaligned() })
        }
    }
}

/// Whether a pointer can be an address: some ABIs use small numbers as special values.
pub fn plausible(pointer: *const c_void) -> bool {
    pointer.addr() > 4096 && pointer.addr().is_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::{Counts, Width};
    use mpi_abi::f;

    #[test]
    fn the_upper_half_of_an_int_argument_is_ignored() {
        let word = (7 << 32) | i64::from(u32::MAX);
        assert_eq!(Width::of(f::MPI_Scan).count(word), -1);
        assert_eq!(Width::of(f::MPI_Scan_c).count(word), word);
    }

    #[test]
    fn an_array_has_the_width_of_the_function_even_when_packed() {
        let (small, large) = ([1i32, -2, 3], [1i64, -2, 1 << 40]);
        let of = |function, first| Width::of(function).counts(first);
        for (counts, last) in [
            (of(f::MPI_Allgatherv, small.as_ptr().cast()), 3),
            (of(f::MPI_Allgatherv_c, large.as_ptr().cast()), 1 << 40),
            (Counts::from(small.as_ptr()), 3),
            (Counts::from(large.as_ptr()), 1 << 40),
        ] {
            let packed = Counts::unpacked(counts.packed());
            // SAFETY: both arrays have three elements.
            let elements = unsafe { [packed.get(0), packed.get(1), counts.get(2)] };
            assert_eq!(elements, [1, -2, last]);
            assert!(counts.is_plausible() && !counts.is_null());
        }
    }
}
