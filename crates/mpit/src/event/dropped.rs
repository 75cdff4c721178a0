//! Lost events: counted per registration and source, and reported before the source's next event.

use std::sync::atomic::Ordering;

use super::instance::{Frames, Origin};
use super::registration::{Drops, Registration};
use super::source::Source;
use crate::codes::CbSafety;
use crate::registry::Registry;
use crate::state::Pin;

/// The largest count that fits an `MPI_Count`.
const MAX_COUNT: u64 = i64::MAX as u64;

/// Counts events of `source` that were not delivered. The caller holds a pin on the registration.
#[cold]
pub(super) fn lose(registration: &Registration, source: &Source, events: u64) {
    if events == 0 || registration.dropped_handler().is_none() {
        return;
    }
    let Some(lost) = registration.lost.get(source.index) else { return };
    let more = |count: u64| Some(count.saturating_add(events).min(MAX_COUNT));
    if lost.fetch_update(Ordering::SeqCst, Ordering::Relaxed, more) == Ok(0) {
        source.undelivered.fetch_add(1, Ordering::AcqRel);
    }
    // A thread that has just removed the handler may already have discarded the losses before this one; the
    // next handler must not be called for it.
    if registration.dropped_handler().is_none() {
        take(registration, source);
    }
}

/// Resets and returns the number of events of `source` that the registration has lost.
fn take(registration: &Registration, source: &Source) -> u64 {
    let Some(lost) = registration.lost.get(source.index) else { return 0 };
    let count = lost.swap(0, Ordering::SeqCst);
    if count != 0 {
        source.undelivered.fetch_sub(1, Ordering::AcqRel);
    }
    count
}

impl Registry {
    /// Discards the loss counts of a registration.
    pub(super) fn forget_lost(&self, registration: &Registration) {
        for source in self.sources.iter() {
            take(registration, source);
        }
    }

    /// Calls the dropped handler of every registration, of any event type, that has lost events of `source`.
    ///
    /// A registration without a callback for this context is informed later.
    #[cold]
    pub(super) fn tell_dropped(&self, frames: &Frames, source: &Source, context: CbSafety, origin: Origin) {
        for slot in self.registrations.slots.iter() {
            let some = slot.lost.get(source.index).is_some_and(|lost| lost.load(Ordering::Acquire) != 0);
            if !some {
                continue;
            }
            let lane = frames.lane();
            match slot.state.pin_any(lane) {
                Pin::Held(generation) => {
                    frames.act(slot.word(generation), origin, || tell(slot, generation, source, context));
                    if slot.state.unpin(lane) {
                        self.finish_registration(slot, generation, context);
                    }
                }
                Pin::MustFinish => self.finish_dying(slot, context),
                Pin::Refused => {}
            }
        }
    }
}

fn tell(slot: &Registration, generation: u32, source: &Source, context: CbSafety) {
    let (Some(callback), Some(handler)) = (slot.select(context), slot.dropped_handler()) else { return };
    let count = take(slot, source);
    if count != 0 {
        let registration = slot.word(generation);
        let user_data = callback.user_data;
        handler(Drops { count, registration, source: source.index, safety: context, user_data });
    }
}
