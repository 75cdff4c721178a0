//! Call sites: the activity of each place in the program.
//!
//! There is a record for each place from which a thread called a function with an object. A place is a return
//! address, in the program even if the call comes through a Fortran binding. One thread writes the record.
//! The records and the calls for which there was no record left add up to the function's
//! [`Counter`](crate::layout::Counter)s: see [`derive::sites`](crate::derive::sites).

use crate::cell::{W32, W64};
use std::mem::{offset_of, size_of};

/// Number of duration classes.
pub const DURATIONS: usize = 47;

/// The class of a duration in ticks: 0 for zero, else one more than the logarithm. Class `n` covers `2^(n-1)`
/// to `2^n - 1`; the last class also covers everything longer.
#[inline(always)]
pub const fn duration_class(ticks: u64) -> usize {
    let class = (u64::BITS - ticks.leading_zeros()) as usize;
    if class < DURATIONS { class } else { DURATIONS - 1 }
}

/// Represents further objects of a place once there are too many to distinguish: a loop may create a new one
/// each time.
pub const SEVERAL: u64 = u64::MAX;

/// Calls of one function from one place with one object by one thread. Every call touches the first cache
/// line, and mostly the same one of those with the durations.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Site {
    /// The call's return address in the program.
    pub from: W64,
    /// Uid of the communicator, window or file; zero for a call that has none or that freed it; or
    /// [`SEVERAL`].
    pub object: W64,
    /// Number of completed calls, as in [`Counter`](crate::layout::Counter).
    pub count: W64,
    /// Ticks spent in them.
    pub ticks: W64,
    /// Bytes that this process moved by these calls.
    pub bytes: W64,
    /// The received part of these bytes.
    pub received: W64,
    /// Duration of the shortest call, in ticks; all bits set before the first call and without times.
    pub least: W64,
    /// Duration of the longest call, in ticks.
    pub greatest: W64,
    /// Function number plus one. Written last: a record in which it is zero does not exist yet.
    pub function: W32,
    /// Index of the thread's record.
    pub thread: W32,
    /// Number of calls by [`duration_class`].
    pub durations: [W64; DURATIONS],
    /// For a function whose calls are [sampled](estimate): number of calls when one was last timed; zero in
    /// older images.
    pub covered: W64,
    /// Number of calls whose time is an estimate; zero in older images.
    pub estimated: W64,
}

/// Estimates the time of `calls` untimed calls, given that the timed call after them took `ticks`, and all
/// calls before them `before`: each is taken to be as long as the timed one. A single very long call is not
/// representative, so the estimate is limited to a quarter of `before` or a [short](SHORT) time for each
/// call.
#[must_use]
pub fn estimate(calls: u64, ticks: u64, before: u64) -> u64 {
    let most = calls.saturating_mul(SHORT).max(before / 4);
    calls.saturating_mul(ticks).min(most)
}

/// A few microseconds, in ticks.
pub const SHORT: u64 = if cfg!(target_arch = "x86_64") { 1 << 14 } else { 1 << 9 };

const _: () = {
    assert!(offset_of!(Site, greatest) == 56);
    assert!(offset_of!(Site, function) == 64);
    assert!(offset_of!(Site, durations) == 72);
    assert!(offset_of!(Site, covered) == 448);
    assert!(size_of::<Site>() == 512);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untimed_calls_are_estimated_by_the_timed_one_unless_it_took_far_too_long() {
        assert_eq!(estimate(15, 200, 3_000), 3_000);
        assert_eq!(estimate(0, 200, 3_000), 0);
        assert_eq!(estimate(15, 1 << 40, 3_000), 15 * SHORT, "stopped, or in the time of another process");
        assert_eq!(estimate(15, 1 << 40, 1 << 30), 1 << 28);
        assert_eq!(estimate(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn durations_are_classed_by_powers_of_two_and_none_is_too_long() {
        let classes = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1 << 45, 46), (u64::MAX, 46)];
        for (ticks, class) in classes {
            assert_eq!(duration_class(ticks), class, "{ticks} ticks");
        }
    }
}
