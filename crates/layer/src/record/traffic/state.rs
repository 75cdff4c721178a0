//! The state that the hooks of this module share within the process, and its lock.
#![allow(unsafe_code)]

use super::comm_cache::Lines;
use super::fault_ring::Faults;
use super::ledger::Ledger;
use super::levels::Level;
use super::one_sided_ring;
use super::operations::Operations;
use super::orphans::Orphans;
use super::probed::Probed;
use super::recent;
use super::status::Sizes;
use super::table::Table;
use super::wait_listener;
use super::watched::Watched;
use crate::base::{image, settings};
use crate::events;
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::Writer;
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::traffic::{Message, Request, Traffic};
use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Requests that were started and are not known to be complete.
pub static PENDING: Level = Level::new(reconsider);
/// Receives that are posted.
pub static POSTED: Level = Level::new(reconsider);

/// Null until the process can communicate.
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());

/// Everything that the hooks of this module share. Fields are cells, to be used only while the state is
/// [`Held`].
pub struct State {
    /// Whether several threads may call MPI at once.
    multiple: AtomicBool,
    locked: AtomicBool,
    /// The image's writer, which makes records.
    pub writer: &'static Writer,
    /// The totals in the image.
    pub totals: &'static Traffic,
    /// Live requests by handle.
    pub requests: Table<Request>,
    /// Messages matched by probes, by handle.
    pub messages: Table<Message>,
    /// The communicators used last.
    pub lines: Lines,
    /// Messages sent and received, if they are recorded one by one.
    pub ledger: Ledger,
    /// One-sided operations, likewise.
    pub one_sided: one_sided_ring::Ring,
    /// Errors seen in calls.
    pub faults: Faults,
    /// Receives that the program freed while they were active.
    pub orphans: Orphans,
    /// Probes whose message has not been received yet.
    pub probed: Probed,
    /// Receives whose buffers are compared.
    pub watched: Watched,
    /// Envelopes of the last messages sent.
    pub recently_sent: recent::Ring,
    /// Envelopes of the last messages received.
    pub recently_received: recent::Ring,
    /// `MPI_REQUEST_NULL` and `MPI_MESSAGE_NULL`.
    pub null_request: u64,
    #[allow(missing_docs)]
    pub null_message: u64,
    /// Whether the request variable is read before a call sets it. Not under a memory checker, which would
    /// report that as an error of the program.
    pub looks_at_variables: bool,
    /// Handles that the library returns for requests that are complete at start, as far as known; zero if
    /// unused.
    pub shared: [Cell<u64>; 4],
    /// Numbers of the operations posted and messages matched by probes.
    pub operations: Operations,
    /// How to read the size of a message in a status.
    pub sizes: Sizes,
}

// SAFETY: the cells are only used by the one thread that holds the lock (`Guard`), or, while the process may
// not call MPI from several threads at once, by the one thread that is in MPI.
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
        // Two sessions started at once in two threads: the other one was faster, and our state stays unused.
        Err(_) => get(),
    }
}

/// Returns the state, once the process can communicate.
#[inline(always)]
pub fn get() -> Option<&'static State> {
    // SAFETY: null, or leaked by `start`.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

impl State {
    /// Returns a state with empty tables.
    pub fn new(
        writer: &'static Writer,
        totals: &'static Traffic,
        null_request: u64,
        null_message: u64,
        sizes: Sizes,
    ) -> Self {
        let base = std::ptr::from_ref(writer.header()) as usize;
        let [recently_sent, recently_received] = recent::make(writer, totals);
        Self {
            multiple: true.into(),
            locked: false.into(),
            writer,
            totals,
            requests: Table::new(base),
            messages: Table::new(base),
            lines: Lines::default(),
            ledger: Ledger::default(),
            one_sided: one_sided_ring::Ring::default(),
            faults: Faults::default(),
            orphans: Orphans::default(),
            probed: Probed::default(),
            watched: Watched::new(),
            recently_sent,
            recently_received,
            null_request,
            null_message,
            looks_at_variables: !settings::memory_is_checked(),
            shared: Default::default(),
            operations: Operations::default(),
            sizes,
        }
    }

    /// Returns the number for an operation that is posted, or a message that a probe matches.
    #[inline(always)]
    pub fn next_operation(&self) -> u64 {
        self.operations.next()
    }

    /// Whether several threads may call MPI at once.
    #[inline(always)]
    pub fn is_multiple(&self) -> bool {
        self.multiple.load(Ordering::Relaxed)
    }

    /// Sets whether several threads may call MPI at once.
    pub fn set_multiple(&self, multiple: bool) {
        self.multiple.store(multiple, Ordering::SeqCst);
        reconsider();
    }
}

/// Whether anything in this module is recorded at all.
#[inline(always)]
pub fn recorded() -> bool {
    settings::recording() & (Recording::OBJECTS.0 | Recording::MESSAGES.0) != 0
}

/// The state while it is `Held::QUIET`; null otherwise.
static QUIET: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());
/// Number of times that [`reconsider`] was called.
static RECONSIDERED: AtomicU64 = AtomicU64::new(0);

/// Must be called after any change that affects whether the state is quiet. Async-signal-safe.
pub fn reconsider() {
    RECONSIDERED.fetch_add(1, Ordering::SeqCst);
    loop {
        let seen = RECONSIDERED.load(Ordering::SeqCst);
        let quiet = get().filter(|state| {
            recorded()
                && !settings::records(Recording::MESSAGES)
                && !state.is_multiple()
                && !events::anybody()
                && ![&PENDING, &POSTED].iter().any(|level| level.watch.is_watched())
                && !state.orphans.any()
                && wait_listener::get().is_none()
        });
        QUIET.store(
            quiet.map_or(std::ptr::null_mut(), |state| std::ptr::from_ref(state).cast_mut()),
            Ordering::SeqCst,
        );
        // A concurrent caller may have seen newer values than we did, and stored its result before us.
        if RECONSIDERED.load(Ordering::SeqCst) == seen {
            return;
        }
    }
}

/// The right to use the state; passed by value, so that it stays in a register.
///
/// `QUIET`: there are no listeners, nothing is written to the ledger, and no other thread can be in MPI. Most
/// jobs run like this, and the hooks are compiled for it without everything else.
#[derive(Clone, Copy)]
pub struct Held<const QUIET: bool>(&'static State);

/// Holds that right until dropped. Between a thread's `hold` and the drop nothing may be called that could
/// call MPI.
pub struct Guard {
    held: Held<false>,
    locked: bool,
}

/// Acquires the state for this thread alone. `None` if nothing is recorded.
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
    Some(Guard { held: Held(state), locked })
}

/// Whether the state is `Held::QUIET`. One load.
#[inline(always)]
pub fn is_quiet() -> bool {
    !QUIET.load(Ordering::Relaxed).is_null()
}

/// The work of a hook on the state.
pub trait Step<A: Abi> {
    /// Does the work.
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>);
}

/// Runs the step returned by `make` with the state held, if anything is recorded. For the most expensive
/// hooks: the step is written to memory only on the rarer path.
#[inline(always)]
pub fn with<A: Abi, S: Step<A>>(call: &Call<A>, make: impl FnOnce() -> S) {
    // SAFETY: null, or leaked by `start`.
    match unsafe { QUIET.load(Ordering::Acquire).as_ref() } {
        Some(state) => make().run(Held::<true>(state), call),
        None if recorded() => {
            let copy = call.aside();
            loud(&copy, make());
            call.learn(&copy);
        }
        None => {}
    }
}

#[inline(never)]
fn loud<A: Abi>(call: &Call<A>, step: impl Step<A>) {
    if let Some(held) = hold() {
        step.run(*held, call);
    }
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

impl<const QUIET: bool> Held<QUIET> {
    /// The same right for code that runs too rarely to be compiled twice.
    #[inline(always)]
    pub fn as_any(self) -> Held<false> {
        Held(self.0)
    }
}

impl<const QUIET: bool> Deref for Held<QUIET> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        self.0
    }
}

impl Deref for Guard {
    type Target = Held<false>;

    #[inline(always)]
    fn deref(&self) -> &Held<false> {
        &self.held
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.locked {
            self.held.locked.store(false, Ordering::Release);
        }
    }
}
