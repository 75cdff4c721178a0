//! Slots for objects that users allocate and free: sessions and handles.
//!
//! A slot's memory is never released while its table exists, so a stale word leads to a valid slot of another
//! generation and is rejected there, without dereferencing anything that may be gone. A slot's value is
//! accessed through a pin ([`crate::state`]). It is dropped after the last pin is released: by the thread
//! that frees it, or, if it was still being read then, by the next allocation, because a reader may be a
//! signal handler and must not enter the allocator.
#![allow(unsafe_code)]

use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::codes::{Error, Result};
use crate::state::{Pin, SlotState};
use crate::table::SlotTable;
use crate::word::MAX_SLOTS;

/// The value of a slot; `E` is the part of the slot that is never dropped (atomics read without a pin).
pub(crate) trait Occupant<E> {
    /// Runs once when the last pin of a freed slot is released, in any context: must not lock or allocate.
    fn retire(&self, inline: &E);
}

/// One slot; a multiple of a cache line.
#[repr(align(64))]
pub(crate) struct Slot<T, E> {
    pub(crate) state: SlotState,
    value: AtomicPtr<T>,
    pub(crate) inline: E,
}

impl<T, E: Default> Default for Slot<T, E> {
    fn default() -> Self {
        Self {
            state: SlotState::default(),
            value: AtomicPtr::new(ptr::null_mut()),
            inline: E::default(),
        }
    }
}

impl<T, E> Slot<T, E> {
    /// Takes the value that a finished slot still holds. Only under the allocator's lock or by the finisher.
    fn take_value(&self) -> Option<Box<T>> {
        let value = self.value.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a non-null pointer came from `Box::into_raw` in `insert`, and the swap makes this the only
        // owner; no pin exists, since the slot has been finished or is being finished.
        (!value.is_null()).then(|| unsafe { Box::from_raw(value) })
    }
}

#[derive(Default)]
struct Reuse {
    free: Vec<usize>,
    /// Slots that were freed while another thread held a pin.
    lingering: Vec<usize>,
}

pub(crate) struct Slab<T, E: Default = ()> {
    slots: SlotTable<Slot<T, E>>,
    reuse: Mutex<Reuse>,
}

// SAFETY: the slab owns its `T`s behind pointers and hands out `&T` to any thread.
unsafe impl<T: Send + Sync, E: Default + Send + Sync> Sync for Slab<T, E> {}

impl<T: Occupant<E>, E: Default> Slab<T, E> {
    pub(crate) const fn new() -> Self {
        let reuse = Reuse { free: Vec::new(), lingering: Vec::new() };
        Self { slots: SlotTable::new(), reuse: Mutex::new(reuse) }
    }

    /// The slot itself, for reads that take no pin and check the generation before and after.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot<T, E>> {
        self.slots.get(index)
    }

    /// Stores `value` in a slot; `setup` writes the inline part before any other thread can find it.
    ///
    /// Returns `Err(None)` if the table is full and `Err(Some(_))` if the setup failed.
    pub(crate) fn insert(
        &self,
        value: T,
        setup: impl FnOnce(&T, &E) -> Result<()>,
    ) -> std::result::Result<(usize, u32), Option<Error>> {
        let mut dropped = Vec::new();
        let mut reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
        self.sweep(&mut reuse, &mut dropped);
        let index = match reuse.free.pop() {
            Some(index) => index,
            None if self.slots.len() >= MAX_SLOTS - 1 => return Err(None),
            None => self.slots.grow().ok_or(None)?,
        };
        let slot = self.slots.get(index).ok_or(None)?;
        if let Err(error) = setup(&value, &slot.inline) {
            reuse.free.push(index);
            return Err(Some(error));
        }
        slot.value.store(Box::into_raw(Box::new(value)), Ordering::Release);
        let generation = slot.state.publish();
        drop(reuse);
        Ok((index, generation))
    }

    fn sweep(&self, reuse: &mut Reuse, dropped: &mut Vec<Box<T>>) {
        let Reuse { free, lingering } = reuse;
        lingering.retain(|&index| {
            let done = self.slots.get(index).is_none_or(|slot| {
                slot.state.is_free() && {
                    dropped.extend(slot.take_value());
                    true
                }
            });
            if done {
                free.push(index);
            }
            !done
        });
    }

    /// Pins the slot's value if the slot is in its life of this generation.
    #[inline]
    pub(crate) fn pin(&self, index: usize, generation: u32) -> Option<Pinned<'_, T, E>> {
        let slot = self.slots.get(index)?;
        self.held(slot, slot.state.pin(generation), index)
    }

    fn held<'a>(&self, slot: &'a Slot<T, E>, pin: Pin, index: usize) -> Option<Pinned<'a, T, E>> {
        match pin {
            Pin::Held(generation) => Some(Pinned { slot, index, generation }),
            Pin::Refused => None,
            Pin::MustFinish => {
                finish(slot);
                None
            }
        }
    }

    /// Ends the life of a pinned slot; returns `false` if another thread has.
    pub(crate) fn remove(&self, pinned: Pinned<'_, T, E>) -> bool {
        let (slot, index) = (pinned.slot, pinned.index);
        if !slot.state.kill(pinned.generation) {
            return false;
        }
        std::mem::forget(pinned);
        let mut value = None;
        let finished = slot.state.unpin();
        if finished {
            retire(slot);
            value = slot.take_value();
            slot.state.finish();
        }
        let mut reuse = self.reuse.lock().unwrap_or_else(PoisonError::into_inner);
        if finished { reuse.free.push(index) } else { reuse.lingering.push(index) }
        drop(reuse);
        // Dropping runs a provider's code, which may call back here, so not under the lock.
        drop(value);
        true
    }

    /// Pins each slot in use in turn.
    pub(crate) fn pins(&self) -> impl Iterator<Item = Pinned<'_, T, E>> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.state.seems_live()).filter_map(|(index, slot)| {
            let pin = slot.state.pin_any();
            self.held(slot, pin, index)
        })
    }
}

impl<T, E: Default> Drop for Slab<T, E> {
    fn drop(&mut self) {
        for index in 0..self.slots.len() {
            drop(self.slots.get(index).and_then(Slot::take_value));
        }
    }
}

fn retire<T: Occupant<E>, E>(slot: &Slot<T, E>) {
    // SAFETY: set in `insert`, and taken only after this by the finisher or by the sweep of a free slot.
    if let Some(value) = unsafe { slot.value.load(Ordering::Acquire).as_ref() } {
        value.retire(&slot.inline);
    }
}

#[cold]
fn finish<T: Occupant<E>, E>(slot: &Slot<T, E>) {
    retire(slot);
    slot.state.finish();
}

/// Access to a slot's value, which stays valid while this exists.
pub(crate) struct Pinned<'a, T: Occupant<E>, E> {
    pub(crate) slot: &'a Slot<T, E>,
    pub(crate) index: usize,
    pub(crate) generation: u32,
}

impl<T: Occupant<E>, E> Deref for Pinned<'_, T, E> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the pin was granted in a live generation, whose value is set before it is published and
        // taken only by or after the finisher, which cannot exist while a granted pin does.
        unsafe { &*self.slot.value.load(Ordering::Acquire) }
    }
}

impl<T: Occupant<E>, E> Drop for Pinned<'_, T, E> {
    #[inline]
    fn drop(&mut self) {
        if self.slot.state.unpin() {
            finish(self.slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Log {
        retired: AtomicU32,
        dropped: AtomicU32,
    }

    struct Item(Arc<Log>);

    impl Occupant<()> for Item {
        fn retire(&self, (): &()) {
            self.0.retired.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Drop for Item {
        fn drop(&mut self) {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(log: &Log) -> (u32, u32) {
        (log.retired.load(Ordering::Relaxed), log.dropped.load(Ordering::Relaxed))
    }

    #[test]
    fn a_removed_value_is_dropped_immediately_if_it_is_not_in_use() {
        let log = Arc::new(Log::default());
        let slab = Slab::new();
        let (index, generation) = slab.insert(Item(log.clone()), |_, ()| Ok(())).unwrap();
        assert!(slab.remove(slab.pin(index, generation).unwrap()));
        assert_eq!(counts(&log), (1, 1));
        assert!(slab.pin(index, generation).is_none());
    }

    #[test]
    fn a_value_removed_under_a_reader_stays_until_the_reader_is_gone() {
        let log = Arc::new(Log::default());
        let slab = Slab::new();
        let (index, generation) = slab.insert(Item(log.clone()), |_, ()| Ok(())).unwrap();
        let reader = slab.pin(index, generation).unwrap();
        assert!(slab.remove(slab.pin(index, generation).unwrap()));
        assert_eq!(counts(&log), (0, 0));
        let other = slab.insert(Item(Arc::default()), |_, ()| Ok(())).unwrap();
        assert_ne!(other.0, index);
        drop(reader);
        assert_eq!(counts(&log), (1, 0));
        let again = slab.insert(Item(Arc::default()), |_, ()| Ok(())).unwrap();
        assert_eq!(again, (index, generation + 1));
        assert_eq!(counts(&log), (1, 1));
    }

    #[test]
    fn only_one_of_two_concurrent_removals_succeeds() {
        let slab = Slab::new();
        let (index, generation) = slab.insert(Item(Arc::default()), |_, ()| Ok(())).unwrap();
        let (one, two) = (slab.pin(index, generation).unwrap(), slab.pin(index, generation).unwrap());
        assert!(slab.remove(one));
        assert!(!slab.remove(two));
    }
}
