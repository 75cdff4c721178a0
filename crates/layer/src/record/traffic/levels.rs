//! Levels of pending operations, whose changes can be watched.

use mpit::WatchList;
use std::sync::atomic::AtomicI32;

/// A level in the totals.
pub struct Level {
    /// The listeners to its changes.
    pub watch: WatchList,
    /// Index of the performance variable that shows its highest value; -1 until there is one.
    pub high: AtomicI32,
}

impl Level {
    /// Returns a level; `tell` is called after any change that affects whether it is watched.
    pub const fn new(tell: fn()) -> Self {
        Self { watch: WatchList::telling(tell), high: AtomicI32::new(-1) }
    }
}
