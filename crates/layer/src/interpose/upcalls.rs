//! The only way in which interposition calls the floors above it.
//!
//! The first MPI call of a process gets here before any code of this library has run, so the table cannot be
//! registered at run time: it is linked. The top floor defines it with [`put_in`]; its symbol is hidden.
#![allow(unsafe_code)]

use crate::interpose::tls::Tls;
use mpi_abi::{AbiKind, FunctionId};
use mpiscope_image::layout::Thread;
use std::ffi::{CStr, c_int};

/// Functions of the floors above.
pub struct Upcalls {
    /// Reports the address of every function's hook for an ABI.
    pub hooks: fn(AbiKind, fn(FunctionId, usize)),
    /// Called when the library with this file name has been found and nothing has been recorded yet.
    pub found: fn(AbiKind, &CStr),
    /// Creates the record of a thread, at its first call.
    pub attach: fn(&Tls) -> &'static Thread,
    /// Whether calls may come from a library or binding whose caller only [`caller`](Self::caller) can find.
    pub has_bindings: fn() -> bool,
    /// Finds the program's call site, given the return address and the frame pointer of the call.
    pub caller: fn(&Tls, u64, u64) -> u64,
    /// Ends the open call if the program has left it, as the gate suspects; receives the new call's stack
    /// pointer. Returns false if the open call is still in progress.
    pub left: fn(&'static Tls, u64) -> bool,
    /// During another call, ends the call whose user callback the program may have left. Returns false if
    /// that call is still in progress.
    pub callback_left: fn(&'static Tls) -> bool,
    /// Called in a forked child, where nothing is recorded.
    pub forked: fn(),
    /// Called for `MPI_Pcontrol`; return address and stack pointer are in the thread's block.
    pub pcontrol: fn(c_int),
}

unsafe extern "Rust" {
    #[link_name = "mpiscope_upcalls"]
    safe static UPCALLS: &'static Upcalls;
}

/// The table of functions above.
#[inline]
pub fn upcalls() -> &'static Upcalls {
    UPCALLS
}

/// Defines the table. Must be used exactly once.
macro_rules! put_in {
    ($table:path) => {
        const _: &$crate::interpose::upcalls::Upcalls = &$table;
        std::arch::global_asm!(
            ".pushsection .data.rel.ro.mpiscope_upcalls,\"aw\"",
            ".globl mpiscope_upcalls",
            ".hidden mpiscope_upcalls",
            ".p2align 3",
            "mpiscope_upcalls: .quad {table}",
            ".popsection",
            table = sym $table,
        );
    };
}
pub(crate) use put_in;

/// Replaces the call site that the gate has stored by that of the program, for calls through a library or
/// binding.
pub unsafe extern "C" fn see_through_binding(frame_pointer: u64) {
    let tls = Tls::get();
    tls.return_address.set((upcalls().caller)(tls, tls.return_address.get(), frame_pointer));
}

/// Whether the program has left the open call by `longjmp` or an exception, so that it will never return.
/// Called when a new call is not below the open one on the stack.
pub unsafe extern "C" fn is_left(stack_pointer: u64) -> u32 {
    (upcalls().left)(Tls::get(), stack_pointer).into()
}

/// Records `MPI_Pcontrol`, which must reach the library with all its arguments: counts it and reads its
/// level.
pub unsafe extern "C" fn observe_pcontrol(
    level: c_int,
    return_address: u64,
    stack_pointer: u64,
    frame_pointer: u64,
) {
    let tls = Tls::get();
    let left = || stack_pointer >= tls.stack_pointer.get() && (upcalls().left)(tls, stack_pointer);
    if tls.depth.get() == 0 || left() {
        tls.stack_pointer.set(stack_pointer);
        tls.return_address.set((upcalls().caller)(tls, return_address, frame_pointer));
        (upcalls().pcontrol)(level);
    }
}
