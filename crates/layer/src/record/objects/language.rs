//! The language that a call was made from.
//!
//! The libraries' Fortran bindings call the C functions, so a call from Fortran comes from the library that
//! contains the binding, which is recognized by its name.

use crate::interpose::resolver::object_of;
use mpi_abi::binding;
use std::ffi::c_void;

/// Whether the code at this address belongs to a Fortran binding. Slow: queries the dynamic linker.
pub fn is_fortran(address: u64) -> bool {
    let path = object_of(address as usize as *const c_void);
    path.is_some_and(|path| binding::is_fortran(&path.to_string_lossy()))
}
