//! The lifecycle of a slot that many threads access concurrently: like [`crate::state`], but the pins are
//! spread over separate cache lines, so that threads that raise events at the same time do not write to
//! shared memory.
//!
//! ```text
//!   word   [generation 32][phase 2][unused 30]        lanes   [pins] [pins] [pins] …  one cache line each
//! ```
//!
//! No thread sees all pins at one instant. A pinning thread increments a lane and then reads the phase; an
//! unpinning thread decrements its lane, then reads the phase and, if that is *dying*, all lanes. All these
//! operations are `SeqCst` and so have a single total order: either a reader sees that the slot is dying and
//! leaves without having used it, or its pin is seen in its lane. The last thread to leave finds all lanes
//! empty; if two do, one exchange of the phase decides which of them finishes.

use crate::state::Pin;
use crate::sync::{AtomicU64, Ordering, agree};

const PHASE_MASK: u64 = 3;
const FREE: u64 = 0;
const LIVE: u64 = 1;
const DYING: u64 = 2;
const FINISHING: u64 = 3;
const GENERATION: u64 = 1 << 32;

/// Number of lanes of a slot. More threads than this share lanes.
#[cfg(not(loom))]
const LANES: usize = 16;
#[cfg(loom)]
const LANES: usize = 2;

/// A lane of pins: two cache lines, because processors prefetch the adjacent line.
#[repr(align(128))]
struct Lane(AtomicU64);

/// The generation, phase and pins of one slot.
pub(crate) struct SpreadState {
    word: AtomicU64,
    lanes: [Lane; LANES],
}

impl Default for SpreadState {
    fn default() -> Self {
        Self { word: AtomicU64::new(FREE), lanes: std::array::from_fn(|_| Lane(AtomicU64::new(0))) }
    }
}

fn generation_of(word: u64) -> u32 {
    (word >> 32) as u32
}

fn life(generation: u32) -> u64 {
    (u64::from(generation) << 32) | LIVE
}

impl SpreadState {
    /// Whether the slot is in its life of this generation. A snapshot that takes no pin.
    #[inline]
    pub(crate) fn is_live(&self, generation: u32) -> bool {
        self.word.load(Ordering::Acquire) == life(generation)
    }

    /// Whether the slot is in any life. Only a hint.
    #[inline]
    pub(crate) fn seems_live(&self) -> bool {
        self.word.load(Ordering::Relaxed) & PHASE_MASK == LIVE
    }

    #[inline]
    fn lane(&self, lane: usize) -> &AtomicU64 {
        let [first, ..] = &self.lanes;
        &self.lanes.get(lane % LANES).unwrap_or(first).0
    }

    #[inline]
    fn enter(&self, lane: usize) -> u64 {
        self.lane(lane).fetch_add(1, Ordering::SeqCst);
        agree();
        self.word.load(Ordering::SeqCst)
    }

    /// Pins the slot if it is in its life of this generation. On [`Pin::Held`] the caller must call
    /// [`SpreadState::unpin`] with the same lane.
    #[inline]
    #[must_use]
    pub(crate) fn pin(&self, lane: usize, generation: u32) -> Pin {
        if self.enter(lane) == life(generation) { Pin::Held(generation) } else { self.leave(lane) }
    }

    /// Pins the slot in its current life.
    #[inline]
    #[must_use]
    pub(crate) fn pin_any(&self, lane: usize) -> Pin {
        let word = self.enter(lane);
        if word & PHASE_MASK == LIVE { Pin::Held(generation_of(word)) } else { self.leave(lane) }
    }

    #[cold]
    fn leave(&self, lane: usize) -> Pin {
        if self.unpin(lane) { Pin::MustFinish } else { Pin::Refused }
    }

    /// Releases a pin. Returns `true` if the caller is the finisher and must call [`SpreadState::finish`] at
    /// the end.
    #[inline]
    #[must_use]
    pub(crate) fn unpin(&self, lane: usize) -> bool {
        self.lane(lane).fetch_sub(1, Ordering::SeqCst);
        agree();
        let word = self.word.load(Ordering::SeqCst);
        word & PHASE_MASK == DYING && self.become_finisher(word)
    }

    #[cold]
    fn become_finisher(&self, word: u64) -> bool {
        let finishing = (word & !PHASE_MASK) | FINISHING;
        self.pins() == 0
            && self.word.compare_exchange(word, finishing, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    fn pins(&self) -> u64 {
        agree();
        self.lanes.iter().map(|lane| lane.0.load(Ordering::SeqCst)).fold(0, u64::wrapping_add)
    }

    /// Ends the life of this generation; returns `false` if another thread has. The caller must hold a pin.
    #[must_use]
    pub(crate) fn kill(&self, generation: u32) -> bool {
        let dying = (life(generation) & !PHASE_MASK) | DYING;
        self.word.compare_exchange(life(generation), dying, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// The generation of the current life; for the finisher.
    pub(crate) fn generation(&self) -> u32 {
        generation_of(self.word.load(Ordering::Acquire))
    }

    /// The finisher's last step: makes the slot reusable.
    pub(crate) fn finish(&self) {
        self.word.fetch_sub(FINISHING - FREE, Ordering::SeqCst);
    }

    /// Whether the slot can start a new life. Only the single allocator asks and publishes, under its lock.
    pub(crate) fn is_free(&self) -> bool {
        self.word.load(Ordering::Acquire) & PHASE_MASK == FREE
    }

    /// Starts the next life of a free slot and returns its generation, which is never 0.
    pub(crate) fn publish(&self) -> u32 {
        let before = self.word.fetch_add(GENERATION | LIVE, Ordering::SeqCst);
        generation_of(before).wrapping_add(1)
    }

    /// Whether there are pins other than the caller's `own` ones. A thread that pins later sees values that
    /// the caller wrote before, if they are written and read `SeqCst`.
    pub(crate) fn others_hold(&self, own: u64) -> bool {
        self.pins() > own
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_pinned_only_in_the_generation_that_the_caller_names() {
        let state = SpreadState::default();
        assert_eq!(state.pin(0, 0), Pin::Refused);
        let generation = state.publish();
        assert_eq!(generation, 1);
        assert_eq!(state.pin(1, 2), Pin::Refused);
        assert_eq!(state.pin(2, 1), Pin::Held(1));
        assert!(!state.unpin(2));
    }

    #[test]
    fn the_last_of_several_pins_finishes_a_dying_slot_whatever_lanes_they_are_in() {
        let state = SpreadState::default();
        let generation = state.publish();
        assert_eq!(state.pin(3, generation), Pin::Held(generation));
        assert_eq!(state.pin_any(LANES + 4), Pin::Held(generation));
        assert!(state.others_hold(1));
        assert!(state.kill(generation));
        assert!(!state.kill(generation));
        assert!(!state.unpin(3));
        assert_eq!(state.pin(3, generation), Pin::Refused);
        assert!(state.unpin(LANES + 4));
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
        state: SpreadState,
        gone: AtomicU32,
        finished: AtomicU32,
    }

    fn finish(slot: &Guarded) {
        slot.gone.store(1, Ordering::Relaxed);
        slot.finished.fetch_add(1, Ordering::Relaxed);
        slot.state.finish();
    }

    fn visit(slot: &Guarded, lane: usize, generation: u32) {
        match slot.state.pin(lane, generation) {
            Pin::Held(_) => {
                assert_eq!(slot.gone.load(Ordering::Relaxed), 0, "a finished slot was visited");
                if slot.state.unpin(lane) {
                    finish(slot);
                }
            }
            Pin::Refused => {}
            Pin::MustFinish => finish(slot),
        }
    }

    fn model(f: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(f);
    }

    #[test]
    fn a_freed_slot_is_finished_exactly_once_and_never_under_a_visitor() {
        model(|| {
            let (gone, finished) = (AtomicU32::new(0), AtomicU32::new(0));
            let slot = Arc::new(Guarded { state: SpreadState::default(), gone, finished });
            let generation = slot.state.publish();
            let threads: Vec<_> = (0..2)
                .map(|lane| {
                    let slot = slot.clone();
                    thread::spawn(move || visit(&slot, lane, generation))
                })
                .collect();
            if let Pin::Held(_) = slot.state.pin(0, generation) {
                assert!(slot.state.kill(generation));
                if slot.state.unpin(0) {
                    finish(&slot);
                }
            }
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(slot.finished.load(Ordering::Relaxed), 1);
            assert!(slot.state.is_free());
        });
    }

    #[test]
    fn a_value_replaced_under_a_visitor_is_not_dropped() {
        model(|| {
            let state = Arc::new(SpreadState::default());
            let generation = state.publish();
            // The pointer, as the index of one of two values, and whether each value has been dropped.
            let current = Arc::new(AtomicU32::new(0));
            let dropped = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let visitor = {
                let (state, current, dropped) = (state.clone(), current.clone(), dropped.clone());
                thread::spawn(move || {
                    assert_eq!(state.pin(1, generation), Pin::Held(generation));
                    let value = current.load(Ordering::SeqCst) as usize;
                    assert_eq!(dropped[value].load(Ordering::Relaxed), 0, "used after its drop");
                    assert!(!state.unpin(1));
                })
            };
            assert_eq!(state.pin(0, generation), Pin::Held(generation));
            current.swap(1, Ordering::SeqCst);
            if !state.others_hold(1) {
                dropped[0].store(1, Ordering::Relaxed);
            }
            assert!(!state.unpin(0));
            visitor.join().unwrap();
        });
    }
}
