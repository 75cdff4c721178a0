//! Whether a handle still means the object that it meant: a freed one may be given to another object.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often an object was freed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// An object was freed.
#[inline(always)]
pub fn note() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// A number that changes whenever a handle may mean another object than before.
#[inline(always)]
pub fn count() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}
