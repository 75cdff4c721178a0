//! The symbols by which a debugger knows a starter: MPIR 1.1 and the MPI2 debugger interface.
//!
//! All are in the dynamic symbol table (see `build.rs`), so that they survive `strip`. Layouts are those of natural C;
//! a debugger without debug information finds `host_name`, `executable_name` and `pid` of an entry at 0, 8 and 16, and
//! the next entry at 24.
#![allow(unsafe_code, non_upper_case_globals, non_snake_case)]

use mpiscope_job::acquire::Entry;
use std::ffi::{CString, c_char};
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// `MPIR_PROCDESC`: one rank; its index is its rank.
#[repr(C)]
#[derive(Debug)]
pub struct ProcDesc {
    pub host_name: *const c_char,
    pub executable_name: *const c_char,
    pub pid: i32,
}

/// The starter's `MPI2DD_INFO`: it has no tables, and says where the metadirectory is.
#[repr(C)]
pub struct Info {
    head: [u8; 7],
    debug_state: AtomicU8,
    debugger_flags: AtomicU32,
    mpi_flags: AtomicU32,
    plug_ins: [usize; 2],
    meta_host_name: AtomicPtr<c_char>,
    meta_executable_name: AtomicPtr<c_char>,
    abort_string: AtomicPtr<c_char>,
    tables: [usize; 3],
    sizes: [i32; 3],
    meta_pid: AtomicI32,
    padding: [i32; 8],
}

const _: () = {
    const W: usize = size_of::<usize>();
    assert!(size_of::<ProcDesc>() == 3 * W && offset_of!(ProcDesc, pid) == 2 * W);
    assert!(offset_of!(Info, debug_state) == 7 && offset_of!(Info, mpi_flags) == 12);
    assert!(offset_of!(Info, meta_host_name) == 16 + 2 * W && offset_of!(Info, abort_string) == 16 + 4 * W);
    assert!(offset_of!(Info, meta_pid) == 28 + 8 * W && size_of::<Info>() == 64 + 8 * W);
};

/// Bits of `mpi_flags`: a starter, which lets go the ranks that the debugger does not want.
const I_AM_STARTER: u32 = 0x04;
const PARTIAL_ATTACH_OK: u32 = 0x40;
/// Bit of `debugger_flags`.
const BEING_DEBUGGED: u32 = 2;
/// Values of `debug_state`.
const DEBUG_START: u8 = 1;
const DEBUG_ABORT: u8 = 8;
/// Values of [`MPIR_debug_state`].
const MPIR_DEBUG_SPAWNED: i32 = 1;
const MPIR_DEBUG_ABORTING: i32 = 2;

#[unsafe(no_mangle)]
#[used]
pub static MPI2DD_info: Info = Info {
    head: [b'M', b'P', b'I', b'2', 0x7f, 1, 1],
    debug_state: AtomicU8::new(0),
    debugger_flags: AtomicU32::new(0),
    mpi_flags: AtomicU32::new(I_AM_STARTER | PARTIAL_ATTACH_OK),
    plug_ins: [0; 2],
    meta_host_name: AtomicPtr::new(std::ptr::null_mut()),
    meta_executable_name: AtomicPtr::new(std::ptr::null_mut()),
    abort_string: AtomicPtr::new(std::ptr::null_mut()),
    tables: [0; 3],
    sizes: [0; 3],
    meta_pid: AtomicI32::new(0),
    padding: [0; 8],
};

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
/// Its presence says it.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_i_am_starter: AtomicI32 = AtomicI32::new(1);
/// Its presence says it.
#[unsafe(no_mangle)]
#[used]
pub static MPIR_partial_attach_ok: AtomicI32 = AtomicI32::new(1);

/// Where a debugger that knows MPIR puts its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn MPIR_Breakpoint() {
    // SAFETY: no instruction at all; a statement with side effects keeps the function and its calls.
    unsafe { std::arch::asm!("# MPIR") };
}

/// Where a debugger that knows the MPI2 interface puts its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn MPI2DD_breakpoint() {
    // SAFETY: as above. The text differs, so that the two functions are never made one.
    unsafe { std::arch::asm!("# MPI2DD") };
}

/// Whether a debugger has said that it is there.
pub fn being_debugged() -> bool {
    MPIR_being_debugged.load(Ordering::Acquire) != 0
        || MPI2DD_info.debugger_flags.load(Ordering::Acquire) & BEING_DEBUGGED != 0
}

/// Publishes the ranks, in their order, and stops at both breakpoints. The table is never freed.
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
        MPI2DD_info.meta_host_name.store(first.host_name.cast_mut(), Ordering::SeqCst);
        MPI2DD_info.meta_executable_name.store(first.executable_name.cast_mut(), Ordering::SeqCst);
        MPI2DD_info.meta_pid.store(first.pid, Ordering::SeqCst);
    }
    let size = table.len() as i32;
    MPIR_proctable.store(table.leak().as_mut_ptr(), Ordering::SeqCst);
    MPIR_proctable_size.store(size, Ordering::SeqCst);
    MPIR_debug_state.store(MPIR_DEBUG_SPAWNED, Ordering::SeqCst);
    MPI2DD_info.debug_state.store(DEBUG_START, Ordering::SeqCst);
    MPIR_Breakpoint();
    MPI2DD_breakpoint();
}

/// Says that the job aborts, and why, and stops at both breakpoints.
pub fn abort(why: &str) {
    let why = text(why).cast_mut();
    MPIR_debug_abort_string.store(why, Ordering::SeqCst);
    MPI2DD_info.abort_string.store(why, Ordering::SeqCst);
    MPIR_debug_state.store(MPIR_DEBUG_ABORTING, Ordering::SeqCst);
    MPI2DD_info.debug_state.store(DEBUG_ABORT, Ordering::SeqCst);
    MPIR_Breakpoint();
    MPI2DD_breakpoint();
}

fn text(text: &str) -> *const c_char {
    CString::new(text).map_or(std::ptr::null(), |text| text.into_raw().cast_const())
}
