//! Per-thread state of the gate and the hooks: one cache line of thread-local memory.
//!
//! The block is accessed with the initial-exec model (one load and one addition), which Rust's
//! `thread_local!` does not offer on a stable compiler; `arch` defines the memory and the access.
#![allow(unsafe_code)]

use crate::interpose::interrupted::Interrupted;
use crate::interpose::slots::{REAL, SLOTS};
use mpi_abi::FunctionId;
use mpiscope_image::layout::Thread;
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::sync::atomic::{Ordering, compiler_fence};

/// The thread-local block. All zero when a thread starts.
#[repr(C, align(64))]
pub struct Tls {
    /// 1 inside a hooked call, so that calls the library makes to itself bypass the hooks.
    pub depth: Cell<u32>,
    /// Number of open user callbacks, each with a hooked call below it.
    pub nested: Cell<u32>,
    /// The thread's record; null before its first call.
    pub thread: Cell<*const Thread>,
    /// Written by the gate: the call's return address in the program.
    pub return_address: Cell<u64>,
    /// Written by the gate: stack pointer at the call. Zero while no call is open, so that a call made by a
    /// signal handler after the gate has raised the depth and before it has written this is not compared with
    /// an earlier call.
    pub stack_pointer: Cell<u64>,
    /// Written by the gate: the number of the called slot, see [`real`](Self::real) and
    /// [`function`](Self::function).
    pub slot: Cell<u32>,
    unused: u32,
    /// Stack pointer when the innermost user callback was entered.
    pub callback_stack: Cell<u64>,
    /// The thread's private memory; null before its first call. Floors above keep their data after this part
    /// of it.
    pub local: Cell<*const Interrupted>,
    /// Per-thread data of the event receiver; null until it has any.
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
        // SAFETY: `arch::tls_address` returns the thread's own zero-initialized block of this size and
        // alignment. The reference does not leave the thread: `Tls` is not `Sync`.
        unsafe { &*arch_address() }
    }

    /// Marks the call as over.
    #[inline(always)]
    pub fn leave(&self) {
        self.stack_pointer.set(0);
        compiler_fence(Ordering::SeqCst);
        self.depth.set(0);
    }

    /// Runs `f` as if inside a call, so that calls made by the library are not mistaken for the program's.
    pub fn inside<R>(f: impl FnOnce() -> R) -> R {
        let tls = Self::get();
        let here = 0u8;
        // The frames of everything that `f` calls are at lower addresses.
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

    /// Address of the function that the program would have reached without this library.
    #[inline(always)]
    pub fn real(&self) -> usize {
        // SAFETY: zero, or the number of a stub's slot, as stored by the gate.
        unsafe { REAL.load_within(self.slot.get() as usize) }
    }
}

const _: () = assert!(SLOTS / 2 <= u16::MAX as usize);

#[inline(always)]
fn arch_address() -> *const Tls {
    crate::interpose::arch::tls_address().cast()
}
