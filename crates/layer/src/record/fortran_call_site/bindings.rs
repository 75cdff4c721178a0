//! Locations of this process's Fortran bindings.
//!
//! They are looked up when the MPI library is found, since a program is linked with its binding. They are
//! pinned in memory, so that what is known about an address in them stays valid.

use crate::record::stack_frames::code;
use mpi_abi::binding;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of bindings: `mpif.h`, `mpi`, `mpi_f08`, and as many again.
const MOST: usize = 8;
/// Beginning and end of the code of each.
static RANGES: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];
static EXIST: AtomicBool = AtomicBool::new(false);

/// Whether the process has a binding.
#[inline(always)]
pub fn exist() -> bool {
    EXIST.load(Ordering::Relaxed)
}

/// Whether a return address is in a binding.
pub fn hold(address: u64) -> bool {
    let at = address.wrapping_sub(1);
    let ranges = RANGES.iter().map(|[begin, end]| begin.load(Ordering::Relaxed)..end.load(Ordering::Relaxed));
    ranges.take_while(|range| range.start != 0).any(|range| range.contains(&at))
}

/// Finds the bindings. Called once, when the library was found.
pub fn start() {
    let mut found: Vec<(CString, (u64, u64))> = Vec::new();
    // SAFETY: `visit` has the right type and gets the list.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found.retain(|(name, _)| stays(name));
    found.truncate(MOST);
    for ([first, last], (_, (begin, end))) in RANGES.iter().zip(&found) {
        first.store(*begin, Ordering::Relaxed);
        last.store(*end, Ordering::Relaxed);
    }
    EXIST.store(!found.is_empty(), Ordering::Release);
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes a valid record, and the list that we gave it.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<(CString, (u64, u64))>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: a C string of the dynamic linker.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        let code = code::segments(info).reduce(both).filter(|_| binding::is_fortran(&name.to_string_lossy()));
        found.extend(code.map(|code| (name.to_owned(), code)));
    }
    0
}

/// Returns the smallest range that contains both.
fn both(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Keeps a loaded library from being unloaded.
fn stays(name: &CStr) -> bool {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: `RTLD_NOLOAD` never runs code of a new object. The handle is left open on purpose.
    !unsafe { libc::dlopen(name.as_ptr(), flags) }.is_null()
}
