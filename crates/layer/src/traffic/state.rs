//! What this module keeps in the process, and the lock around it.
#![allow(unsafe_code)]

use super::ledger::Ring;
use super::lines::Lines;
use super::table::Table;
use crate::{image, settings};
use mpiscope_image::Writer;
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::traffic::{Message, Request, Traffic};
use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Null until the process can communicate.
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());

/// Everything that the hooks of this module share. Fields are cells: who holds the [`Guard`] may use them.
pub struct State {
    /// Several threads may call MPI at once.
    multiple: AtomicBool,
    locked: AtomicBool,
    /// Where records are made.
    pub writer: &'static Writer,
    /// The totals in the image.
    pub totals: &'static Traffic,
    /// Live requests by handle.
    pub requests: Table<Request>,
    /// Messages matched by probes, by handle.
    pub messages: Table<Message>,
    /// Communicators used last.
    pub lines: Lines,
    /// Messages sent.
    pub sent: Ring,
    /// Messages received.
    pub received: Ring,
    /// `MPI_REQUEST_NULL` and `MPI_MESSAGE_NULL`.
    pub null_request: u64,
    #[allow(missing_docs)]
    pub null_message: u64,
    /// Handles that the library gives to requests that are complete at start, as far as known; zero for none.
    pub shared: [Cell<u64>; 4],
    /// Requests and messages made so far: they are part of the uids.
    pub serials: (Cell<u64>, Cell<u64>),
    /// How to read the size of a message in a status.
    pub sizes: super::status::Sizes,
}

// SAFETY: the cells are only used by the one thread that holds the lock (`Guard`), or, while the process is not
// allowed to call MPI from several threads at once, by the one thread that is in MPI.
unsafe impl Sync for State {}

/// Makes the state, once.
pub fn start(make: impl FnOnce(&'static Writer, &'static Traffic) -> State) -> Option<&'static State> {
    if let Some(state) = get() {
        return Some(state);
    }
    let writer = image::writer()?;
    let (_, totals) = writer.new_record::<Traffic>(SectionKind::TRAFFIC, 1)?;
    let state = Box::leak(Box::new(make(writer, totals)));
    let null = std::ptr::null_mut();
    match STATE.compare_exchange(null, state, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(state),
        // Two sessions at once in two threads: the other one was faster, and ours is left unused.
        Err(_) => get(),
    }
}

/// The state, once the process can communicate.
#[inline(always)]
pub fn get() -> Option<&'static State> {
    // SAFETY: null, or leaked by `start`.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

impl State {
    /// A state with empty tables.
    pub fn new(
        writer: &'static Writer,
        totals: &'static Traffic,
        null_request: u64,
        null_message: u64,
        sizes: super::status::Sizes,
    ) -> Self {
        let base = std::ptr::from_ref(writer.header()) as usize;
        Self {
            multiple: true.into(),
            locked: false.into(),
            writer,
            totals,
            requests: Table::new(base),
            messages: Table::new(base),
            lines: Lines::default(),
            sent: Ring::default(),
            received: Ring::default(),
            null_request,
            null_message,
            shared: Default::default(),
            serials: (Cell::new(0), Cell::new(0)),
            sizes,
        }
    }

    /// Whether several threads may call MPI at once.
    #[inline(always)]
    pub fn is_multiple(&self) -> bool {
        self.multiple.load(Ordering::Relaxed)
    }

    /// Says whether several threads may call MPI at once.
    pub fn set_multiple(&self, multiple: bool) {
        self.multiple.store(multiple, Ordering::Relaxed);
    }
}

/// Whether any of this is recorded at all.
#[inline(always)]
pub fn recorded() -> bool {
    settings::recording() & (Recording::OBJECTS.0 | Recording::MESSAGES.0) != 0
}

/// The right to use the state. Between a thread's `hold` and the drop nothing may be called that could call MPI.
pub struct Guard {
    state: &'static State,
    locked: bool,
}

/// The state, for this thread alone. Nothing if nothing is recorded.
#[inline(always)]
pub fn hold() -> Option<Guard> {
    if !recorded() {
        return None;
    }
    let state = get()?;
    let locked = state.is_multiple();
    if locked {
        lock(&state.locked);
    }
    Some(Guard { state, locked })
}

#[inline]
fn lock(locked: &AtomicBool) {
    let mut tries = 0u32;
    while locked.swap(true, Ordering::Acquire) {
        tries += 1;
        // The holder may have lost its processor.
        if tries.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}

impl Deref for Guard {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        self.state
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.locked {
            self.state.locked.store(false, Ordering::Release);
        }
    }
}
