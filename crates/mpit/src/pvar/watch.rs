//! Watermarks: extremes that are updated at each change, one per handle.
//!
//! The provider of a level owns a [`WatchList`] and passes it every new value. While no handle watches, that
//! costs one load. A watermark computed only when it is read would miss every peak between two reads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::free_list::{FreeLink, FreeList};
use crate::table::SlotTable;

const FREE: u32 = 0;
const IDLE: u32 = 1;
const HIGH: u32 = 2;
const LOW: u32 = 3;

/// One element of one watermark handle.
#[derive(Default)]
pub(crate) struct Watcher {
    state: AtomicU32,
    element: AtomicU32,
    object: AtomicU64,
    pub(crate) extreme: AtomicU64,
    free: FreeLink,
}

impl Watcher {
    fn feed(&self, object: u64, element: u32, value: u64) {
        let state = self.state.load(Ordering::Acquire);
        let same = self.object.load(Ordering::Relaxed) == object
            && self.element.load(Ordering::Relaxed) == element;
        match state {
            HIGH if same => _ = self.extreme.fetch_max(value, Ordering::AcqRel),
            LOW if same => _ = self.extreme.fetch_min(value, Ordering::AcqRel),
            _ => {}
        }
    }

    /// Includes the current value, which may have changed while the watcher was not listening.
    pub(crate) fn observe(&self, value: u64, high: bool) {
        if high {
            self.extreme.fetch_max(value, Ordering::AcqRel);
        } else {
            self.extreme.fetch_min(value, Ordering::AcqRel);
        }
    }
}

/// The live watermark handles of one level. Owned by the level's provider; may be part of a `static`.
pub struct WatchList {
    /// Number of watchers that listen.
    listening: AtomicU32,
    /// Number of threads walking the list.
    walking: AtomicU32,
    watchers: SlotTable<Watcher>,
    /// Previously used watchers in the state [`FREE`].
    free: FreeList,
    adding: Mutex<()>,
    changed: fn(),
}

impl Default for WatchList {
    fn default() -> Self {
        Self::new()
    }
}

impl WatchList {
    /// Creates a list without watchers.
    pub const fn new() -> Self {
        Self::telling(|| {})
    }

    /// Like [`WatchList::new`], but `changed` is called whenever a watcher starts or stops listening. It must
    /// be async-signal-safe.
    pub const fn telling(changed: fn()) -> Self {
        Self {
            changed,
            listening: AtomicU32::new(0),
            walking: AtomicU32::new(0),
            watchers: SlotTable::new(),
            free: FreeList::new(),
            adding: Mutex::new(()),
        }
    }

    /// Reports that the level of element `element` of `object` (0 if unbound) is now `value` (raw).
    /// Async-signal-safe.
    ///
    /// Call it after the new value can be read from the instrument.
    #[inline]
    pub fn note(&self, object: u64, element: u32, value: u64) {
        if self.listening.load(Ordering::Relaxed) != 0 {
            self.feed(object, element, value);
        }
    }

    /// Whether any watcher listens. For providers whose value is costly to compute.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.listening.load(Ordering::Relaxed) != 0
    }

    #[cold]
    fn feed(&self, object: u64, element: u32, value: u64) {
        self.walking.fetch_add(1, Ordering::AcqRel);
        for watcher in self.watchers.iter() {
            watcher.feed(object, element, value);
        }
        self.walking.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Watcher> {
        self.watchers.get(at)
    }

    /// Adds a watcher that does not listen yet.
    pub(crate) fn add(&self, object: u64, element: u32) -> Option<usize> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.reusable().or_else(|| self.watchers.grow())?;
        let watcher = self.watchers.get(at)?;
        watcher.object.store(object, Ordering::Relaxed);
        watcher.element.store(element, Ordering::Relaxed);
        watcher.state.store(IDLE, Ordering::Release);
        Some(at)
    }

    /// Returns a freed watcher. Under the lock.
    fn reusable(&self) -> Option<usize> {
        let at = self.free.pop(|at| self.watchers.get(at).map(|watcher| &watcher.free))?;
        // A walker may have just read the watcher's old object, so reuse it only while there are no walkers.
        // Later walkers see it as free.
        if self.walking.fetch_add(0, Ordering::AcqRel) == 0 {
            return Some(at);
        }
        self.free.push(at, &self.watchers.get(at)?.free);
        None
    }

    /// Starts listening. Async-signal-safe, like all functions below.
    pub(crate) fn listen(&self, at: usize, high: bool) {
        let Some(watcher) = self.watchers.get(at) else { return };
        if watcher.state.swap(if high { HIGH } else { LOW }, Ordering::AcqRel) == IDLE {
            self.listening.fetch_add(1, Ordering::SeqCst);
            (self.changed)();
        }
    }

    pub(crate) fn ignore(&self, at: usize) {
        let _ = self.leave(at, IDLE);
    }

    pub(crate) fn remove(&self, at: usize) {
        if self.leave(at, FREE) != FREE
            && let Some(watcher) = self.watchers.get(at)
        {
            self.free.push(at, &watcher.free);
        }
    }

    /// Returns the previous state.
    fn leave(&self, at: usize, state: u32) -> u32 {
        let Some(watcher) = self.watchers.get(at) else { return FREE };
        let before = watcher.state.swap(state, Ordering::AcqRel);
        if before >= HIGH {
            self.listening.fetch_sub(1, Ordering::SeqCst);
            (self.changed)();
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extreme(list: &WatchList, at: usize) -> u64 {
        list.get(at).unwrap().extreme.load(Ordering::Relaxed)
    }

    #[test]
    fn only_listening_watchers_of_the_same_object_and_element_are_fed() {
        let list = WatchList::new();
        list.note(7, 0, 100);
        let high = list.add(7, 0).unwrap();
        let other = list.add(8, 0).unwrap();
        let element = list.add(7, 1).unwrap();
        list.note(7, 0, 100);
        assert_eq!(extreme(&list, high), 0);
        for at in [high, other, element] {
            list.listen(at, true);
        }
        list.note(7, 0, 9);
        list.note(7, 0, 4);
        assert_eq!([high, other, element].map(|at| extreme(&list, at)), [9, 0, 0]);
        list.ignore(high);
        list.note(7, 0, 50);
        assert_eq!(extreme(&list, high), 9);
    }

    #[test]
    fn nothing_is_watched_when_all_watchers_are_gone() {
        let list = WatchList::new();
        let at = list.add(0, 0).unwrap();
        list.listen(at, false);
        list.listen(at, false);
        assert!(list.is_watched());
        list.remove(at);
        list.remove(at);
        assert!(!list.is_watched());
        assert_eq!(list.add(1, 0), Some(at));
        assert_eq!(list.add(1, 0), Some(at + 1));
    }

    #[test]
    fn the_cost_of_adding_a_watcher_does_not_depend_on_the_others() {
        let list = WatchList::new();
        let before = crate::table::looked();
        for round in 0..3 {
            let added: Vec<_> = (0..1000).map(|object| list.add(object, 0).unwrap()).collect();
            assert!(added.iter().all(|&at| at < 1000), "round {round}: no watcher was reused");
            added.iter().for_each(|&at| list.remove(at));
        }
        let looked = crate::table::looked() - before;
        assert!(looked <= 3 * 1000 * 8, "{looked} slots were visited");
    }
}
