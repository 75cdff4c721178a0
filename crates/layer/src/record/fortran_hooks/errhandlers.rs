//! Error handlers that are made by Open MPI's Fortran binding.
//!
//! The binding bypasses the C functions and calls the library's `ompi_errhandler_create(type, function,
//! language)`. The C functions call it too, inside a traced call. The numbers of the types have been the same
//! since Open MPI 1; those of the languages have not, so the caller determines the language.

use super::{Behind, by_fortran, site};
use crate::interpose::arch::export_marked;
use crate::record::objects::errhandlers;
use mpi_abi::f;
use mpiscope_image::objects::ErrhandlerKind;
use std::ffi::{c_int, c_void};

export_marked!(ompi_errhandler_create, create);

unsafe extern "C" fn create(of: c_int, function: *const c_void, language: c_int) -> u64 {
    static BEHIND: Behind = Behind::new(c"ompi_errhandler_create");
    let known = match of {
        1 => Some((f::MPI_Comm_create_errhandler, ErrhandlerKind::COMM)),
        2 => Some((f::MPI_Win_create_errhandler, ErrhandlerKind::WINDOW)),
        3 => Some((f::MPI_File_create_errhandler, ErrhandlerKind::FILE)),
        4 => Some((f::MPI_Session_create_errhandler, ErrhandlerKind::SESSION)),
        _ => None,
    };
    let made = known.and_then(|(call, kind)| Some((site(call)?, kind, by_fortran())));
    type Create = unsafe extern "C" fn(c_int, *const c_void, c_int) -> u64;
    // SAFETY: the C type of the function; the language is an enumeration without a value below zero.
    let Some(real) = (unsafe { BEHIND.get::<Create>() }) else { return 0 };
    // SAFETY: the binding's arguments.
    let handle = unsafe { real(of, function, language) };
    if let Some((site, kind, fortran)) = made {
        errhandlers::made(handle, kind, function.addr() as u64, fortran, site);
    }
    handle
}
