//! The frame around a hooked call: what the thread is doing, how often, how long, and how many bytes it
//! moves.
#![allow(unsafe_code)]

mod interrupted;
mod look_up;
mod word;

pub use interrupted::{abandon, take_received};
pub use look_up::{LookUp, count_look_up};
pub use word::{Word, handle_word};

use crate::base::{clock, settings};
use crate::interpose::tls::Tls;
use crate::interpose::upcalls::upcalls;
use interrupted::{interrupted, is_callback_left, resume};
use look_up::usual_thread;
use mpi_abi::{Abi, Flags, FunctionId};
use mpiscope_image::layout::{Call as Current, Recording, Thread};
use std::cell::Cell;
use std::marker::PhantomData;

/// A hooked call in progress on this thread.
///
/// Small, and lent only to functions that are inlined or rare, so that it stays in a few registers and needs
/// no memory. Anything that the thread's record holds anyway is read back from there; the rare paths of the
/// frame itself get a [copy](Self::aside).
pub struct Call<A> {
    tls: &'static Tls,
    thread: &'static Thread,
    function: FunctionId,
    real: usize,
    /// When the call began, in ticks; zero if times are not recorded.
    pub since: u64,
    /// When the library returned, in ticks, once [asked for](Call::returned).
    until: Cell<u64>,
    /// Number of bytes the arguments describe; known once the library has returned.
    bytes: Cell<u64>,
    /// Value that the objects' hooks keep from before the call until after it.
    pub stash: Cell<u64>,
    abi: PhantomData<A>,
}

impl<A: Abi> Call<A> {
    /// Opens the frame. Must come first in every hook, because it raises the depth.
    #[inline(always)]
    pub fn enter(function: FunctionId) -> Self {
        let tls = Tls::get();
        tls.depth.set(1);
        let real = tls.real();
        let opened = Opened::usual(tls).unwrap_or_else(|| open_unusual());
        Self { real, ..Self::known(tls, opened.thread, function, opened.since, 0) }
    }

    /// Publishes the call; `fill` adds the function's parameters.
    #[inline(always)]
    pub fn publish(&self, fill: impl FnOnce(&Current)) {
        self.thread.call.seq.write(|| {
            begin(self.tls, self.thread, self.function, self.since);
            fill(&self.thread.call);
        });
    }

    /// Does [`enter`](Self::enter) and the first part of [`publish`](Self::publish) for functions that are
    /// rarely called or take long. What follows, up to `observe::started_rare`, writes to the record.
    #[inline(always)]
    pub fn enter_rare(function: FunctionId) -> Self {
        let opened = open_rare(function);
        Self { real: Tls::get().real(), ..Self::again(opened.thread, function, opened.since, 0) }
    }

    /// Rebuilds a call from its parts, without its bytes and its stash. For functions that are not inlined:
    /// four words travel in registers, whereas the call itself would have to be stored in memory.
    #[inline(always)]
    pub fn again(thread: &'static Thread, function: FunctionId, since: u64, until: u64) -> Self {
        Self::known(Tls::get(), thread, function, since, until)
    }

    #[inline(always)]
    fn known(
        tls: &'static Tls,
        thread: &'static Thread,
        function: FunctionId,
        since: u64,
        until: u64,
    ) -> Self {
        Self {
            tls,
            thread,
            function,
            real: 0,
            since,
            until: Cell::new(until),
            bytes: Cell::new(0),
            stash: Cell::new(0),
            abi: PhantomData,
        }
    }

    /// Makes a copy to lend to a function that is not inlined, so that the call itself stays in registers.
    #[inline(always)]
    pub fn aside(&self) -> Self {
        let (until, bytes, stash) = (self.until.clone(), self.bytes.clone(), self.stash.clone());
        Self { until, bytes, stash, ..*self }
    }

    /// The thread's record.
    pub fn thread(&self) -> &'static Thread {
        self.thread
    }

    /// The call's return address in the program.
    #[inline(always)]
    pub fn return_address(&self) -> u64 {
        // Code that calls back into the program restores this. The copy that readers see may have been
        // overwritten.
        self.tls.return_address.get()
    }

    /// The program's stack pointer at the call.
    #[inline(always)]
    pub fn stack_pointer(&self) -> u64 {
        self.tls.stack_pointer.get()
    }

    /// Whether a user callback made the call, so that an outer call must be restored. User callbacks of this
    /// call have ended by the time this is called.
    #[inline(always)]
    pub fn is_inside(&self) -> bool {
        self.tls.nested.get() != 0
    }

    /// Whether the frame can be closed on the fast path: no user callback made the call, and the time is
    /// known or read from the processor.
    #[inline(always)]
    pub fn is_usual(&self) -> bool {
        !self.is_inside() && (self.until.get() != 0 || self.since == 0 || self.read_counter())
    }

    /// Reads the end time from the processor's counter. Returns false if times come from another clock.
    #[inline(always)]
    fn read_counter(&self) -> bool {
        let now = clock::counted();
        self.until.set(now.unwrap_or(0));
        now.is_some()
    }

    /// The function being called.
    pub fn function(&self) -> FunctionId {
        self.function
    }

    /// When the library returned, in ticks; zero if times are not recorded. For code that runs after the
    /// library.
    ///
    /// The counter is read the first time this is called, at the latest when the frame is closed. Reading it
    /// serializes the processor, and the hooks' work is cheaper while it can overlap with the library's last
    /// instructions.
    #[inline(always)]
    pub fn returned(&self) -> u64 {
        if self.until.get() == 0 && self.since != 0 {
            self.until.set(clock::now());
        }
        self.until.get()
    }

    /// When the call began and when the library returned; the latter is zero unless [asked
    /// for](Self::returned).
    #[inline(always)]
    pub fn times(&self) -> (u64, u64) {
        (self.since, self.until.get())
    }

    /// The thread-local data of this thread.
    #[inline(always)]
    pub fn tls(&self) -> &'static Tls {
        self.tls
    }

    /// Sets the number of bytes the arguments describe.
    #[inline(always)]
    pub fn name_bytes(&self, bytes: u64) {
        self.bytes.set(bytes);
    }

    /// Number of bytes the arguments describe. For code that runs after the library; zero if the call failed.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Takes the number of bytes, so that they are not counted for this call: they move when the operation it
    /// creates is started.
    #[inline(always)]
    pub fn take_bytes(&self) -> u64 {
        self.bytes.take()
    }

    /// Adds bytes that the arguments do not describe: a message that arrived, or operations the call started.
    #[inline(always)]
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
    }

    /// Counts a received message.
    #[inline(always)]
    pub fn add_received(&self, bytes: u64) {
        self.add_bytes(bytes);
        self.note_received(self.function, bytes);
        // SAFETY: as in `kept`.
        if let Some(private) = unsafe { self.tls.local.get().as_ref() } {
            private.received.set(private.received.get().wrapping_add(bytes));
        }
    }

    /// Counts a received message that another call asked for.
    #[inline(always)]
    pub fn add_received_of(&self, function: FunctionId, bytes: u64) {
        self.add_bytes_of(function, bytes);
        self.note_received(function, bytes);
    }

    #[inline(always)]
    fn note_received(&self, function: FunctionId, bytes: u64) {
        if let Some(received) = self.thread.received.get(usize::from(function.0)) {
            received.add_mine(bytes);
        }
    }

    /// Counts bytes of another function: one whose call asked for them.
    #[inline(always)]
    pub fn add_bytes_of(&self, function: FunctionId, bytes: u64) {
        if let Some(counter) = self.thread.counters.get(usize::from(function.0)) {
            counter.bytes.add_mine(bytes);
        }
    }

    /// Publishes the number of a collective for readers of the thread's record.
    #[inline(always)]
    pub fn set_sequence(&self, number: u64) {
        let [.., last] = &self.thread.call.extra;
        last.set(number);
    }

    /// The number that [`set_sequence`](Self::set_sequence) stored.
    #[inline(always)]
    pub fn sequence(&self) -> u64 {
        let [.., last] = &self.thread.call.extra;
        last.get()
    }

    /// The operation passed to the function; stale, from an earlier call, if the function takes none.
    #[inline(always)]
    pub fn operation(&self) -> u64 {
        let [.., operation, _] = &self.thread.call.extra;
        operation.get()
    }

    /// Number of the thread's open calls below this one.
    #[inline(always)]
    pub fn level(&self) -> usize {
        self.tls.nested.get() as usize
    }

    /// The function that the program would have reached without this library.
    ///
    /// # Safety
    ///
    /// `F` must be the C type of the function.
    #[inline(always)]
    pub unsafe fn real<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: the resolver stored the address of the real function, and the caller guarantees its type.
        unsafe { std::mem::transmute_copy(&self.real) }
    }

    /// Closes the frame: counts the call with its time and its bytes.
    pub fn leave(&self) {
        let until = self.returned();
        if self.is_inside() {
            return self.leave_inside();
        }
        close(self.tls, self.thread, self.function, self.counted_since(), until, self.bytes.get());
    }

    /// When the call began, or zero if its time is not counted: look-ups are timed only on request, even if a
    /// listener receives them.
    pub fn counted_since(&self) -> u64 {
        let look_up = self.function.properties().flags.has(Flags::LOOKUP);
        if look_up && !settings::records(Recording::LOOKUPS) { 0 } else { self.since }
    }

    /// [`leave`](Self::leave) for a call made by a user callback: its time is part of the outer call's.
    #[cold]
    #[inline(never)]
    fn leave_inside(&self) {
        count(self.thread, self.function, self.counted_since(), self.until.get(), self.bytes.get());
        resume(self.tls, self.thread);
        self.tls.leave();
    }

    /// Takes over what a copy lent [aside](Self::aside) has recorded.
    #[inline(always)]
    pub fn learn(&self, copy: &Self) {
        self.until.set(copy.until.get());
        self.bytes.set(copy.bytes.get());
        self.stash.set(copy.stash.get());
    }
}

/// Closes the frame of a call that [is usual](Call::is_usual): counts the call with its time and its bytes.
#[inline(always)]
pub fn close(tls: &Tls, thread: &Thread, function: FunctionId, since: u64, until: u64, bytes: u64) {
    count(thread, function, since, until, bytes);
    if since != 0 {
        thread.mpi_ticks.add_mine(until.wrapping_sub(since));
    }
    let current = &thread.call;
    current.seq.write(|| {
        current.end(u32::from(function.0));
        current.since.set(until);
        current.completed.add_mine(1);
    });
    tls.leave();
}

#[inline(always)]
fn count(thread: &Thread, function: FunctionId, since: u64, until: u64, bytes: u64) {
    let Some(counter) = thread.counters.get(usize::from(function.0)) else { return };
    counter.count.add_mine(1);
    if bytes != 0 {
        counter.bytes.add_mine(bytes);
    }
    if since != 0 {
        counter.ticks.add_mine(until.wrapping_sub(since));
    }
}

/// Closes the frame of a [usual](Call::is_usual) call that was not timed; the record keeps the time the call
/// began.
#[inline(always)]
pub fn close_untimed(tls: &Tls, thread: &Thread, function: FunctionId, bytes: u64) {
    count(thread, function, 0, 0, bytes);
    let current = &thread.call;
    current.seq.write(|| {
        current.end(u32::from(function.0));
        current.completed.add_mine(1);
    });
    tls.leave();
}

/// Adds the estimated time of calls that were not timed.
pub fn add_estimate(thread: &Thread, function: FunctionId, calls: u64, ticks: u64) {
    let function = usize::from(function.0);
    if let (Some(counter), Some(estimated)) = (thread.counters.get(function), thread.estimated.get(function))
    {
        counter.ticks.add_mine(ticks);
        estimated.add_mine(calls);
    }
    thread.mpi_ticks.add_mine(ticks);
}

/// What is known of a call when its frame is opened. Returned in two registers; a whole call would be
/// returned in memory.
#[derive(Clone, Copy)]
#[repr(C)]
struct Opened {
    thread: &'static Thread,
    since: u64,
}

/// What is known of a look-up when its frame is opened. Without a thread, the call has been counted already
/// and nothing more is recorded of it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenedLookUp {
    #[allow(missing_docs)]
    pub thread: Option<&'static Thread>,
    #[allow(missing_docs)]
    pub since: u64,
}

impl OpenedLookUp {
    /// Opens a look-up that is recorded like other calls: see [`Call::enter_rare`].
    #[inline(always)]
    pub fn recorded(function: FunctionId) -> Self {
        let opened = open_rare(function);
        Self { thread: Some(opened.thread), since: opened.since }
    }
}

impl Opened {
    /// `None` for a thread's first call, a call from a user callback, or if times come from the system's
    /// clock.
    #[inline(always)]
    fn usual(tls: &Tls) -> Option<Self> {
        let thread = usual_thread(tls)?;
        let since = if settings::records(Recording::TIMES) { clock::counted()? } else { 0 };
        Some(Self { thread, since })
    }
}

// Out-of-line parts use the C calling convention: it cannot unwind, so the hooks need no landing pads.

/// The out-of-line part of [`Call::enter_rare`]. Unusual cases are left to a tail call, so that this function
/// saves no registers.
#[inline(never)]
extern "C" fn open_rare(function: FunctionId) -> Opened {
    let tls = Tls::get();
    let Some(opened) = Opened::usual(tls) else { return open_rare_unusual(function) };
    tls.depth.set(1);
    opened.thread.call.seq.begin();
    begin(tls, opened.thread, function, opened.since);
    opened
}

#[cold]
#[inline(never)]
extern "C" fn open_rare_unusual(function: FunctionId) -> Opened {
    let tls = Tls::get();
    tls.depth.set(1);
    let opened = open_unusual();
    opened.thread.call.seq.begin();
    begin(tls, opened.thread, function, opened.since);
    opened
}

/// Handles a thread's first call, calls from user callbacks, and times by the system's clock.
#[cold]
#[inline(never)]
extern "C" fn open_unusual() -> Opened {
    let tls = Tls::get();
    // SAFETY: as in `usual_thread`.
    let thread = unsafe { tls.thread.get().as_ref() }.unwrap_or_else(|| (upcalls().attach)(tls));
    if tls.nested.get() != 0 {
        interrupted(tls, thread);
    }
    let since = if settings::records(Recording::TIMES) { clock::now() } else { 0 };
    Opened { thread, since }
}

/// Returns the thread's record for a look-up that is the thread's first call or is made in a user callback.
/// Such a call is counted like any other, but readers keep seeing the call that the callback interrupts.
#[inline(always)]
pub fn look_up_unusual(tls: &'static Tls) -> &'static Thread {
    // As in `interrupted`.
    let _ = tls.nested.get() != 0 && is_callback_left(tls);
    // SAFETY: as in `usual_thread`.
    unsafe { tls.thread.get().as_ref() }.unwrap_or_else(|| (upcalls().attach)(tls))
}

/// Writes the fields common to all calls.
#[inline(always)]
fn begin(tls: &Tls, thread: &Thread, function: FunctionId, since: u64) {
    let current = &thread.call;
    current.begin(u32::from(function.0));
    current.nested.set(tls.nested.get());
    current.since.set(since);
    current.return_address.set(tls.return_address.get());
    current.stack_pointer.set(tls.stack_pointer.get());
}
