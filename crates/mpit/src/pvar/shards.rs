//! Totals that are kept in parts, so that threads can count without sharing a cache line.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};


/// Maximum number of parts of a total.
const MOST: usize = 4096;

/// A total over parts, for instance one per thread, each of which only grows.
///
/// Reading adds up the parts, without calls or locks, in about a nanosecond per part.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use mpit::Shards;
///
/// static MINE: AtomicU64 = AtomicU64::new(0);
/// static CALLS: Shards = Shards::new();
/// assert!(CALLS.add(&MINE));
/// MINE.fetch_add(3, Ordering::Relaxed);
/// assert_eq!(CALLS.sum(), 3);
/// ```
pub struct Shards {
    used: AtomicUsize,
    parts: [AtomicPtr<AtomicU64>; MOST],
}

impl Default for Shards {
    fn default() -> Self {
        Self::new()
    }
}

impl Shards {
    /// Creates a total of 0 without parts.
    pub const fn new() -> Self {
        Self { used: AtomicUsize::new(0), parts: [const { AtomicPtr::new(ptr::null_mut()) }; MOST] }
    }

    /// Adds a part. Returns `false` if there are already 4096 parts; then this one does not count.
    pub fn add(&self, part: &'static AtomicU64) -> bool {
        let place = self.parts.get(self.used.fetch_add(1, Ordering::AcqRel));
        if let Some(place) = place {
            place.store(ptr::from_ref(part).cast_mut(), Ordering::Release);
        }
        place.is_some()
    }

    /// The total, modulo 2^64. Async-signal-safe.
    #[inline(always)]
    pub fn sum(&self) -> u64 {
        // Most programs have one thread.
        let [first, ..] = &self.parts;
        let first = value(first);
        let used = self.used.load(Ordering::Acquire);
        if used > 1 { first.wrapping_add(self.rest(used)) } else { first }
    }

    #[inline(always)]
    fn rest(&self, used: usize) -> u64 {
        let mut sum = 0u64;
        for part in self.parts.get(1..used.min(MOST)).unwrap_or_default() {
            sum = sum.wrapping_add(value(part));
        }
        sum
    }
}

#[inline(always)]
fn value(part: &AtomicPtr<AtomicU64>) -> u64 {
    // SAFETY: null, or a `'static` part passed to `add`.
    unsafe { part.load(Ordering::Acquire).as_ref() }.map_or(0, |part| part.load(Ordering::Acquire))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_counted_and_excess_parts_are_rejected() {
        static PART: AtomicU64 = AtomicU64::new(2);
        let shards = Shards::new();
        assert_eq!(shards.sum(), 0);
        for number in 1..=MOST as u64 {
            assert!(shards.add(&PART));
            assert_eq!(shards.sum(), 2 * number);
        }
        assert!(!shards.add(&PART));
        assert_eq!(shards.sum(), 2 * MOST as u64);
    }
}
