//! Memory of a thread that readers never see: what each part of the recording keeps of it.
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

/// Memory of a thread that readers never see. [`Tls::local`] points to its beginning.
#[repr(C, align(64))]
pub struct Local {
    // Its last word, and what follows, is what every call needs: one line of the cache.
    pub(super) interrupted: Interrupted,
    /// Its call sites; none if the image had no room for the thread.
    pub sites: Cell<Option<&'static Index>>,
    /// Which changes of handles `sites` knows: see [`crate::record::sites`].
    pub handles: Cell<u64>,
    /// See [`crate::record::bytes`].
    pub sizes: SizeCache,
    /// See [`crate::record::traffic::scratch`].
    pub traffic: Stack,
    /// The interpreter's state of the thread, once it has been seen to be that: see [`crate::record::python_call_site`].
    pub python: Cell<u64>,
    /// Beginning and end of its stack, once they were asked for: see [`crate::record::stack_frames::bounds`].
    pub stack: Cell<(u64, u64)>,
    /// Its walks up the stack; made with the first one.
    pub walks: OnceCell<Box<Memo>>,
    /// Its ring of the trace; none without a trace, and if the image had no room.
    pub trace: Cell<Option<Tracer>>,
    /// Index of the thread's record in the image; `u64::MAX` if the image had no room.
    pub index: AtomicU64,
    /// Calls that its record had counted before it was this thread's.
    pub(super) before: Cell<u64>,
    /// Bytes that the last call of `MPI_Start` or `MPI_Startall` moved and that count for other functions: see [`moved_for_others`].
    for_others: Cell<u64>,
    /// See [`crate::record::traffic::preempted`].
    pub ran: Cell<Ran>,
}

impl Local {
    /// Made where it stays, one field after the other: as a value it would be on the stack first, and is larger than what some
    /// threads have.
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

/// The private memory of this thread, once it has made a call.
#[inline(always)]
pub fn of(tls: &Tls) -> Option<&'static Local> {
    // SAFETY: null, or stored when the thread was attached; it lives until the thread has ended.
    unsafe { tls.local.get().cast::<Local>().as_ref() }
}

/// Index of this thread's record in the image.
pub fn index(tls: &Tls) -> u64 {
    of(tls).map_or(u64::MAX, |l| l.index.load(Ordering::Relaxed))
}

/// The call that is under way starts persistent operations, of which none is known yet.
pub fn moves_nothing_for_others(tls: &Tls) {
    of(tls).inspect(|local| local.for_others.set(0));
}

/// It has started one whose bytes count for the function that made it.
pub fn moved_for_others(tls: &Tls, bytes: u64) {
    of(tls).inspect(|local| local.for_others.set(local.for_others.get().saturating_add(bytes)));
}

/// What a call moved that has ended: the bytes that count for it, and those that count for others.
pub fn all_moved(tls: &Tls, function: FunctionId, bytes: u64) -> u64 {
    if ![f::MPI_Start, f::MPI_Startall].contains(&function) {
        return bytes;
    }
    of(tls).map_or(bytes, |local| bytes.saturating_add(local.for_others.get()))
}
