//! The symbols by which a debugger recognizes a starter: MPIR 1.1 and the MPI2 debugger interface.
//!
//! All are in the dynamic symbol table (see `build.rs`) and therefore survive `strip`. Their layouts are
//! defined in the crate of debugger interfaces.
#![allow(unsafe_code, non_upper_case_globals, non_snake_case)]

use mpiscope_job::jobs::acquire::Entry;
use mpiscope_job::jobs::acquire::layouts::mpi2dd::{Info, Reason, flag, mpi_flag};
use mpiscope_job::jobs::acquire::layouts::mpir::{ProcDesc, debug_state};
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

#[unsafe(no_mangle)]
#[used]
pub static MPI2DD_info: Info = Info::new(mpi_flag::I_AM_STARTER | mpi_flag::PARTIAL_ATTACH_OK);

#[unsafe(no_mangle)]
#[used]
pub static MPIR_proctable: AtomicPtr<ProcDesc> = AtomicPtr::new(std::ptr::null_mut());
#[unsafe(no_mangle)]
#[used]
pub static MPIR_proctable_size: AtomicI32 = AtomicI32::new(0);
#[unsafe(no_mangle)]
#[used]
pub static MPIR_debug_state: AtomicI32 = AtomicI32::new(0);
#[unsafe(no_mangle)]
#[used]
pub static MPIR_debug_abort_string: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());
/// Written by the debugger.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_being_debugged: AtomicI32 = AtomicI32::new(0);
/// Only its presence matters.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_i_am_starter: AtomicI32 = AtomicI32::new(1);
/// Only its presence matters.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_partial_attach_ok: AtomicI32 = AtomicI32::new(1);

/// Breakpoint function for debuggers that know MPIR.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn MPIR_Breakpoint() {
    // SAFETY: contains no instruction; a statement with side effects keeps the function and its calls.
    unsafe { std::arch::asm!("# MPIR") };
}

/// Breakpoint function for debuggers that know the MPI2 interface.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn MPI2DD_breakpoint() {
    // SAFETY: as above. The text differs so that the two functions are never merged.
    unsafe { std::arch::asm!("# MPI2DD") };
}

/// Whether a debugger has announced itself.
pub fn being_debugged() -> bool {
    MPIR_being_debugged.load(Ordering::Acquire) != 0 || MPI2DD_info.asked(flag::BEING_DEBUGGED)
}

/// Publishes the ranks in order and stops at both breakpoints. The table is never freed.
pub fn publish(ranks: &[Entry]) {
    let table: Vec<ProcDesc> = ranks
        .iter()
        .map(|rank| ProcDesc {
            host_name: text(&rank.place.host),
            executable_name: text(&rank.executable.to_string_lossy()),
            pid: rank.place.pid as i32,
        })
        .collect();
    if let Some(first) = table.first() {
        MPI2DD_info.meta_host_name.store(first.host_name as usize, Ordering::SeqCst);
        MPI2DD_info.meta_executable_name.store(first.executable_name as usize, Ordering::SeqCst);
        MPI2DD_info.meta_pid.store(first.pid, Ordering::SeqCst);
    }
    let size = table.len() as i32;
    MPIR_proctable.store(table.leak().as_mut_ptr(), Ordering::SeqCst);
    MPIR_proctable_size.store(size, Ordering::SeqCst);
    MPIR_debug_state.store(debug_state::SPAWNED, Ordering::SeqCst);
    MPI2DD_info.debug_state.store(Reason::START.0, Ordering::SeqCst);
    MPIR_Breakpoint();
    MPI2DD_breakpoint();
}

/// Announces that the job aborts, with the reason, and stops at both breakpoints.
pub fn abort(why: &str) {
    let why = text(why).cast_mut();
    MPIR_debug_abort_string.store(why, Ordering::SeqCst);
    MPI2DD_info.abort_string.store(why as usize, Ordering::SeqCst);
    MPIR_debug_state.store(debug_state::ABORTING, Ordering::SeqCst);
    MPI2DD_info.debug_state.store(Reason::ABORT.0, Ordering::SeqCst);
    MPIR_Breakpoint();
    MPI2DD_breakpoint();
}

fn text(text: &str) -> *const c_char {
    CString::new(text).map_or(std::ptr::null(), |text| text.into_raw().cast_const())
}
