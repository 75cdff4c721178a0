//! Info objects: converts the engine's hints to the library's `MPI_Info`, and back.
//!
//! Since MPI 4.0 info objects can be created at any time. Older libraries abort the process if one is created
//! outside of `MPI_Init` and `MPI_Finalize`; with these, a tool then gets `MPI_INFO_NULL`, and its own hints
//! are not read.
#![allow(unsafe_code)]

use super::handles::{self, with_abi};
use super::program;
use crate::interpose::real;
use crate::interpose::tls::Tls;
use crate::record::objects::infos;
use crate::record::process;
use mpi_abi::{Abi, AbiKind, Handle, Mpich, OpenMpi, Standard, f};
use mpit::event::Hints;
use std::ffi::{CString, c_char, c_int, c_void};

/// Whether info objects can be used now.
fn usable() -> bool {
    let version = process::record().map_or(0, |process| process.mpi_version.get() >> 16);
    version >= 4 || program::is_up()
}

fn null() -> u64 {
    handles::predefined("MPI_INFO_NULL")
}

/// Creates an info object with these hints, which the caller must free.
fn make(hints: &Hints) -> u64 {
    fn make<A: Abi>(hints: &Hints) -> Option<u64> {
        let mut info = A::Handle::from_raw(0);
        // SAFETY: the C types of the functions; all strings outlive the calls.
        unsafe {
            let create: unsafe extern "C" fn(*mut A::Handle) -> c_int = real::function(f::MPI_Info_create)?;
            let set: unsafe extern "C" fn(A::Handle, *const c_char, *const c_char) -> c_int =
                real::function(f::MPI_Info_set)?;
            if create(&mut info) != A::SUCCESS {
                return None;
            }
            for (key, value) in hints.iter() {
                if let (Ok(key), Ok(value)) = (CString::new(key), CString::new(value)) {
                    set(info, key.as_ptr(), value.as_ptr());
                }
            }
        }
        Some(info.raw())
    }
    Tls::inside(|| with_abi!(make(hints))).unwrap_or_else(null)
}

/// Returns hints through an OUT argument, which may be null.
///
/// # Safety
///
/// `to` must be null or have room for a handle.
pub unsafe fn put(to: *mut c_void, hints: &Hints) {
    if !to.is_null() {
        let info = if usable() { make(hints) } else { null() };
        // SAFETY: the caller's contract.
        unsafe { handles::put(to, info) };
    }
}

/// Reads the hints in the caller's info object; none for `MPI_INFO_NULL`.
pub fn hints(info: u64) -> Hints {
    fn read<A: Abi>(info: u64) -> Hints {
        let mut hints = Hints::new();
        infos::each_pair::<A>(info, |key, value| hints.set(key, value));
        hints
    }
    if info == null() || info == 0 || !usable() {
        return Hints::new();
    }
    Tls::inside(|| with_abi!(read(info)))
}
