//! Private memory of a thread, which readers never see: the per-thread state of each part of the recording.
#![allow(unsafe_code)]

use crate::interpose::interrupted::Interrupted;
use crate::interpose::tls::Tls;
use crate::record::call_path::memo::Memo;
use crate::record::sites::index::Index;
use crate::record::size_cache::SizeCache;
use crate::record::tracer::Tracer;
use crate::record::traffic::ran::Ran;
use crate::record::traffic::scratch_memory::Stack;
use mpi_abi::{FunctionId, f};
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// Private memory of a thread, which readers never see. [`Tls::local`] points to its beginning.
#[repr(C, align(64))]
pub struct Local {
    // Its last word and the following fields are what every call needs: they share a cache line.
    pub(super) interrupted: Interrupted,
    /// The thread's call sites; `None` if the image had no room for the thread.
    pub sites: Cell<Option<&'static Index>>,
    /// The handle changes that `sites` has taken into account: see [`crate::record::sites`].
    pub handles: Cell<u64>,
    /// See [`crate::record::bytes`].
    pub sizes: SizeCache,
    /// See [`crate::record::traffic::scratch`].
    pub traffic: Stack,
    /// The thread's interpreter state, once validated: see [`crate::record::python_call_site`].
    pub python: Cell<u64>,
    /// Beginning and end of the thread's stack, once queried: see [`crate::record::stack_frames::bounds`].
    pub stack: Cell<(u64, u64)>,
    /// Memo of the thread's stack walks; created by the first one.
    pub walks: OnceCell<Box<Memo>>,
    /// The thread's trace ring; `None` without a trace, or if the image had no room.
    pub trace: Cell<Option<Tracer>>,
    /// Index of the thread's record in the image; `u64::MAX` if the image had no room.
    pub index: AtomicU64,
    /// Number of calls that the record had counted before this thread got it.
    pub(super) before: Cell<u64>,
    /// Bytes moved by the last `MPI_Start` or `MPI_Startall` that count for other functions: see
    /// [`moved_for_others`].
    for_others: Cell<u64>,
    /// See [`crate::record::traffic::preempted`].
    pub ran: Cell<Ran>,
}

impl Local {
    /// Initializes the fields in place. A temporary value would be built on the stack first, and is larger
    /// than the stacks of some threads.
    pub(super) fn new() -> Box<Self> {
        let mut place = Box::<Self>::new_uninit();
        let local = place.as_mut_ptr();
        // SAFETY: the memory is ours, and every field is written once.
        unsafe {
            (&raw mut (*local).interrupted).write(Interrupted::default());
            (&raw mut (*local).handles).write(Cell::default());
            (&raw mut (*local).sizes).write(Default::default());
            (&raw mut (*local).traffic).write(Default::default());
            (&raw mut (*local).sites).write(Cell::default());
            (&raw mut (*local).python).write(Cell::default());
            (&raw mut (*local).stack).write(Cell::default());
            (&raw mut (*local).walks).write(OnceCell::new());
            (&raw mut (*local).trace).write(Cell::default());
            (&raw mut (*local).index).write(AtomicU64::default());
            (&raw mut (*local).before).write(Cell::default());
            (&raw mut (*local).for_others).write(Cell::default());
            (&raw mut (*local).ran).write(Cell::default());
            place.assume_init()
        }
    }
}

const _: () = assert!(offset_of!(Local, sites) % 64 == 8);

/// Returns the private memory of this thread, once it has made a call.
#[inline(always)]
pub fn of(tls: &Tls) -> Option<&'static Local> {
    // SAFETY: null, or stored when the thread was attached; it lives until the thread has ended.
    unsafe { tls.local.get().cast::<Local>().as_ref() }
}

/// Returns the index of this thread's record in the image; `u64::MAX` if it has none.
pub fn index(tls: &Tls) -> u64 {
    of(tls).map_or(u64::MAX, |l| l.index.load(Ordering::Relaxed))
}

/// The current call starts persistent operations; resets the bytes that they move.
pub fn moves_nothing_for_others(tls: &Tls) {
    of(tls).inspect(|local| local.for_others.set(0));
}

/// The current call started an operation whose bytes count for the function that created it.
pub fn moved_for_others(tls: &Tls, bytes: u64) {
    of(tls).inspect(|local| local.for_others.set(local.for_others.get().saturating_add(bytes)));
}

/// Returns all bytes that a finished call moved: those that count for it, and those that count for other
/// functions.
pub fn all_moved(tls: &Tls, function: FunctionId, bytes: u64) -> u64 {
    if ![f::MPI_Start, f::MPI_Startall].contains(&function) {
        return bytes;
    }
    of(tls).map_or(bytes, |local| bytes.saturating_add(local.for_others.get()))
}
