//! All registrations: one list of slots per event type.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::registration::Registration;
use super::types::EventType;
use crate::table::SlotTable;
use crate::word::MAX_SLOTS;

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

    pub(super) fn lock(&self) -> MutexGuard<'_, usize> {
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
    pub(super) fn slot(&self, event: &EventType, sources: usize) -> Option<&Registration> {
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
