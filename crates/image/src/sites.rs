//! What each place of the program did: call sites.
//!
//! A record for each place that a thread called a function from with an object: the address behind the call, in the program
//! also where the call comes through a Fortran binding. One thread writes it. Together with the calls for which there was no
//! record left they are the function's [`Counter`](crate::layout::Counter)s: see [`derive::sites`](crate::derive::sites).

use crate::cell::{W32, W64};
use std::mem::{offset_of, size_of};

/// Classes of durations that are told apart.
pub const DURATIONS: usize = 47;

/// The class of a duration in ticks: 0 for none, else one more than the logarithm; class `n` has those from `2^(n-1)` to
/// `2^n - 1`, the last one all that are longer.
#[inline(always)]
pub const fn duration_class(ticks: u64) -> usize {
    let class = (u64::BITS - ticks.leading_zeros()) as usize;
    if class < DURATIONS { class } else { DURATIONS - 1 }
}

/// Stands for the objects of a place beyond those that are told apart: a loop may make a new one each time.
pub const SEVERAL: u64 = u64::MAX;

/// Calls of one function from one place with one object by one thread. Every call touches the first line, and of the durations
/// mostly the same line.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Site {
    /// The address behind the call in the program.
    pub from: W64,
    /// Uid of the communicator, window or file; zero for a call that has none, or one that was freed by it; [`SEVERAL`].
    pub object: W64,
    /// As in [`Counter`](crate::layout::Counter): completed calls.
    pub count: W64,
    /// Ticks spent in them.
    pub ticks: W64,
    /// Bytes that this process moved by them.
    pub bytes: W64,
    /// Of these, messages that came in.
    pub received: W64,
    /// The shortest call, in ticks; all bits set before the first, and without times.
    pub least: W64,
    /// The longest call, in ticks.
    pub greatest: W64,
    /// Function number plus one. Written last: a record where it is zero is not there yet.
    pub function: W32,
    /// Index of the thread's record.
    pub thread: W32,
    /// Calls by [`duration_class`].
    pub durations: [W64; DURATIONS],
    /// Of a function whose calls are [sampled](estimate): how many there were when one was timed last; zero in images from before.
    pub covered: W64,
    /// Of these, calls whose time is an estimate; zero in images from before.
    pub estimated: W64,
}

/// The time of `calls` that were not timed, since the one behind them took `ticks`, and all until then `before`: as much as that
/// one each. A single call that took very long says little of others: it adds no more than a quarter of what was known, or a
/// [short](SHORT) time for each.
#[must_use]
pub fn estimate(calls: u64, ticks: u64, before: u64) -> u64 {
    let most = calls.saturating_mul(SHORT).max(before / 4);
    calls.saturating_mul(ticks).min(most)
}

/// Some microseconds, in ticks.
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
    fn calls_that_were_not_timed_took_as_long_as_the_one_that_was_unless_that_is_out_of_all_proportion() {
        assert_eq!(estimate(15, 200, 3_000), 3_000);
        assert_eq!(estimate(0, 200, 3_000), 0);
        assert_eq!(estimate(15, 1 << 40, 3_000), 15 * SHORT, "stopped, or in another process's time");
        assert_eq!(estimate(15, 1 << 40, 1 << 30), 1 << 28);
        assert_eq!(estimate(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn durations_fall_into_powers_of_two_and_none_is_too_long() {
        let classes = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1 << 45, 46), (u64::MAX, 46)];
        for (ticks, class) in classes {
            assert_eq!(duration_class(ticks), class, "{ticks} ticks");
        }
    }
}
