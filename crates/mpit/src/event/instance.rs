//! Event instances: the data a callback can read. They are stored on the raiser's stack and exist only during
//! the callback.
//!
//! Each thread records the instances it is delivering in a small array; an instance word says at which index,
//! and in which delivery. A word that was kept beyond its callback, is used in another thread, or is not an
//! instance at all is therefore rejected without being dereferenced.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::types::EventType;
use crate::codes::{CbSafety, Error, Result};
use crate::word::{InstanceWord, RegistrationWord};

/// The maximum nesting depth of deliveries in a thread: events raised by callbacks of events raised by
/// callbacks, and so on.
pub const MAX_DEPTH: usize = 8;

/// One event, on the raiser's stack.
pub(super) struct Instance<'a> {
    pub(super) event: &'a EventType,
    pub(super) source: usize,
    pub(super) timestamp: u64,
    pub(super) payload: &'a [u8],
    pub(super) context: CbSafety,
    /// The word passed to the callback that is running.
    pub(super) word: Cell<InstanceWord>,
}

/// The cause of an event: the program, or a callback, identified by its registration.
///
/// A callback may call functions that raise events. To keep a tool from observing itself, and its cost in
/// proportion to the program's activity, an event caused by a callback is raised for all registrations except
/// that callback's, and calls made in the callbacks for *such* an event raise no events at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin(RegistrationWord);

impl Origin {
    /// The program.
    pub const PROGRAM: Self = Self(RegistrationWord::NULL);

    /// Whether a registration receives events of this origin.
    #[inline(always)]
    pub(super) fn is_for(self, registration: RegistrationWord) -> bool {
        self.0 != registration
    }
}

/// The deliveries in progress in a thread. It has no destructor, so it is usable in signal handlers and at
/// thread exit.
pub struct Frames {
    depth: Cell<usize>,
    frames: [Cell<*const Instance<'static>>; MAX_DEPTH],
    deliveries: Cell<u32>,
    /// Identifies the thread; 0 until the first delivery.
    id: Cell<u64>,
    /// The registration whose callback is running; null outside of callbacks.
    acting: Cell<RegistrationWord>,
    /// Whether that callback runs for an event that a callback caused.
    chained: Cell<bool>,
}

thread_local! {
    static THREAD: Frames = const {
        Frames {
            depth: Cell::new(0),
            frames: [const { Cell::new(ptr::null()) }; MAX_DEPTH],
            deliveries: Cell::new(0),
            id: Cell::new(0),
            acting: Cell::new(RegistrationWord::NULL),
            chained: Cell::new(false),
        }
    };
}

static THREADS: AtomicU64 = AtomicU64::new(0);
const DEPTH_BITS: usize = 4;
const ID_MASK: u64 = (1 << 20) - 1;

/// Returns this thread's frames, for callers with per-thread memory that is faster to reach than thread-local
/// storage: the methods of [`Frames`] mirror the functions of this module. The pointer is valid until the
/// thread has exited, and only in this thread.
#[must_use]
pub fn frames() -> *const Frames {
    THREAD.try_with(ptr::from_ref).unwrap_or(ptr::null())
}

/// Runs `f` with this thread's frames; does nothing if the thread's storage is already destroyed.
#[inline]
pub fn with_frames(f: impl FnOnce(&Frames)) {
    // A `const` thread-local without a destructor always exists.
    let _ = THREAD.try_with(f);
}

/// The strictest requirement of the callbacks that are running in this thread; `None` outside of callbacks.
pub(super) fn current_safety() -> Option<CbSafety> {
    let strictest = |thread: &Frames| {
        let frames = thread.frames.iter().take(thread.depth.get());
        // SAFETY: frames below the depth are on this thread's stack, in `Frames::deliver` right now.
        frames.filter_map(|frame| unsafe { frame.get().as_ref() }).map(|instance| instance.context).max()
    };
    THREAD.try_with(strictest).ok().flatten()
}

/// This thread's lane for pinning registrations.
pub(super) fn current_lane() -> usize {
    THREAD.try_with(Frames::lane).unwrap_or(0)
}

/// Ends a callback, including when it unwinds.
struct Act<'a>(&'a Frames, RegistrationWord, bool);

impl Drop for Act<'_> {
    fn drop(&mut self) {
        self.0.acting.set(self.1);
        self.0.chained.set(self.2);
    }
}

/// Ends a delivery, including when a callback unwinds.
struct Leave<'a>(&'a Frames);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

impl Frames {
    /// Whether there is room for another nested delivery.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.depth.get() < MAX_DEPTH
    }

    /// Runs `f` while `instance` can be looked up in this thread.
    #[inline]
    pub(super) fn deliver(&self, instance: &Instance<'_>, f: impl FnOnce(usize)) {
        let depth = self.depth.get();
        let Some(frame) = self.frames.get(depth) else { return };
        frame.set(ptr::from_ref(instance).cast());
        // A signal handler that delivers from here on uses the frames above this one.
        self.depth.set(depth + 1);
        let _leave = Leave(self);
        f(depth);
    }

    /// The cause of what this thread observes now; `None` if no event may be raised.
    #[inline(always)]
    pub fn origin(&self) -> Option<Origin> {
        if self.chained.get() { None } else { Some(Origin(self.acting.get())) }
    }

    /// Runs a callback of a registration for an event of `origin`.
    #[inline(always)]
    pub(super) fn act(&self, registration: RegistrationWord, origin: Origin, callback: impl FnOnce()) {
        let _act = Act(self, self.acting.get(), self.chained.get());
        self.acting.set(registration);
        self.chained.set(origin != Origin::PROGRAM);
        callback();
    }

    #[inline]
    fn id(&self) -> usize {
        if self.id.get() == 0 {
            self.id.set((THREADS.fetch_add(1, Ordering::Relaxed) & ID_MASK).max(1));
        }
        self.id.get() as usize
    }

    /// The lane in which this thread pins registrations.
    #[inline]
    pub(super) fn lane(&self) -> usize {
        self.id()
    }

    /// Creates the instance word for the next callback.
    #[inline]
    pub(super) fn next_word(&self, depth: usize) -> InstanceWord {
        let delivery = self.deliveries.get().wrapping_add(1);
        self.deliveries.set(delivery);
        InstanceWord::new(self.id() << DEPTH_BITS | depth, delivery)
    }
}

fn with_instance<R>(word: InstanceWord, f: impl FnOnce(&Instance<'_>) -> Result<R>) -> Result<R> {
    THREAD.try_with(|frames| frames.find(word).and_then(f)).unwrap_or(Err(Error::INVALID_HANDLE))
}

impl Frames {
    /// The instance of a running callback.
    #[inline(always)]
    fn find(&self, word: InstanceWord) -> Result<&Instance<'_>> {
        let (index, _) = word.parts().ok_or(Error::INVALID_HANDLE)?;
        let depth = index & ((1 << DEPTH_BITS) - 1);
        if depth >= self.depth.get() {
            return Err(Error::INVALID_HANDLE);
        }
        let frame = self.frames.get(depth).ok_or(Error::INVALID_HANDLE)?;
        // SAFETY: frames below the depth are on this thread's stack, in `Frames::deliver` right now.
        let instance = unsafe { frame.get().as_ref() }.ok_or(Error::INVALID_HANDLE)?;
        if instance.word.get() != word { Err(Error::INVALID_HANDLE) } else { Ok(instance) }
    }

    /// [`read_raw`].
    ///
    /// # Errors
    /// As [`read`].
    ///
    /// # Safety
    /// As [`read_raw`].
    #[inline(always)]
    pub unsafe fn read_raw(
        &self,
        instance: InstanceWord,
        element: impl TryInto<usize>,
        out: *mut u8,
    ) -> Result<()> {
        let from = self.find(instance)?.element(crate::table::index(element)?)?;
        // SAFETY: guaranteed by the caller; the payload is borrowed for the delivery in progress.
        unsafe {
            match from.len() {
                8 => out.cast::<[u8; 8]>().write_unaligned(*from.as_ptr().cast()),
                4 => out.cast::<[u8; 4]>().write_unaligned(*from.as_ptr().cast()),
                length => ptr::copy_nonoverlapping(from.as_ptr(), out, length),
            }
        }
        Ok(())
    }

    /// [`copy_raw`].
    ///
    /// # Errors
    /// As [`copy`].
    ///
    /// # Safety
    /// As [`copy_raw`].
    #[inline(always)]
    pub unsafe fn copy_raw(&self, instance: InstanceWord, out: *mut u8) -> Result<()> {
        let payload = self.find(instance)?.payload;
        // SAFETY: guaranteed by the caller; the payload is as long as the extent.
        unsafe { ptr::copy_nonoverlapping(payload.as_ptr(), out, payload.len()) };
        Ok(())
    }

    /// [`timestamp`].
    ///
    /// # Errors
    /// As [`timestamp`].
    #[inline(always)]
    pub fn timestamp(&self, instance: InstanceWord) -> Result<u64> {
        self.find(instance).map(|instance| instance.timestamp)
    }

    /// [`source_index`].
    ///
    /// # Errors
    /// As [`source_index`].
    #[inline(always)]
    pub fn source_index(&self, instance: InstanceWord) -> Result<usize> {
        self.find(instance).map(|instance| instance.source)
    }

    /// [`event_index`].
    ///
    /// # Errors
    /// As [`event_index`].
    #[inline(always)]
    pub fn event_index(&self, instance: InstanceWord) -> Result<usize> {
        self.find(instance).map(|instance| instance.event.index)
    }
}

impl Instance<'_> {
    #[inline]
    fn element(&self, at: usize) -> Result<&[u8]> {
        let element = self.event.element(at).ok_or(Error::INVALID_INDEX)?;
        let end = element.displacement + element.datatype.size();
        self.payload.get(element.displacement..end).ok_or(Error::INVALID)
    }
}

/// Copies one element of the event into the first bytes of `out`. Async-signal-safe, like all functions here.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] if the instance does not belong to a callback running in this thread;
/// [`Error::INVALID_INDEX`]; [`Error::INVALID`] if `out` is too short.
#[inline]
pub fn read(instance: InstanceWord, element: impl TryInto<usize>, out: &mut [u8]) -> Result<()> {
    let at = crate::table::index(element)?;
    with_instance(instance, |instance| copy_into(instance.element(at)?, out))
}

/// Copies the whole payload into the first bytes of `out`.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as [`read`]; [`Error::INVALID`] if `out` is too short.
#[inline]
pub fn copy(instance: InstanceWord, out: &mut [u8]) -> Result<()> {
    with_instance(instance, |instance| copy_into(instance.payload, out))
}

#[inline]
fn copy_into(from: &[u8], out: &mut [u8]) -> Result<()> {
    out.get_mut(..from.len()).ok_or(Error::INVALID)?.copy_from_slice(from);
    Ok(())
}

/// [`read`] for C callers, which pass no length.
///
/// # Errors
/// As [`read`].
///
/// # Safety
/// `out` must be writable for the element's datatype. It need not be aligned.
#[inline]
pub unsafe fn read_raw(instance: InstanceWord, element: impl TryInto<usize>, out: *mut u8) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let read = |frames: &Frames| unsafe { frames.read_raw(instance, element, out) };
    THREAD.try_with(read).unwrap_or(Err(Error::INVALID_HANDLE))
}

/// [`copy`] for C callers.
///
/// # Errors
/// As [`copy`].
///
/// # Safety
/// `out` must be writable for the extent of the event type.
#[inline]
pub unsafe fn copy_raw(instance: InstanceWord, out: *mut u8) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let copy = |frames: &Frames| unsafe { frames.copy_raw(instance, out) };
    THREAD.try_with(copy).unwrap_or(Err(Error::INVALID_HANDLE))
}

/// The time at which the event was observed, in ticks of its source.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as [`read`].
#[inline]
pub fn timestamp(instance: InstanceWord) -> Result<u64> {
    with_instance(instance, |instance| Ok(instance.timestamp))
}

/// The index of the source that raised the event.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as [`read`].
#[inline]
pub fn source_index(instance: InstanceWord) -> Result<usize> {
    with_instance(instance, |instance| Ok(instance.source))
}

/// The index of the event's type.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as [`read`].
#[inline]
pub fn event_index(instance: InstanceWord) -> Result<usize> {
    with_instance(instance, |instance| Ok(instance.event.index))
}
