//! The CPU time of a thread: see [`preempted`](super::preempted).

use crate::base::speed;

/// The CPU time of a thread at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ran {
    /// The moment, in ticks; zero if unknown.
    pub at: u64,
    /// CPU time in nanoseconds.
    pub for_ns: u64,
    /// Number of times that it gave up its processor to wait for something.
    pub waits: i64,
}

impl Ran {
    /// Whether the thread, which polled from this moment to `latest`, has since then run at most `spacing`
    /// ticks until `now`, without waiting for anything.
    pub fn stood_until(self, now: Self, latest: u64, spacing: u64) -> bool {
        let ran = speed::of_ns(now.for_ns.saturating_sub(self.for_ns));
        let computed = ran.saturating_sub(latest.saturating_sub(self.at));
        now.waits == self.waits && computed <= spacing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ran_no_longer_than_it_polled_has_computed_nothing() {
        let ms = speed::of_ns(1_000_000);
        let spacing = speed::of_ns(100_000);
        let before = Ran { at: 10 * ms, for_ns: 0, waits: 3 };
        let now = |for_ms: u64, waits| Ran { at: 30 * ms, for_ns: for_ms * 1_000_000, waits };
        // It polled for five milliseconds, then nothing was seen for fifteen.
        let latest = 15 * ms;
        assert!(before.stood_until(now(5, 3), latest, spacing), "it did not run");
        assert!(!before.stood_until(now(12, 3), latest, spacing), "it computed for seven of them");
        assert!(!before.stood_until(now(5, 4), latest, spacing), "it waited for something else");
    }
}
