//! Detects when a handle may mean another object than before: that of a freed object may be reused.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of times that an object was freed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Notes that an object was freed.
#[inline(always)]
pub fn note() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Returns a number that changes whenever a handle may have come to mean another object.
#[inline(always)]
pub fn count() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}
