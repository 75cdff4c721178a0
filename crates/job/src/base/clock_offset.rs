//! The offset between the clocks of two hosts, estimated from round trips, with its error bound.
//!
//! ```text
//! ours     sent ─────────────┬───────────── heard      later = middle − theirs, error at most half the round trip
//! theirs              theirs ┘
//! ```
//!
//! Clocks drift: in a long run the other host is asked repeatedly, and the offset is interpolated linearly
//! between the first and the last answer.

use serde::{Deserialize, Serialize};

/// Below this distance between samples, in nanoseconds, drift is not estimated.
const SHORT: u64 = 10_000_000_000;
/// A new answer replaces the last one only if its error is at most this many times as large…
const MOST_WORSE: u64 = 2;
/// …or if the last one is at least this old, in nanoseconds.
const OLDEST_NS: u64 = 60_000_000_000;

/// How far our clock is ahead of another one, from one round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// The offset in nanoseconds of `CLOCK_MONOTONIC`.
    pub later_ns: i64,
    /// Half of the round-trip time, an upper bound of the error.
    pub error_ns: u64,
}

impl Offset {
    /// Computes the offset from a question sent at `sent`, answered with the time `theirs`, and received at
    /// `heard`; `sent` and `heard` are times of our clock.
    #[must_use]
    pub fn of(sent: u64, theirs: u64, heard: u64) -> Self {
        let half = heard.saturating_sub(sent) / 2;
        let middle = sent.saturating_add(half);
        Self { later_ns: (i128::from(middle) - i128::from(theirs)) as i64, error_ns: half + 1 }
    }
}

/// The clock of another host, as sampled so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostClock {
    /// The first and the last sample: its time on the other clock, and the offset.
    first: (u64, Offset),
    last: (u64, Offset),
}

impl HostClock {
    /// Creates the clock from the first answer, `theirs`.
    #[must_use]
    pub fn new(theirs: u64, offset: Offset) -> Self {
        Self { first: (theirs, offset), last: (theirs, offset) }
    }

    /// Adds an answer. At the beginning the answer with the smallest error is kept, afterward the latest
    /// good one.
    pub fn add(&mut self, theirs: u64, offset: Offset) {
        let since = |(at, _): (u64, Offset)| theirs.saturating_sub(at);
        if since(self.first) < SHORT {
            if offset.error_ns < self.first.1.error_ns {
                *self = Self::new(theirs, offset);
            }
            return;
        }
        let good = offset.error_ns <= self.last.1.error_ns.saturating_mul(MOST_WORSE);
        if good || since(self.last) > OLDEST_NS || self.last == self.first {
            self.last = (theirs, offset);
        }
    }

    /// Returns what to add to a time of that host to convert it to our clock.
    #[must_use]
    pub fn later_ns(&self, theirs: u64) -> i64 {
        let (begin, end) = (self.first.0, self.last.0);
        let between = end.saturating_sub(begin);
        if between < SHORT {
            return self.first.1.later_ns;
        }
        let (from, to) = (i128::from(self.first.1.later_ns), i128::from(self.last.1.later_ns));
        let part = i128::from(theirs) - i128::from(begin);
        (from + (to - from) * part / i128::from(between)) as i64
    }

    /// Converts a time of that host to our clock.
    #[must_use]
    pub fn ours(&self, theirs: u64) -> u64 {
        theirs.saturating_add_signed(self.later_ns(theirs))
    }

    /// An upper bound of the error.
    #[must_use]
    pub fn error_ns(&self) -> u64 {
        self.first.1.error_ns.max(self.last.1.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn the_offset_of_a_clock_is_within_half_a_round_trip_of_the_truth() {
        // Their clock is 1000 behind; the way there takes 10, the way back 30.
        let offset = Offset::of(5000, 5010 - 1000, 5040);
        assert_eq!(offset.later_ns, 1010);
        assert!(offset.later_ns.abs_diff(1000) <= offset.error_ns);
        let (behind, ahead) = (Offset::of(0, u64::MAX / 4, 2), Offset::of(u64::MAX / 4, 0, u64::MAX / 4 + 2));
        assert!(behind.later_ns < 0 && ahead.later_ns > 0);
    }

    #[test]
    fn initially_the_fastest_answer_counts() {
        let mut clock = HostClock::new(S, Offset { later_ns: 90, error_ns: 50 });
        clock.add(S + 1, Offset { later_ns: 70, error_ns: 9 });
        clock.add(S + 2, Offset { later_ns: 20, error_ns: 60 });
        assert_eq!((clock.later_ns(5 * S), clock.error_ns()), (70, 9));
    }

    #[test]
    fn a_drifting_clock_is_tracked_within_the_stated_error() {
        // Their clock loses fifty millionths; each answer is off by up to 100 microseconds in either
        // direction.
        let truth = |theirs: u64| 7 * S as i64 + (theirs / 20_000) as i64;
        let mut clock = HostClock::new(0, Offset { later_ns: truth(0) + 90_000, error_ns: 100_000 });
        for second in 1..=36_000 {
            let wrong = if second % 2 == 0 { 80_000 } else { -80_000 };
            let theirs = second * S;
            clock.add(theirs, Offset { later_ns: truth(theirs) + wrong, error_ns: 100_000 });
        }
        for theirs in [0, 3_600 * S, 18_000 * S, 36_000 * S] {
            let error = clock.later_ns(theirs).abs_diff(truth(theirs));
            assert!(error <= clock.error_ns(), "{error} at {theirs}");
        }
        assert_eq!(clock.ours(S), S.saturating_add_signed(clock.later_ns(S)));
    }
}
