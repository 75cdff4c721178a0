//! Registration handles: allocating and freeing them, their callbacks and hints.

use std::sync::atomic::Ordering;

use super::Hints;
use super::instance::{current_lane, current_safety};
use super::registration::{
    Callback, DroppedHandler, EventCallback, FreeCallback, FreeRequest, LEVELS, Registration, Replaceable,
};
use super::types::EventType;
use crate::codes::{Bind, CbSafety, Error, Result};
use crate::registry::Registry;
use crate::state::Pin;
use crate::word::RegistrationWord;

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
