//! The lifecycle of a slot in one atomic word, so that pin, kill and reuse are totally ordered.
//!
//! ```text
//!   63        32 31 30 29         0
//!   [generation][phase][   pins   ]        phase: 0 free  1 live  2 dying  3 finishing
//! ```
//!
//! A reader adds a pin to a slot and learns in the same operation whether the slot is still in the expected
//! life. Killing only turns `live` into `dying`; the thread that releases the last pin becomes the
//! *finisher*, exactly one per life, and at that point no reader is left. Pins of readers that arrived too
//! late are harmless: they see that the phase is not `live` and leave.

use crate::sync::{AtomicU64, Ordering};

const PIN: u64 = 1;
const PIN_MASK: u64 = (1 << 30) - 1;
const PHASE_SHIFT: u32 = 30;
const PHASE_MASK: u64 = 3 << PHASE_SHIFT;
const FREE: u64 = 0;
const LIVE: u64 = 1 << PHASE_SHIFT;
const DYING: u64 = 2 << PHASE_SHIFT;
const FINISHING: u64 = 3 << PHASE_SHIFT;

fn generation_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The generation, phase and pins of one slot.
pub(crate) struct SlotState(AtomicU64);

impl Default for SlotState {
    fn default() -> Self {
        Self(AtomicU64::new(FREE))
    }
}

impl SlotState {
    /// Whether the slot is in its life of this generation. A snapshot that takes no pin.
    #[inline]
    pub(crate) fn is_live(&self, generation: u32) -> bool {
        self.0.load(Ordering::Acquire) & !PIN_MASK == (u64::from(generation) << 32) | LIVE
    }

    /// Whether the slot is in any life. Only a hint.
    #[inline]
    pub(crate) fn seems_live(&self) -> bool {
        self.0.load(Ordering::Relaxed) & PHASE_MASK == LIVE
    }

    /// Pins the slot if it is in its life of this generation. On [`Pin::Held`] the caller must call
    /// [`SlotState::unpin`].
    #[inline]
    #[must_use]
    pub(crate) fn pin(&self, generation: u32) -> Pin {
        let before = self.0.fetch_add(PIN, Ordering::AcqRel);
        if before & !PIN_MASK == (u64::from(generation) << 32) | LIVE {
            Pin::Held(generation)
        } else {
            self.leave()
        }
    }

    /// Pins the slot in its current life.
    #[inline]
    #[must_use]
    pub(crate) fn pin_any(&self) -> Pin {
        let before = self.0.fetch_add(PIN, Ordering::AcqRel);
        if before & PHASE_MASK == LIVE { Pin::Held(generation_of(before)) } else { self.leave() }
    }

    #[cold]
    fn leave(&self) -> Pin {
        if self.unpin() { Pin::MustFinish } else { Pin::Refused }
    }

    /// Releases a pin. Returns `true` if the caller is the finisher and must call [`SlotState::finish`] at
    /// the end.
    #[inline]
    #[must_use]
    pub(crate) fn unpin(&self) -> bool {
        let after = self.0.fetch_sub(PIN, Ordering::AcqRel).wrapping_sub(PIN);
        after & (PHASE_MASK | PIN_MASK) == DYING && self.become_finisher(after)
    }

    #[cold]
    fn become_finisher(&self, word: u64) -> bool {
        let finishing = (word & !PHASE_MASK) | FINISHING;
        self.0.compare_exchange(word, finishing, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Ends the life of this generation; returns `false` if another thread has. The caller must hold a pin.
    #[must_use]
    pub(crate) fn kill(&self, generation: u32) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if word & PHASE_MASK != LIVE || generation_of(word) != generation {
                return false;
            }
            let dying = (word & !PHASE_MASK) | DYING;
            match self.0.compare_exchange_weak(word, dying, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// The finisher's last step: makes the slot reusable.
    pub(crate) fn finish(&self) {
        // Late readers may be adding and removing pins; only the phase changes here.
        self.0.fetch_sub(FINISHING - FREE, Ordering::AcqRel);
    }

    /// Whether the slot can start a new life. Only the single allocator asks and publishes, under its lock.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) & PHASE_MASK == FREE
    }

    /// Starts the next life of a free slot and returns its generation, which is never 0.
    pub(crate) fn publish(&self) -> u32 {
        let before = self.0.fetch_add((1 << 32) | LIVE, Ordering::AcqRel);
        generation_of(before).wrapping_add(1)
    }
}

/// The outcome of an attempt to pin.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Pin {
    /// Pinned; the slot is in its life of this generation.
    Held(u32),
    /// The slot is not in that life; no unpin is needed.
    Refused,
    /// The slot is not in that life, and the attempt itself was the last pin of a dying slot: the caller must
    /// finish it.
    MustFinish,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_pinned_only_in_the_generation_that_the_caller_names() {
        let state = SlotState::default();
        assert_eq!(state.pin(0), Pin::Refused);
        let generation = state.publish();
        assert_eq!(generation, 1);
        assert_eq!(state.pin(2), Pin::Refused);
        assert_eq!(state.pin(1), Pin::Held(1));
        assert!(!state.unpin());
    }

    #[test]
    fn the_last_of_several_pins_finishes_a_dying_slot() {
        let state = SlotState::default();
        let generation = state.publish();
        assert_eq!(state.pin(generation), Pin::Held(generation));
        assert_eq!(state.pin_any(), Pin::Held(generation));
        assert!(state.kill(generation));
        assert!(!state.kill(generation));
        assert!(!state.unpin());
        assert_eq!(state.pin(generation), Pin::Refused);
        assert!(state.unpin());
        assert!(!state.is_free());
        state.finish();
        assert!(state.is_free());
        assert_eq!(state.publish(), generation + 1);
        assert!(!state.is_live(generation));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// The payload that pins protect: 0 while alive, 1 once finished.
    struct Guarded {
        state: SlotState,
        gone: AtomicU32,
        finished: AtomicU32,
    }

    fn finish(slot: &Guarded) {
        slot.gone.store(1, Ordering::Relaxed);
        slot.finished.fetch_add(1, Ordering::Relaxed);
        slot.state.finish();
    }

    fn visit(slot: &Guarded, generation: u32) {
        match slot.state.pin(generation) {
            Pin::Held(_) => {
                assert_eq!(slot.gone.load(Ordering::Relaxed), 0, "a finished slot was visited");
                if slot.state.unpin() {
                    finish(slot);
                }
            }
            Pin::Refused => {}
            Pin::MustFinish => finish(slot),
        }
    }

    fn free(slot: &Guarded, generation: u32) {
        if let Pin::Held(_) = slot.state.pin(generation) {
            assert!(slot.state.kill(generation));
            if slot.state.unpin() {
                finish(slot);
            }
        }
    }

    /// Explores interleavings with up to three preemptions: seconds instead of half a minute.
    fn model(f: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(f);
    }

    #[test]
    fn a_read_without_a_pin_never_returns_the_value_of_a_later_generation() {
        model(|| {
            let state = Arc::new(SlotState::default());
            let field = Arc::new(AtomicU32::new(1));
            let generation = state.publish();
            let reader = {
                let (state, field) = (state.clone(), field.clone());
                thread::spawn(move || {
                    if !state.is_live(generation) {
                        return;
                    }
                    let value = field.load(Ordering::Acquire);
                    loom::sync::atomic::fence(Ordering::Acquire);
                    if state.is_live(generation) {
                        assert_eq!(value, 1, "a value of the next generation");
                    }
                })
            };
            assert_eq!(state.pin(generation), Pin::Held(generation));
            assert!(state.kill(generation));
            if state.unpin() {
                state.finish();
                field.store(2, Ordering::Release);
                state.publish();
            }
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_freed_slot_is_finished_exactly_once_and_never_under_a_visitor() {
        model(|| {
            let slot = Arc::new(Guarded {
                state: SlotState::default(),
                gone: AtomicU32::new(0),
                finished: AtomicU32::new(0),
            });
            let generation = slot.state.publish();
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let slot = slot.clone();
                    thread::spawn(move || visit(&slot, generation))
                })
                .collect();
            free(&slot, generation);
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(slot.finished.load(Ordering::Relaxed), 1);
            assert!(slot.state.is_free());
        });
    }
}
