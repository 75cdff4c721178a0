//! What interposition needs from the floors above, and the one way in which it calls them.
//!
//! The first MPI call of a process comes here before any code of this library has run, so the table cannot be handed over at
//! run time: it is linked. The top defines it with [`put_in`]; nobody outside of this library sees its name.
#![allow(unsafe_code)]

use crate::interpose::tls::Tls;
use mpi_abi::{AbiKind, FunctionId};
use mpiscope_image::layout::Thread;
use std::ffi::{CStr, c_int};

/// What the floors above do.
pub struct Upcalls {
    /// Says the address of the hook of every function for an ABI.
    pub hooks: fn(AbiKind, fn(FunctionId, usize)),
    /// The library with this file name was found, and nothing has been recorded yet.
    pub found: fn(AbiKind, &CStr),
    /// Gives a thread its record, at its first call.
    pub attach: fn(&Tls) -> &'static Thread,
    /// Whether calls may come from a library or a binding that only [`caller`](Self::caller) can see through.
    pub has_bindings: fn() -> bool,
    /// Where the program made the call that returns to this address; what the frame pointer was.
    pub caller: fn(&Tls, u64, u64) -> u64,
    /// Ends the open call, of which the gate sees that the program may have left it; gets the stack pointer. False if it goes on.
    pub left: fn(&'static Tls, u64) -> bool,
    /// Ends the call that called a user callback which the program may have left, while another call is made. False if it goes on.
    pub callback_left: fn(&'static Tls) -> bool,
    /// The process is a forked child, for which nothing is recorded.
    pub forked: fn(),
    /// The program called `MPI_Pcontrol`: return address and stack pointer are in the thread's block.
    pub pcontrol: fn(c_int),
}

unsafe extern "Rust" {
    #[link_name = "mpiscope_upcalls"]
    safe static UPCALLS: &'static Upcalls;
}

/// The table.
#[inline]
pub fn upcalls() -> &'static Upcalls {
    UPCALLS
}

/// Puts a table in. To be used once.
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

/// A call that may come from a library or a binding: its place becomes that of the program. The gate has written it down.
pub unsafe extern "C" fn see_through_binding(frame_pointer: u64) {
    let tls = Tls::get();
    tls.return_address.set((upcalls().caller)(tls, tls.return_address.get(), frame_pointer));
}

/// A call that does not lie in the stack below the open one: whether the program has left that one, by `longjmp` or an exception, so
/// that it will not return.
pub unsafe extern "C" fn is_left(stack_pointer: u64) -> u32 {
    (upcalls().left)(Tls::get(), stack_pointer).into()
}

/// `MPI_Pcontrol`, which the library must get with all its arguments: counted, and its level looked at.
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
