//! What a thread keeps at hand: one cache line of thread-local memory.
//!
//! The block is reached with the initial-exec model (one load and one addition), which Rust's own
//! `thread_local!` cannot give on a stable compiler; `arch` defines the memory and the access.
#![allow(unsafe_code)]

use crate::interpose::interrupted::Interrupted;
use crate::interpose::slots::{REAL, SLOTS};
use mpi_abi::FunctionId;
use mpiscope_image::layout::Thread;
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, compiler_fence};

/// The thread-local block. All zero when a thread begins.
#[repr(C, align(64))]
pub struct Tls {
    /// 1 inside a hooked call: calls that the library makes to itself go straight through.
    pub depth: Cell<u32>,
    /// How many user callbacks are open, each with a hooked call below it.
    pub nested: Cell<u32>,
    /// The thread's record; null before its first call.
    pub thread: Cell<*const Thread>,
    /// Written by the gate: address behind the call in the program.
    pub return_address: Cell<u64>,
    /// Written by the gate: stack pointer at the call; zero while none is open, so that a signal handler that calls when the gate has
    /// raised the depth and not yet written this is not compared with an earlier call.
    pub stack_pointer: Cell<u64>,
    /// Written by the gate: the number of the slot that was called, see [`real`](Self::real) and [`function`](Self::function).
    pub slot: Cell<u32>,
    unused: u32,
    /// Stack pointer when the innermost user callback was entered.
    pub callback_stack: Cell<u64>,
    /// Private memory of the thread; null before its first call. What floors above keep there lies behind this.
    pub local: Cell<*const Interrupted>,
    /// What whoever receives events keeps of the thread; null until there is something.
    pub events: Cell<*const ()>,
}

/// Offsets that the assembly in `arch` uses.
pub mod offset {
    use super::{Tls, offset_of};
    pub const DEPTH: usize = offset_of!(Tls, depth);
    pub const NESTED: usize = offset_of!(Tls, nested);
    pub const RETURN_ADDRESS: usize = offset_of!(Tls, return_address);
    pub const STACK_POINTER: usize = offset_of!(Tls, stack_pointer);
    pub const SLOT: usize = offset_of!(Tls, slot);
    pub const CALLBACK_STACK: usize = offset_of!(Tls, callback_stack);
}

const _: () = assert!(size_of::<Tls>() == 64);

impl Tls {
    /// The block of this thread.
    #[inline(always)]
    pub fn get() -> &'static Self {
        // SAFETY: `arch::tls_address` gives the thread's own zero-initialised block of this size and alignment.
        // The reference does not leave the thread: `Tls` is not `Sync`.
        unsafe { &*arch_address() }
    }

    /// The call is over.
    #[inline(always)]
    pub fn leave(&self) {
        self.stack_pointer.set(0);
        compiler_fence(Ordering::SeqCst);
        self.depth.set(0);
    }

    /// Runs `f` inside of a call, so that what the library calls is not taken for calls of the program.
    pub fn inside<R>(f: impl FnOnce() -> R) -> R {
        let tls = Self::get();
        let here = 0u8;
        // All that is called lies below.
        let stack = tls.stack_pointer.replace((&raw const here).addr() as u64);
        compiler_fence(Ordering::SeqCst);
        let before = tls.depth.replace(1);
        let result = f();
        tls.stack_pointer.set(stack);
        compiler_fence(Ordering::SeqCst);
        tls.depth.set(before);
        result
    }

    /// The function that was called.
    #[inline(always)]
    pub fn function(&self) -> FunctionId {
        FunctionId((self.slot.get() / 2) as u16)
    }

    /// Address of the function that the program would have reached without us.
    #[inline(always)]
    pub fn real(&self) -> usize {
        // SAFETY: zero, or what the gate stored: the number of a stub's slot.
        unsafe { REAL.load_within(self.slot.get() as usize) }
    }
}

const _: () = assert!(SLOTS / 2 <= u16::MAX as usize);

#[inline(always)]
fn arch_address() -> *const Tls {
    crate::interpose::arch::tls_address().cast()
}
