//! Raising events.

use std::cell::Cell;

use super::dropped::lose;
use super::instance::{Frames, Instance, Origin, with_frames};
use super::registration::{Delivery, Registration};
use super::source::Source;
use super::types::EventType;
#[cfg(doc)]
use crate::codes::Error;
use crate::codes::{CbSafety, Result};
use crate::registry::Registry;
use crate::state::Pin;
use crate::word::{InstanceWord, RegistrationWord};

/// An event type paired with a source; observers keep one to raise events.
///
/// ```
/// use mpit::event::{EventSpec, Hints, SourceSpec};
/// use mpit::{CbSafety, Datatype, Registry};
///
/// let registry = Registry::new();
/// let source = registry.add_source(SourceSpec::new("clock", 1, || 42))?;
/// let event = registry.add_event(EventSpec::new("sent").element("bytes", Datatype::UINT64_T))?;
/// let raiser = registry.raiser(event, source)?;
///
/// let handle = registry.event_handle_alloc(event, 0, &Hints::new())?;
/// let callback = Box::new(|delivery: mpit::event::Delivery| {
///     let mut bytes = [0; 8];
///     mpit::event::read(delivery.instance, 0, &mut bytes).unwrap();
///     assert_eq!(u64::from_ne_bytes(bytes), 1024);
///     assert_eq!(mpit::event::timestamp(delivery.instance), Ok(42));
/// });
/// registry.event_register_callback(handle, CbSafety::THREAD_SAFE, &Hints::new(), 0, Some(callback))?;
///
/// raiser.raise(0, CbSafety::MPI_RESTRICTED, || 1024u64.to_ne_bytes());
/// # Ok::<(), mpit::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Raiser<'r> {
    registry: &'r Registry,
    event: &'r EventType,
    source: &'r Source,
}

/// The properties of an event other than its payload.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// The time by the source's clock; `None` for now.
    pub timestamp: Option<u64>,
    /// The object; 0 if the type is not bound to one.
    pub object: u64,
    /// The safety level that callbacks must meet where the event is raised.
    pub context: CbSafety,
    /// The cause of the event: [`Frames::origin`] where it was observed.
    pub origin: Origin,
}

impl Registry {
    /// Pairs an event type with a source.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    pub fn raiser(&self, event: impl TryInto<usize>, source: impl TryInto<usize>) -> Result<Raiser<'_>> {
        Ok(Raiser { registry: self, event: self.event(event)?, source: self.source(source)? })
    }

    /// [`Registry::raiser`] without a lookup. Both must belong to this registry.
    #[inline]
    pub fn raiser_of<'r>(&'r self, event: &'r EventType, source: &'r Source) -> Raiser<'r> {
        Raiser { registry: self, event, source }
    }

    /// Finishes a dying registration whose generation is not known to the caller.
    #[cold]
    pub(super) fn finish_dying(&self, slot: &Registration, context: CbSafety) {
        self.finish_registration(slot, slot.state.generation(), context);
    }
}

impl<'r> Raiser<'r> {
    /// The event type.
    pub fn event(&self) -> &'r EventType {
        self.event
    }

    /// The source.
    pub fn source(&self) -> &'r Source {
        self.source
    }

    /// Whether a registration may be interested in this object. One load; for observers that have to prepare
    /// data.
    #[inline]
    pub fn is_wanted(&self, object: u64) -> bool {
        self.event.is_wanted(object)
    }

    /// Raises the event for `object` (0 if the type is not bound to one).
    ///
    /// `context` is the safety level that callbacks must meet here. `payload` is only called if a
    /// registration matches. The payload must be at least as long as the event type's extent; it is copied
    /// only into the tool's buffers.
    ///
    /// Neither locks nor allocates. Safe in signal handlers. For calls in a callback, see [`Origin`].
    #[inline]
    pub fn raise<P: AsRef<[u8]>>(&self, object: u64, context: CbSafety, payload: impl FnOnce() -> P) {
        if self.event.is_wanted(object) {
            self.deliver(object, context, None, payload);
        }
    }

    /// [`Raiser::raise`] for something observed earlier, at `timestamp` by the source's clock.
    #[inline]
    pub fn raise_at<P: AsRef<[u8]>>(
        &self,
        timestamp: u64,
        object: u64,
        context: CbSafety,
        payload: impl FnOnce() -> P,
    ) {
        if self.event.is_wanted(object) {
            self.deliver(object, context, Some(timestamp), payload);
        }
    }

    /// Records the loss of an event of this type and source: it counts as dropped for every registration that
    /// would have received it.
    #[cold]
    pub fn lose(&self, object: u64) {
        self.lose_many(object, 1);
    }

    /// [`Raiser::lose`] for several events.
    #[cold]
    pub fn lose_many(&self, object: u64, count: u64) {
        with_frames(|frames| {
            if let Some(origin) = frames.origin() {
                self.lose_in(frames, object, origin, count);
            }
        });
    }

    /// [`Raiser::lose_many`] for events that were observed earlier.
    #[cold]
    pub fn lose_in(&self, frames: &Frames, object: u64, origin: Origin, count: u64) {
        let registrations = self.registry.registrations.of(self.event);
        let matching = registrations.filter(|registration| registration.matches(object));
        let observed = Observed { timestamp: None, object, context: CbSafety::NONE, origin };
        self.lose_all(frames, matching, &observed, count);
    }

    /// [`Raiser::raise_at`] for callers that hold the thread's frames; see [`super::frames`].
    #[inline]
    pub fn raise_in<P: AsRef<[u8]>>(
        &self,
        frames: &Frames,
        observed: &Observed,
        payload: impl FnOnce() -> P,
    ) {
        if self.event.is_wanted(observed.object) {
            self.deliver_in(frames, observed, payload);
        }
    }

    #[inline(never)]
    fn deliver<P: AsRef<[u8]>>(
        &self,
        object: u64,
        context: CbSafety,
        timestamp: Option<u64>,
        payload: impl FnOnce() -> P,
    ) {
        with_frames(|frames| {
            if let Some(origin) = frames.origin() {
                self.deliver_in(frames, &Observed { timestamp, object, context, origin }, payload);
            }
        });
    }

    #[inline]
    fn deliver_in<P: AsRef<[u8]>>(
        &self,
        frames: &Frames,
        observed: &Observed,
        payload: impl FnOnce() -> P,
    ) {
        let Observed { timestamp, object, context, origin } = *observed;
        let mut matching =
            self.registry.registrations.of(self.event).filter(|registration| registration.matches(object));
        let Some(first) = matching.next() else { return };
        let timestamp = timestamp.unwrap_or_else(|| self.source.now());
        let payload = payload();
        // A short payload is the raiser's mistake; the tool sees a lost event.
        let payload = payload.as_ref().get(..self.event.info().extent);
        let (Some(payload), true) = (payload, frames.has_room()) else {
            return self.lose_all(frames, std::iter::once(first).chain(matching), observed, 1);
        };
        let (event, source) = (self.event, self.source.index());
        let word = Cell::new(InstanceWord::NULL);
        let instance = Instance { event, source, timestamp, payload, context, word };
        frames.deliver(&instance, |depth| {
            if self.source.has_undelivered() {
                self.registry.tell_dropped(frames, self.source, context, origin);
            }
            let mut next = Some(first);
            while let Some(registration) = next {
                self.call(frames, depth, registration, observed, &instance);
                next = matching.next();
            }
        });
    }

    /// Delivers to one registration if it is still the one that matched.
    #[inline(always)]
    fn call(
        &self,
        frames: &Frames,
        depth: usize,
        registration: &Registration,
        observed: &Observed,
        instance: &Instance<'_>,
    ) {
        let Observed { context: safety, origin, .. } = *observed;
        self.pinned(frames, registration, observed, |heard| match registration.select(safety) {
            Some(callback) => {
                let word = frames.next_word(depth);
                instance.word.set(word);
                let user_data = callback.user_data;
                let delivery = Delivery { instance: word, registration: heard, safety, user_data };
                frames.act(heard, origin, || (callback.function)(delivery));
                instance.word.set(InstanceWord::NULL);
            }
            None if registration.has_callback() => lose(registration, self.source, 1),
            None => {}
        });
    }

    #[cold]
    fn lose_all<'a>(
        &self,
        frames: &Frames,
        matching: impl Iterator<Item = &'a Registration>,
        observed: &Observed,
        count: u64,
    ) {
        for registration in matching {
            self.pinned(frames, registration, observed, |_| {
                if registration.has_callback() {
                    lose(registration, self.source, count);
                }
            });
        }
    }

    /// Pins a registration that should receive the event and runs `f` with its word.
    #[inline(always)]
    fn pinned(
        &self,
        frames: &Frames,
        registration: &Registration,
        observed: &Observed,
        f: impl FnOnce(RegistrationWord),
    ) {
        let lane = frames.lane();
        match registration.state.pin_any(lane) {
            Pin::Held(generation) => {
                let word = registration.word(generation);
                // The slot may have been freed and reused for another object since it matched.
                if registration.matches(observed.object) && observed.origin.is_for(word) {
                    f(word);
                }
                if registration.state.unpin(lane) {
                    self.registry.finish_registration(registration, generation, observed.context);
                }
            }
            Pin::Refused => {}
            Pin::MustFinish => self.registry.finish_dying(registration, observed.context),
        }
    }
}
