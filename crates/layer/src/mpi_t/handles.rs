//! MPI object handles as this interface passes them: datatypes, enumerations, objects to bind to.
#![allow(unsafe_code)]

use crate::interpose::real;
use mpi_abi::{AbiKind, Mpich, OpenMpi, Standard};
use mpit::{Bind, Datatype};
use std::ffi::c_void;
use std::sync::OnceLock;

/// Runs generic code for the ABI that was found, or for the standard's while there is none.
macro_rules! with_abi {
    ($function:ident ( $($argument:expr),* )) => {
        match $crate::interpose::resolver::abi() {
            Some(AbiKind::MPICH) => $function::<Mpich>($($argument),*),
            Some(AbiKind::OPENMPI) => $function::<OpenMpi>($($argument),*),
            _ => $function::<Standard>($($argument),*),
        }
    };
}
pub(super) use with_abi;

/// Names of the datatypes, indexed by the engine's number.
const DATATYPES: [&str; 11] = [
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_UNSIGNED_LONG",
    "MPI_UNSIGNED_LONG_LONG",
    "MPI_COUNT",
    "MPI_CHAR",
    "MPI_DOUBLE",
    "MPI_INT32_T",
    "MPI_INT64_T",
    "MPI_UINT32_T",
    "MPI_UINT64_T",
];

/// Other datatypes that libraries use for their variables.
const FOREIGN: [&str; 5] =
    ["MPI_C_BOOL", "MPI_LONG", "MPI_LONG_LONG", "MPI_LONG_LONG_INT", "MPI_UNSIGNED_CHAR"];

/// Handles of the datatypes: those of the interface, then the others.
fn table() -> &'static (Vec<u64>, Vec<u64>) {
    static TABLE: OnceLock<(Vec<u64>, Vec<u64>)> = OnceLock::new();
    TABLE.get_or_init(|| {
        let handles = |names: &[&str]| names.iter().map(|name| predefined(name)).collect();
        (handles(&DATATYPES), handles(&FOREIGN))
    })
}

/// Looks up a predefined handle by name; `u64::MAX` if the library lacks it.
pub fn predefined(name: &str) -> u64 {
    fn get<A: mpi_abi::Abi>(name: &str) -> u64 {
        real::predefined::<A>(name).map_or(u64::MAX, mpi_abi::Handle::raw)
    }
    with_abi!(get(name))
}

/// The handle of one of the interface's datatypes.
pub fn datatype(datatype: Datatype) -> u64 {
    table().0.get(datatype.0 as usize).copied().unwrap_or(0)
}

/// Conversion of values of a library's datatype to one that the interface allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Widening {
    /// Unchanged.
    None,
    /// From a byte to an `int`.
    Byte,
}

/// Maps a library's datatype to one of the interface; `None` if the interface cannot represent it.
pub fn datatype_of(handle: u64) -> Option<(Datatype, Widening)> {
    let (own, foreign) = table();
    if let Some(at) = own.iter().position(|h| *h == handle) {
        return Some((Datatype(at as u32), Widening::None));
    }
    match foreign.iter().position(|h| *h == handle)? {
        0 | 4 => Some((Datatype::INT, Widening::Byte)),
        _ => Some((Datatype::INT64_T, Widening::None)),
    }
}

/// Size in bytes of the handle of an object of this kind: in MPICH's ABI all but files are `int`s.
fn size(bind: Bind) -> usize {
    if crate::interpose::resolver::abi() == Some(AbiKind::MPICH) && bind != Bind::MPI_FILE { 4 } else { 8 }
}

/// Stores a handle other than a file's.
///
/// # Safety
///
/// `to` must be null or have room for a handle.
pub unsafe fn put(to: *mut c_void, handle: u64) {
    if to.is_null() {
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        match size(Bind::NO_OBJECT) {
            4 => to.cast::<u32>().write_unaligned(handle as u32),
            _ => to.cast::<u64>().write_unaligned(handle),
        }
    }
}

/// Stores a handle other than a file's in an array.
///
/// # Safety
///
/// `to` must have more than `at` elements.
pub unsafe fn put_nth(to: *mut c_void, at: usize, handle: u64) {
    // SAFETY: the caller's contract.
    unsafe { put(to.byte_add(at * size(Bind::NO_OBJECT)), handle) };
}

/// Reads an element of an array of handles other than files'.
///
/// # Safety
///
/// `from` must have more than `at` elements.
pub unsafe fn nth(from: *const c_void, at: usize) -> u64 {
    let size = size(Bind::NO_OBJECT);
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            4 => u64::from(from.byte_add(at * size).cast::<u32>().read_unaligned()),
            _ => from.byte_add(at * size).cast::<u64>().read_unaligned(),
        }
    }
}

/// Reads the handle in the caller's variable; 0 for a null pointer.
///
/// # Safety
///
/// `from` must be null or point to a handle of this kind.
pub unsafe fn object(from: *const c_void, bind: Bind) -> u64 {
    if from.is_null() || bind == Bind::NO_OBJECT {
        return 0;
    }
    // SAFETY: the caller's contract.
    unsafe {
        match size(bind) {
            4 => u64::from(from.cast::<u32>().read_unaligned()),
            _ => from.cast::<u64>().read_unaligned(),
        }
    }
}

/// High byte of enumeration handles, different from those of the engine's words.
const ENUMERATION: u64 = 0xA6 << 56;

/// The handle of an enumeration; `MPI_T_ENUM_NULL` for `None`.
pub fn enumeration(index: Option<usize>) -> u64 {
    index.map_or(0, |index| ENUMERATION | index as u64)
}

/// The index of an enumeration, if the word has the form of an enumeration handle.
pub fn enumeration_of(word: u64) -> Option<usize> {
    (word >> 56 == ENUMERATION >> 56).then_some((word & !ENUMERATION) as usize)
}

/// The value of `MPI_T_PVAR_ALL_HANDLES` in the program: a constant, or in MPICH's ABI the value of a
/// variable.
pub fn all_handles() -> u64 {
    static VALUE: OnceLock<u64> = OnceLock::new();
    *VALUE.get_or_init(|| match crate::interpose::resolver::abi() {
        Some(AbiKind::OPENMPI) => mpi_abi::openmpi::MPI_T_PVAR_ALL_HANDLES as u64,
        Some(AbiKind::MPICH) => crate::interpose::resolver::data_symbol(c"MPI_T_PVAR_ALL_HANDLES")
            // SAFETY: a pointer-sized variable of the library that never changes.
            .map_or(u64::MAX, |variable| unsafe { variable.cast::<u64>().read() }),
        _ => mpi_abi::standard::MPI_T_PVAR_ALL_HANDLES as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handle_of_an_enumeration_is_not_null_and_yields_its_index() {
        assert_eq!(enumeration(None), 0);
        assert_eq!(enumeration_of(enumeration(Some(0))), Some(0));
        assert_eq!(enumeration_of(enumeration(Some(77))), Some(77));
        assert_eq!(enumeration_of(0), None);
        assert_eq!(enumeration_of(0x7fff_1234_5678), None);
    }
}
