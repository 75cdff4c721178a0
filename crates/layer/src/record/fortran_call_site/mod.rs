//! The program's own line for what it does through a Fortran binding.
//!
//! The layer sits below every language, so a call from Fortran returns into the library's binding, which is the same
//! place for every caller. The frame of the binding's function lies on the stack where the *gate* saw it, and the
//! program's address at a fixed distance in it: the unwind table of the binding says at which, for each return address
//! once and for all.
//!
//! [`bindings`] knows where the Fortran bindings of this process lie; [`stack_frames`](crate::record::stack_frames) has the frames. A frame that is not understood, or
//! a word that is no address of code: then the address in the binding is what is recorded. Bindings call each other (`mpi_f08` that
//! of `mpif.h`), so this is done again while the address is one of a binding.
//!
//! For a program without a Fortran binding all of this is one load and one comparison.
#![allow(unsafe_code)]

pub mod bindings;

use crate::interpose::frame::Call;
use crate::record::stack_frames::frame::{LARGEST, Registers};
use crate::record::stack_frames::{code, kept};
use mpi_abi::Abi;

/// Bindings that call each other at most.
const MOST_LEVELS: usize = 4;

/// Where a call was made: `from` itself, the address behind the call, unless it lies in a Fortran binding; then the
/// address behind the program's call of the binding.
///
/// `stack` is the stack pointer at the call. The frame that made the call must be open.
#[inline(always)]
pub fn of(from: u64, stack: impl FnOnce() -> u64) -> u64 {
    if bindings::exist() { behind_bindings(from, stack()) } else { from }
}

/// Where a call was made that is under way.
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
        // SAFETY: the frame is open, below the frame of its caller: the stack is mapped there. No other frame is looked at, since
        // the frame pointer is not known.
        let above = unsafe { frame.up(at, at.stack.saturating_add(LARGEST.into())) };
        match above {
            Some((caller, registers)) if code::holds(caller) => (address, at) = (caller, registers),
            _ => return from,
        }
    }
    if bindings::hold(address) { from } else { address }
}
