//! Calls that a library makes for the program: *call paths* of two places.
//!
//! A program that calls MPI by way of a library (PETSc, HDF5, one of its own) has two places for a call: where the library calls
//! MPI, and where the user's code calls the library. Both are wanted, and whatever refers to the place of a call has room for one
//! address. So the pair is a record, and an address that no code can have stands for it.

use crate::cell::W64;
use crate::layout::SectionKind;
use crate::{Image, Source};
use std::mem::size_of;

/// Where the addresses begin that stand for call paths: above those of code, below those of source lines.
const PATHS: u64 = 1 << 62;
/// From one to the next.
const STEP: u64 = 16;
/// How many there can be.
pub const MOST: u64 = 1 << 20;

/// One pair of places.
#[repr(C)]
#[derive(Debug, Default)]
pub struct CallPath {
    /// The address behind the call of MPI in the library. Written last: a record where it is zero is not there yet.
    pub site: W64,
    /// The address behind the call in the user's code by which the library came to run, or what stands for its
    /// [source line](crate::layout::source_line).
    pub caller: W64,
}

const _: () = assert!(size_of::<CallPath>() == 16);

/// What stands for the path with this index.
pub const fn address(index: u64) -> u64 {
    PATHS + (index + 1) * STEP
}

/// The index of the path that an address stands for; nothing for any other address.
pub const fn index(address: u64) -> Option<u64> {
    match address.checked_sub(PATHS) {
        Some(behind) if behind >= STEP && behind <= MOST * STEP && behind % STEP == 0 => {
            Some(behind / STEP - 1)
        }
        _ => None,
    }
}

/// The address of code that an address of a call is or stands for: behind the call of MPI. Zero for a path that the image does not
/// have.
pub fn code<S: Source>(image: &Image<S>, address: u64) -> u64 {
    let Some(index) = index(address) else { return address };
    let path = image
        .table::<CallPath>(SectionKind::CALL_PATHS)
        .and_then(|table| image.get::<CallPath>(&table, index));
    path.map_or(0, |path| path.value.site.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{source_line, source_start};

    #[test]
    fn what_stands_for_a_path_is_neither_code_nor_a_source_line() {
        for at in [0, 1, MOST - 1] {
            assert_eq!(index(address(at)), Some(at));
            assert_eq!(source_line(address(at)), None);
        }
        let others = [0, 0x7fff_ffff_f000, PATHS, PATHS + 8, address(MOST), source_start(0), u64::MAX];
        assert!(others.iter().all(|other| index(*other).is_none()));
    }
}
