//! Registration handles: slots that are never unmapped, in one list per event type.
//!
//! Raisers walk an event type's list without a lock. A slot, once used for an event type, stays in its list
//! and is reused only for it. A thread that runs callbacks of a registration pins its slot; values that the
//! registration's owner replaces meanwhile are kept until no pin is left. See [`crate::state`] for how
//! exactly one thread finishes a freed registration, last. The pins are those of [`crate::spread`], because
//! many threads raise events concurrently.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Hints;
use super::instance::{current_lane, current_safety};
use super::types::{EventType, Interested, object_bit};
use crate::codes::{Bind, CbSafety, Error, Result};
use crate::free_list::FreeLink;
use crate::registry::Registry;
use crate::spread::SpreadState;
use crate::state::Pin;
use crate::table::SlotTable;
use crate::word::{InstanceWord, MAX_SLOTS, RegistrationWord};

/// The arguments of an event callback; see [`super::read`] and its siblings for reading the event itself.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The event instance, valid only during the call and in this thread.
    pub instance: InstanceWord,
    /// The registration that the event is delivered for.
    pub registration: RegistrationWord,
    /// The safety level that the callback must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the callback was registered.
    pub user_data: usize,
}

/// The arguments of a dropped handler.
#[derive(Clone, Copy, Debug)]
pub struct Drops {
    /// Number of events lost since the handler was set or last called; saturates at `i64::MAX`.
    pub count: u64,
    /// The registration that lost them.
    pub registration: RegistrationWord,
    /// The index of the source that dropped them.
    pub source: usize,
    /// The safety level that the handler must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the callback of this safety level was registered.
    pub user_data: usize,
}

/// The arguments of a free-callback.
#[derive(Clone, Copy, Debug)]
pub struct Freed {
    /// The registration, which is no longer valid.
    pub registration: RegistrationWord,
    /// The safety level that the callback must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the registration was freed.
    pub user_data: usize,
}

/// An event callback.
pub type EventCallback = Box<dyn Fn(Delivery) + Send + Sync>;
/// A dropped handler.
pub type DroppedHandler = Box<dyn Fn(Drops) + Send + Sync>;
/// A free-callback.
pub type FreeCallback = Box<dyn Fn(Freed) + Send + Sync>;

pub(super) struct Callback {
    pub(super) function: EventCallback,
    pub(super) user_data: usize,
}

struct FreeRequest {
    function: Option<FreeCallback>,
    user_data: usize,
}

/// A pointer that readers follow while they hold a pin on its slot.
struct Replaceable<T>(AtomicPtr<T>);

impl<T> Default for Replaceable<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl<T> Replaceable<T> {
    #[inline]
    fn is_set(&self) -> bool {
        !self.0.load(Ordering::Relaxed).is_null()
    }

    /// Stores another value and returns the old one, which pinned readers may still be using.
    fn replace(&self, value: Option<T>) -> Option<Box<T>> {
        let new = value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)));
        let old = self.0.swap(new, Ordering::SeqCst);
        // SAFETY: a non-null pointer came from `Box::into_raw` above, and the swap has made us its only
        // owner.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl<T> Drop for Replaceable<T> {
    fn drop(&mut self) {
        drop(self.replace(None));
    }
}

const LEVELS: usize = 4;

/// The parts that only the owner of a registration touches, under its lock.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "pinned readers use the values where they are")]
struct Details {
    hints: Hints,
    callback_hints: [Hints; LEVELS],
    /// Callbacks that were replaced while another thread held a pin.
    old_callbacks: Vec<Box<Callback>>,
    old_handlers: Vec<Box<DroppedHandler>>,
}

/// A slot. The fields that raisers read come first, in one cache line.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Registration {
    pub(super) state: SpreadState,
    /// The next slot in the event type's list; null at the end. Never changes once set.
    next: AtomicPtr<Registration>,
    object: AtomicU64,
    callbacks: [Replaceable<Callback>; LEVELS],
    number: AtomicU32,
    every_object: AtomicBool,
    event: AtomicU32,
    dropped_handler: Replaceable<DroppedHandler>,
    free_request: Replaceable<FreeRequest>,
    /// Lost events, by source.
    pub(super) lost: SlotTable<AtomicU64>,
    details: Mutex<Details>,
    free: FreeLink,
    /// This registration's share of the event type's interests; touched only under their lock.
    counted: Mutex<Interested>,
}

impl Registration {
    #[inline]
    pub(super) fn matches(&self, object: u64) -> bool {
        self.state.seems_live()
            && (self.every_object.load(Ordering::Relaxed) || self.object.load(Ordering::Relaxed) == object)
    }

    pub(super) fn word(&self, generation: u32) -> RegistrationWord {
        RegistrationWord::new(self.number.load(Ordering::Relaxed) as usize, generation)
    }

    /// The callback of the lowest level that is allowed in this context. The caller holds a pin.
    #[inline]
    pub(super) fn select(&self, context: CbSafety) -> Option<&Callback> {
        let valid = self.callbacks.get(context.0 as usize..)?;
        // SAFETY: set from a box, and dropped only when no pin is left.
        valid.iter().find_map(|callback| unsafe { callback.0.load(Ordering::SeqCst).as_ref() })
    }

    pub(super) fn has_callback(&self) -> bool {
        self.callbacks.iter().any(Replaceable::is_set)
    }

    /// Whether any callback need not be thread-safe.
    fn is_in_turn(&self) -> bool {
        self.callbacks.iter().take(CbSafety::THREAD_SAFE.0 as usize).any(Replaceable::is_set)
    }

    /// The dropped handler. The caller holds a pin.
    pub(super) fn dropped_handler(&self) -> Option<&DroppedHandler> {
        // SAFETY: set from a box, and dropped only when no pin is left.
        unsafe { self.dropped_handler.0.load(Ordering::SeqCst).as_ref() }
    }

    /// The events it is interested in now.
    fn interested(&self) -> Interested {
        if !self.state.seems_live() || !self.has_callback() {
            return Interested::Nothing;
        }
        let bits = match self.every_object.load(Ordering::Relaxed) {
            true => u64::MAX,
            false => object_bit(self.object.load(Ordering::Relaxed)),
        };
        Interested::Of { bits, in_turn: self.is_in_turn() }
    }

    /// Returns the interest counted for it so far and the one to count instead. Under the lock of the event
    /// type's interests.
    pub(super) fn change_of_interest(&self) -> (Interested, Interested) {
        let now = self.interested();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::replace(&mut *counted, now), now)
    }

    fn details(&self) -> MutexGuard<'_, Details> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the free-callback. Called only by the finisher, before [`SpreadState::finish`].
    pub(super) fn call_free_callback(&self, generation: u32, context: CbSafety) {
        // SAFETY: set from a box before the slot was killed, and dropped only after it is finished.
        let Some(request) = (unsafe { self.free_request.0.load(Ordering::Acquire).as_ref() }) else {
            return;
        };
        if let Some(function) = &request.function {
            let registration = self.word(generation);
            function(Freed { registration, safety: context, user_data: request.user_data });
        }
    }

    /// Drops everything left from the former life; the slot is free and belongs to the allocator.
    fn clear(&self) {
        self.callbacks.iter().for_each(|callback| drop(callback.replace(None)));
        drop(self.dropped_handler.replace(None));
        drop(self.free_request.replace(None));
        let old = std::mem::take(&mut *self.details());
        drop(old);
    }
}

/// All registrations of a registry.
pub(crate) struct Registrations {
    pub(super) slots: SlotTable<Registration>,
    /// Number of sources for which every slot has counters. Also the allocation lock.
    sources: Mutex<usize>,
}

impl Registrations {
    pub(crate) const fn new() -> Self {
        Self { slots: SlotTable::new(), sources: Mutex::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ensures that every slot has counters for this many sources.
    pub(crate) fn cover_sources(&self, count: usize) {
        let mut sources = self.lock();
        *sources = count;
        self.slots.iter().for_each(|slot| cover(slot, count));
    }

    /// The slots of an event type.
    #[inline]
    pub(super) fn of<'a>(&'a self, event: &EventType) -> impl Iterator<Item = &'a Registration> {
        let mut next = event.first.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or a slot of this registry's table, which never moves and is never unmapped.
            let slot: &'a Registration = unsafe { next.as_ref() }?;
            #[cfg(test)]
            crate::table::look();
            next = slot.next.load(Ordering::Acquire);
            Some(slot)
        })
    }

    /// Finds or adds a free slot in the event type's list. Under the lock.
    fn slot(&self, event: &EventType, sources: usize) -> Option<&Registration> {
        if let Some(number) = event.free.pop(|at| self.slots.get(at).map(|slot| &slot.free)) {
            let slot = self.slots.get(number)?;
            debug_assert!(slot.state.is_free(), "a slot is given back after its last life has ended");
            return Some(slot);
        }
        if self.slots.len() >= MAX_SLOTS - 1 {
            return None;
        }
        let number = self.slots.grow()?;
        let slot = self.slots.get(number)?;
        cover(slot, sources);
        slot.number.store(number as u32, Ordering::Relaxed);
        slot.event.store(event.index as u32, Ordering::Relaxed);
        slot.next.store(event.first.load(Ordering::Relaxed), Ordering::Relaxed);
        event.first.store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
        Some(slot)
    }
}

fn cover(slot: &Registration, sources: usize) {
    while slot.lost.len() < sources && slot.lost.grow().is_some() {}
}

/// A pinned registration.
struct Held<'a> {
    registry: &'a Registry,
    slot: &'a Registration,
    generation: u32,
    /// The lane of the pin.
    lane: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.slot.state.unpin(self.lane) {
            self.registry.finish_registration(self.slot, self.generation, CbSafety::NONE);
        }
    }
}

impl Held<'_> {
    fn event(&self) -> Result<&EventType> {
        self.registry.event(self.slot.event.load(Ordering::Relaxed) as usize)
    }
}

/// Whether this thread may lock and allocate here: not in a callback that must be async-signal-safe.
fn accessible() -> Result<()> {
    if current_safety() >= Some(CbSafety::ASYNC_SIGNAL_SAFE) { Err(Error::NOT_ACCESSIBLE) } else { Ok(()) }
}

fn level(safety: CbSafety) -> Result<usize> {
    let level = safety.0 as usize;
    if level < LEVELS { Ok(level) } else { Err(Error::INVALID) }
}

impl Registry {
    fn registration(&self, word: RegistrationWord) -> Result<Held<'_>> {
        let (index, generation) = word.parts().ok_or(Error::INVALID_HANDLE)?;
        let slot = self.registrations.slots.get(index).ok_or(Error::INVALID_HANDLE)?;
        let lane = current_lane();
        match slot.state.pin(lane, generation) {
            Pin::Held(_) => Ok(Held { registry: self, slot, generation, lane }),
            Pin::Refused => Err(Error::INVALID_HANDLE),
            Pin::MustFinish => {
                self.finish_dying(slot, CbSafety::NONE);
                Err(Error::INVALID_HANDLE)
            }
        }
    }

    /// Finishes a freed registration; called by the thread that released the last pin.
    pub(super) fn finish_registration(&self, slot: &Registration, generation: u32, context: CbSafety) {
        self.forget_lost(slot);
        slot.call_free_callback(generation, context);
        self.give_back(slot);
    }

    /// The last step: makes the slot available to the allocator.
    fn give_back(&self, slot: &Registration) {
        slot.state.finish();
        if let Ok(event) = self.event(slot.event.load(Ordering::Relaxed) as usize) {
            event.free.push(slot.number.load(Ordering::Relaxed) as usize, &slot.free);
        }
    }

    /// Allocates a registration for an event type and `object`, which is ignored if the type is not bound to
    /// an object.
    ///
    /// No event is delivered before a callback is registered. Hints that the type does not support are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`], [`Error::OUT_OF_HANDLES`], the event type's error for an unsuitable object,
    /// and [`Error::NOT_ACCESSIBLE`] inside a callback that must be async-signal-safe (as in all functions
    /// here that list it).
    pub fn event_handle_alloc(
        &self,
        event: impl TryInto<usize>,
        object: u64,
        hints: &Hints,
    ) -> Result<RegistrationWord> {
        accessible()?;
        let event = self.event(event)?;
        let bound = event.info().bind != Bind::NO_OBJECT;
        let object = if bound { object } else { 0 };
        if bound {
            event.check_object(object)?;
        }
        let sources = self.registrations.lock();
        let slot = self.registrations.slot(event, *sources).ok_or(Error::OUT_OF_HANDLES)?;
        slot.clear();
        slot.object.store(object, Ordering::Relaxed);
        slot.every_object.store(!bound, Ordering::Relaxed);
        let mut details = slot.details();
        details.hints = event.info().hints.clone();
        details.hints.update(hints);
        drop(details);
        let word = slot.word(slot.state.publish());
        drop(sources);
        event.tell_interest(object, true);
        Ok(word)
    }

    /// The event type's index and the object of a registration.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn event_registration(&self, registration: RegistrationWord) -> Result<(usize, u64)> {
        let held = self.registration(registration)?;
        Ok((held.slot.event.load(Ordering::Relaxed) as usize, held.slot.object.load(Ordering::Relaxed)))
    }

    /// Updates the hints of a registration; unsupported ones are ignored.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::NOT_ACCESSIBLE`].
    pub fn event_handle_set_info(&self, registration: RegistrationWord, hints: &Hints) -> Result<()> {
        accessible()?;
        self.registration(registration)?.slot.details().hints.update(hints);
        Ok(())
    }

    /// Returns a copy of the hints of a registration.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::NOT_ACCESSIBLE`].
    pub fn event_handle_get_info(&self, registration: RegistrationWord) -> Result<Hints> {
        accessible()?;
        let held = self.registration(registration)?;
        let hints = held.slot.details().hints.clone();
        Ok(hints)
    }

    /// Sets the callback for a safety level, replacing any previous one; `None` removes it.
    ///
    /// An event calls the callback of the lowest level that meets the requirement of its context.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::INVALID`] for an unknown level, [`Error::NOT_ACCESSIBLE`].
    pub fn event_register_callback(
        &self,
        registration: RegistrationWord,
        safety: CbSafety,
        hints: &Hints,
        user_data: usize,
        function: Option<EventCallback>,
    ) -> Result<()> {
        accessible()?;
        let held = self.registration(registration)?;
        let level = level(safety)?;
        let mut details = held.slot.details();
        if let Some(kept) = details.callback_hints.get_mut(level) {
            *kept = held.event()?.info().callback_hints.clone();
            kept.update(hints);
        }
        let new = function.map(|function| Callback { function, user_data });
        let old = held.slot.callbacks.get(level).and_then(|callback| callback.replace(new));
        details.old_callbacks.extend(old);
        let unused = if held.slot.state.others_hold(1) {
            Vec::new()
        } else {
            std::mem::take(&mut details.old_callbacks)
        };
        drop(details);
        held.event()?.refresh(held.slot);
        // Dropped last, without the lock, because dropping a closure may call back into this module.
        drop(unused);
        Ok(())
    }

    /// Updates the hints of the callback at a safety level; unsupported ones are ignored.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::INVALID`] if there is no callback at this level,
    /// [`Error::NOT_ACCESSIBLE`].
    pub fn event_callback_set_info(
        &self,
        registration: RegistrationWord,
        safety: CbSafety,
        hints: &Hints,
    ) -> Result<()> {
        self.with_callback_hints(registration, safety, |kept| kept.update(hints))
    }

    /// Returns a copy of the hints of the callback at a safety level.
    ///
    /// # Errors
    /// As [`Registry::event_callback_set_info`].
    pub fn event_callback_get_info(
        &self,
        registration: RegistrationWord,
        safety: CbSafety,
    ) -> Result<Hints> {
        self.with_callback_hints(registration, safety, |kept| kept.clone())
    }

    fn with_callback_hints<R>(
        &self,
        registration: RegistrationWord,
        safety: CbSafety,
        f: impl FnOnce(&mut Hints) -> R,
    ) -> Result<R> {
        accessible()?;
        let held = self.registration(registration)?;
        let level = level(safety)?;
        if !held.slot.callbacks.get(level).is_some_and(Replaceable::is_set) {
            return Err(Error::INVALID);
        }
        let mut details = held.slot.details();
        details.callback_hints.get_mut(level).map(f).ok_or(Error::INVALID)
    }

    /// Sets the handler that is called for lost events. Without one (`None`), losses are not counted.
    ///
    /// A handler that replaces another inherits the losses that the other has not been called for.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::NOT_ACCESSIBLE`].
    pub fn event_set_dropped_handler(
        &self,
        registration: RegistrationWord,
        handler: Option<DroppedHandler>,
    ) -> Result<()> {
        accessible()?;
        let held = self.registration(registration)?;
        let removed = handler.is_none();
        let mut details = held.slot.details();
        details.old_handlers.extend(held.slot.dropped_handler.replace(handler));
        let unused = if held.slot.state.others_hold(1) {
            Vec::new()
        } else {
            std::mem::take(&mut details.old_handlers)
        };
        drop(details);
        if removed {
            self.forget_lost(held.slot);
        }
        drop(unused);
        Ok(())
    }

    /// Frees a registration. `function` is called exactly once, after the last callback of the registration:
    /// immediately, or, if a callback is running (possibly the caller of this function), when it returns.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::NOT_ACCESSIBLE`].
    pub fn event_handle_free(
        &self,
        registration: RegistrationWord,
        user_data: usize,
        function: Option<FreeCallback>,
    ) -> Result<()> {
        accessible()?;
        let held = self.registration(registration)?;
        let event = held.event()?;
        let object = held.slot.object.load(Ordering::Relaxed);
        let details = held.slot.details();
        if !held.slot.state.is_live(held.generation) {
            return Err(Error::INVALID_HANDLE);
        }
        // Before the kill, because the finisher may be another thread; this lock excludes concurrent frees.
        drop(held.slot.free_request.replace(Some(FreeRequest { function, user_data })));
        let killed = held.slot.state.kill(held.generation);
        drop(details);
        if !killed {
            return Err(Error::INVALID_HANDLE);
        }
        event.refresh(held.slot);
        event.tell_interest(object, false);
        let (slot, generation, lane) = (held.slot, held.generation, held.lane);
        std::mem::forget(held);
        if slot.state.unpin(lane) {
            let context = current_safety().unwrap_or(CbSafety::NONE);
            self.forget_lost(slot);
            slot.call_free_callback(generation, context);
            // Dropping is allowed here; a raiser that finishes leaves it to the next allocation.
            slot.clear();
            self.give_back(slot);
        }
        Ok(())
    }

    pub(crate) fn free_all_registrations(&self) {
        for (index, slot) in self.registrations.slots.iter().enumerate() {
            let lane = current_lane();
            if let Pin::Held(generation) = slot.state.pin_any(lane) {
                let held = Held { registry: self, slot, generation, lane };
                // If another thread frees it at the same time, that is just as good.
                let _ = self.event_handle_free(RegistrationWord::new(index, generation), 0, None);
                drop(held);
            }
        }
    }

    /// Number of registrations in use.
    pub fn event_usage(&self) -> usize {
        self.registrations.slots.iter().filter(|slot| slot.state.seems_live()).count()
    }
}
