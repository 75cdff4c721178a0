//! Variables whose memory is gone.
//!
//! Open MPI 4.1 keeps variables of its common libraries (`opal_common_ucx_verbose`, say) registered after it has
//! unloaded the library in which their values are. Reading one ends the process. Such a variable can be told by its
//! name, and the library by the list of loaded objects.
//!
//! Performance variables of Open MPI's components are code of the component, which runs when a handle is made, read or
//! freed, and looks at what the component made in `MPI_Init`. So they are out of reach before and after.
#![allow(unsafe_code)]

use crate::resolve;
use crate::tool::lifecycle;
use mpi_abi::AbiKind;
use std::ffi::{CStr, c_int, c_void};

/// Is the memory of the variable of this name unloaded?
pub fn is_gone(name: &str) -> bool {
    resolve::abi() == Some(AbiKind::OPENMPI)
        && common_library(name).is_some_and(|library| !is_loaded(&library))
}

/// Can the library's performance variables be used now?
pub fn pvars_usable() -> bool {
    resolve::abi() != Some(AbiKind::OPENMPI) || lifecycle::program_level().is_some()
}

/// The common library that a variable belongs to: `opal_common_ucx_verbose` to `mca_common_ucx`.
fn common_library(name: &str) -> Option<String> {
    let component = ["opal_common_", "ompi_common_", "orte_common_"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))?
        .split('_')
        .next()?;
    Some(format!("mca_common_{component}"))
}

fn is_loaded(library: &str) -> bool {
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker gives a valid record, we gave it the name.
        let (info, wanted) = unsafe { (&*info, &*wanted.cast::<&[u8]>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: a C string of the dynamic linker.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        c_int::from(name.windows(wanted.len()).any(|part| part == *wanted))
    }
    let mut wanted = library.as_bytes();
    // A component that is built into the library itself is always loaded.
    if !has_components() {
        return true;
    }
    // SAFETY: `visit` has the right type and gets the name.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut wanted).cast()) != 0 }
}

/// Does Open MPI load its components from files?
fn has_components() -> bool {
    let mut any = false;
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, any: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker gives a valid record, we gave it the flag.
        let (info, any) = unsafe { (&*info, &mut *any.cast::<bool>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: a C string of the dynamic linker.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
            *any |= name.windows(5).any(|part| part == b"/mca_");
        }
        0
    }
    // SAFETY: `visit` has the right type and gets the flag.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut any).cast()) };
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_a_common_library_names_it() {
        assert_eq!(common_library("opal_common_ucx_verbose").as_deref(), Some("mca_common_ucx"));
        assert_eq!(common_library("btl_tcp_if_include"), None);
    }
}
