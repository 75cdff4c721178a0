//! Hooks on functions outside the function table that reveal what no traced call does.
//!
//! | module | watches | reveals |
//! | --- | --- | --- |
//! | [`files`] | `MPI_File_c2f` and similar | the Fortran number of a file, where only the library's own table has it |
//! | [`errhandlers`] | what Open MPI's Fortran binding calls instead of `MPI_Comm_create_errhandler` and similar | error handlers made from Fortran |
//! | [`attributes`] | what Fortran bindings call instead of `MPI_Comm_create_keyval`, `MPI_Comm_set_attr` and similar | keys and attributes made from Fortran |
//!
//! None of them counts as a call of the program: they are not counted, and have no time and no depth. Each
//! passes its arguments on unchanged and inspects the result. Names that are not MPI's own (`ompi_…`,
//! `MPII_…`) are exported like all others, and reached only where that library's binding calls them. ABI
//! detection does not depend on them, since it asks the library itself.
//!
//! A library function that is called while a traced call is open is internal to the library and ignored.
#![allow(unsafe_code, non_snake_case)]

pub mod attributes;
pub mod errhandlers;
pub mod files;

use crate::base::complaint::complain;
use crate::base::{clock, settings};
use crate::interpose::resolver;
use crate::interpose::tls::Tls;
use crate::record::fortran_call_site;
use crate::record::objects::{Site, language};
use mpi_abi::FunctionId;
use mpiscope_image::layout::Recording;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The real function behind one of ours, looked up on first use.
pub struct Behind {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Behind {
    /// The next function of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Returns the function; `None`, with a complaint, if the library does not have it.
    ///
    /// # Safety
    ///
    /// `F` must be the C type of the function.
    pub unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            resolver::resolve();
            address = resolver::next(self.name);
            self.address.store(address, Ordering::Relaxed);
        }
        if address == 0 {
            complain(
                "the program called a function that this MPI library does not have; the call did nothing",
            );
            return None;
        }
        // SAFETY: a function of the library, whose type the caller vouches for.
        Some(unsafe { std::mem::transmute_copy(&address) })
    }
}

/// Returns where the program called one of these functions, recorded as a call of `function`; `None` inside a
/// traced call.
///
/// Only for functions exported with [`export_marked`](crate::interpose::arch::export_marked), before anything
/// else is called.
fn site(function: FunctionId) -> Option<Site> {
    let tls = Tls::get();
    if tls.depth.get() != 0 {
        return None;
    }
    let at = if settings::records(Recording::TIMES) { clock::now() } else { 0 };
    // No call is open: see `Tls::stack_pointer`.
    let stack = tls.stack_pointer.replace(0);
    let from = fortran_call_site::of(tls.return_address.get(), || stack);
    Some(Site { function: u32::from(function.0) + 1, at, from })
}

/// Whether a Fortran binding called one of these functions. Must be called before anything else, like
/// [`site`].
fn by_fortran() -> bool {
    language::is_fortran(Tls::get().return_address.get())
}
