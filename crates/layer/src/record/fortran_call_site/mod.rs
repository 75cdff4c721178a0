//! The program's own line for calls through a Fortran binding.
//!
//! The layer sits below every language, so a call from Fortran returns into the library's binding, at the
//! same address for every caller. When the *gate* is entered, the binding's frame is on the stack, with the
//! program's return address at a fixed offset. The binding's unwind table gives that offset; it is looked up
//! once per return address.
//!
//! [`bindings`] knows where this process's Fortran bindings are mapped;
//! [`stack_frames`](crate::record::stack_frames) walks the frames. If a frame is not understood, or a word is
//! not the address of code, the address in the binding is recorded. Bindings call each other (`mpi_f08` calls
//! that of `mpif.h`), so the walk continues as long as the address is in a binding.
//!
//! For a program without a Fortran binding all of this is one load and one comparison.
#![allow(unsafe_code)]

pub mod bindings;

use crate::interpose::frame::Call;
use crate::record::stack_frames::frame::{LARGEST, Registers};
use crate::record::stack_frames::{code, kept};
use mpi_abi::Abi;

/// Maximum number of nested binding calls.
const MOST_LEVELS: usize = 4;

/// Returns the program's return address: `from` itself, unless it is in a Fortran binding; then the return
/// address of the program's call to the binding.
///
/// `stack` is the stack pointer at the call. The frame that made the call must still be open.
#[inline(always)]
pub fn of(from: u64, stack: impl FnOnce() -> u64) -> u64 {
    if bindings::exist() { behind_bindings(from, stack()) } else { from }
}

/// Returns where the current call was made.
#[inline(always)]
pub fn here<A: Abi>(call: &Call<A>) -> u64 {
    of(call.return_address(), || call.stack_pointer())
}

#[cold]
fn behind_bindings(from: u64, stack: u64) -> u64 {
    let mut at = Registers { stack, pointer: None };
    let mut address = from;
    for _ in 0..MOST_LEVELS {
        if !bindings::hold(address) {
            return address;
        }
        let Some(frame) = kept::of(address).frame else { return from };
        // SAFETY: the frame is open, below the frame of its caller, so the stack is mapped there. Only this
        // frame is read, since the frame pointer is unknown.
        let above = unsafe { frame.up(at, at.stack.saturating_add(LARGEST.into())) };
        match above {
            Some((caller, registers)) if code::holds(caller) => (address, at) = (caller, registers),
            _ => return from,
        }
    }
    if bindings::hold(address) { from } else { address }
}
