//! Calls that a library makes for the program: *call paths*, each a pair of places.
//!
//! If a program calls MPI through a library (PETSc, HDF5, one of its own), a call has two places: where the
//! library calls MPI, and where the user's code calls the library. Both are needed, but everything that
//! refers to the place of a call has room for only one address. So the pair is stored as a record,
//! represented by an address that no code can have.

use crate::cell::W64;
use crate::layout::SectionKind;
use crate::{Image, Source};
use std::mem::size_of;

/// Start of the addresses that represent call paths: above those of code, below those of source lines.
const PATHS: u64 = 1 << 62;
/// Distance between two such addresses.
const STEP: u64 = 16;
/// Maximum number of call paths.
pub const MOST: u64 = 1 << 20;

/// A pair of places.
#[repr(C)]
#[derive(Debug, Default)]
pub struct CallPath {
    /// The return address of the MPI call in the library. Written last: a record in which it is zero does not
    /// exist yet.
    pub site: W64,
    /// The return address of the call in the user's code that led into the library, or the address that
    /// represents its [source line](crate::layout::source_line).
    pub caller: W64,
}

const _: () = assert!(size_of::<CallPath>() == 16);

/// The address that represents the path with this index.
pub const fn address(index: u64) -> u64 {
    PATHS + (index + 1) * STEP
}

/// The index of the path that an address represents; `None` for any other address.
pub const fn index(address: u64) -> Option<u64> {
    match address.checked_sub(PATHS) {
        Some(behind) if behind >= STEP && behind <= MOST * STEP && behind % STEP == 0 => {
            Some(behind / STEP - 1)
        }
        _ => None,
    }
}

/// The code address of a call's place: for a call path, the return address of the MPI call. Zero for a path
/// that is not in the image.
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
    fn the_address_of_a_call_path_is_neither_code_nor_a_source_line() {
        for at in [0, 1, MOST - 1] {
            assert_eq!(index(address(at)), Some(at));
            assert_eq!(source_line(address(at)), None);
        }
        let others = [0, 0x7fff_ffff_f000, PATHS, PATHS + 8, address(MOST), source_start(0), u64::MAX];
        assert!(others.iter().all(|other| index(*other).is_none()));
    }
}
