//! The levels of pending operations, whose changes can be watched.

use super::state::reconsider;
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
    const fn new() -> Self {
        Self { watch: WatchList::telling(reconsider), high: AtomicI32::new(-1) }
    }
}

/// Requests that were started and are not known to be complete.
pub static PENDING: Level = Level::new();
/// Receives that are posted.
pub static POSTED: Level = Level::new();

/// Whether either level is watched.
pub fn are_watched() -> bool {
    PENDING.watch.is_watched() || POSTED.watch.is_watched()
}
