//! The other symbols that debuggers look for in a rank: MPIR's, and the lists of plug-ins.
//!
//! Open MPI defines `MPIR_dll_name` and `MPIR_debug_gate` too. Being preloaded, ours come first: the
//! library's own wait for `MPIR_debug_gate` then reads ours, and a debugger finds ours first. `MPIR_dll_name`
//! names our plug-in if it is installed and otherwise has the library's value, so that nothing is lost. The
//! symbols of a starter (`MPIR_Breakpoint`, `MPIR_proctable`) are not defined here, since a rank is not one.
#![allow(unsafe_code, non_upper_case_globals)]

use super::block::MPI2DD_info;
use crate::base::c_string;
use crate::interpose::resolver;
use mpiscope_debug_interfaces::mpi2dd::mpi_flag;
use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// Size of [`MPIR_dll_name`] in bytes.
const NAME: usize = 1024;

/// Set by a debugger to release the rank from `MPI_Init`.
#[unsafe(no_mangle)]
pub static MPIR_debug_gate: AtomicI32 = AtomicI32::new(0);

/// Path of the message queue plug-in.
#[unsafe(no_mangle)]
pub static MPIR_dll_name: [AtomicU8; NAME] = [const { AtomicU8::new(0) }; NAME];

/// Handle plug-ins to try: a null-terminated array of C strings.
#[unsafe(no_mangle)]
pub static mpidbg_dll_locations: AtomicPtr<*const c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Message queue plug-ins to try: a null-terminated array of C strings.
#[unsafe(no_mangle)]
pub static mpimsgq_dll_locations: AtomicPtr<*const c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Fills in the plug-in paths. Called once, in `MPI_Init`.
pub fn publish() {
    let home = home();
    let beside = |name: &str| {
        let path = home.as_ref()?.join(name);
        path.is_file().then(|| CString::new(path.as_os_str().as_bytes()).ok())?
    };
    let own_queues = beside("libmpiscope_queues.so");
    let mut queues: Vec<CString> = own_queues.into_iter().collect();
    queues.extend(librarys_own().filter(|name| !queues.contains(name)));
    match queues.first() {
        Some(first) => name_plug_in(first),
        None => {
            MPI2DD_info.mpi_flags.fetch_or(mpi_flag::IGNORE_QUEUE, Ordering::SeqCst);
        }
    }
    list(c"mpimsgq_dll_locations", &mpimsgq_dll_locations, queues);
    let handles = beside("libmpiscope_handles.so").into_iter().collect();
    list(c"mpidbg_dll_locations", &mpidbg_dll_locations, handles);
}

/// The directory of this library.
fn home() -> Option<PathBuf> {
    let own = resolver::object_of(publish as *const () as *const _)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(own.to_bytes()));
    Some(std::path::absolute(path).ok()?.parent()?.to_owned())
}

/// The MPI library's own value of `MPIR_dll_name`.
fn librarys_own() -> Option<CString> {
    let found = resolver::symbol(c"MPIR_dll_name")?.cast::<c_char>().cast_const();
    if std::ptr::eq(found.cast(), MPIR_dll_name.as_ptr()) {
        return None;
    }
    let name = c_string::text(found, NAME - 1);
    CString::new(name).ok().filter(|name| !name.is_empty())
}

fn name_plug_in(path: &CStr) {
    for (to, from) in MPIR_dll_name.iter().take(NAME - 1).zip(path.to_bytes()) {
        to.store(*from, Ordering::Relaxed);
    }
    let slot: &AtomicUsize =
        if size_of::<usize>() == 8 { &MPI2DD_info.dll_name_64 } else { &MPI2DD_info.dll_name_32 };
    slot.store(MPIR_dll_name.as_ptr() as usize, Ordering::Release);
}

/// Publishes a list, which is never freed. Open MPI has a variable of the same name but never fills it; it
/// gets the same value for debuggers that find it first.
fn list(name: &CStr, to: &AtomicPtr<*const c_char>, names: Vec<CString>) {
    let mut pointers: Vec<*const c_char> = names.into_iter().map(|n| n.into_raw().cast_const()).collect();
    pointers.push(std::ptr::null());
    let array = pointers.leak().as_mut_ptr();
    to.store(array, Ordering::Release);
    let theirs = resolver::symbol(name)
        .map_or(std::ptr::null(), |at| at.cast::<AtomicPtr<*const c_char>>().cast_const());
    // SAFETY: null, or the library's variable, a pointer to such an array.
    if let Some(theirs) = unsafe { theirs.as_ref() } {
        let empty = std::ptr::null_mut();
        let _ = theirs.compare_exchange(empty, array, Ordering::Release, Ordering::Relaxed);
    }
}
