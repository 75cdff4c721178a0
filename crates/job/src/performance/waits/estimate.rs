//! Extrapolates from what was observed: the time in collectives between two passes is known, but the waits
//! only in some of them.
//!
//! Passes happen at intervals unrelated to the program, so what was observed between two of them is
//! representative of the rest of the same interval, but not of other parts of the run: a slow part, which is
//! observed completely, says nothing about a fast one. A wait is a fraction of the time of its call, so the
//! estimate applies that fraction to the measured time.
//!
//! The error is twice that of systematic sampling, based on the differences between successive fractions,
//! plus a fifth of what was not observed.

use super::Estimated;
use serde::{Deserialize, Serialize};

/// Relative error of the unobserved part in addition to that from its scatter: an observed stretch may differ
/// from its surroundings.
pub const UNSEEN: f64 = 0.2;

/// Sums up the intervals of a run between passes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Time in collectives up to the last pass, in seconds.
    known_s: f64,
    /// The part of it in intervals since the last observed one.
    open_s: f64,
    seconds: f64,
    variance: f64,
    /// The fraction of waiting in the previous interval.
    before: Option<f64>,
    /// Observed time, and the waits in it.
    seen_s: f64,
    waits_s: f64,
}

impl Estimate {
    /// Adds the interval since the last pass: the time in collectives so far, how much of the new time was
    /// observed on all members, the waits in it, and whether that was everything. Returns the factor by which
    /// to multiply the waits.
    pub fn stretch(&mut self, until_now_s: f64, seen_s: f64, waits_s: f64, all: bool) -> f64 {
        self.open_s += (until_now_s - self.known_s).max(0.0);
        self.known_s = self.known_s.max(until_now_s);
        if seen_s <= 0.0 {
            return 1.0;
        }
        let whole_s = std::mem::take(&mut self.open_s);
        let factor = if all { 1.0 } else { (whole_s / seen_s).max(1.0) };
        let part = (waits_s / seen_s).min(1.0);
        if !all {
            let step = part - self.before.unwrap_or(part);
            self.variance += ((factor - 1.0) * seen_s).powi(2) * step * step;
        }
        self.before = Some(part);
        self.seen_s += seen_s;
        self.waits_s += waits_s;
        self.seconds += factor * waits_s;
        factor
    }

    /// Adds what was observed of other collectives on another host.
    pub fn take_in(&mut self, other: &Self) {
        self.known_s += other.known_s;
        self.open_s += other.open_s;
        self.seconds += other.seconds;
        self.variance += other.variance;
        self.seen_s += other.seen_s;
        self.waits_s += other.waits_s;
    }

    /// Returns the estimate for the whole run. Whatever follows the last observation is assumed to be like
    /// the rest.
    pub fn whole(&self) -> Estimated {
        let rest = if self.seen_s > 0.0 { self.open_s * self.waits_s / self.seen_s } else { 0.0 };
        let seconds = (self.seconds + rest).min(self.known_s.max(self.waits_s));
        let unseen = (seconds - self.waits_s).max(0.0);
        Estimated { seconds, error_s: 2.0 * self.variance.sqrt() + UNSEEN * unseen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_part_seen_in_full_is_not_extrapolated_to_a_fast_one() {
        let mut run = Estimate::default();
        // A tenth of the first second was observed, half of it waiting; then all of ten seconds, nine of them
        // waiting.
        assert_eq!(run.stretch(1.0, 0.1, 0.05, false), 10.0);
        assert_eq!(run.stretch(11.0, 10.0, 9.0, true), 1.0);
        let whole = run.whole();
        assert!((whole.seconds - 9.5).abs() < 1e-9 && (whole.error_s - 0.2 * 0.45).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn an_unobserved_stretch_belongs_to_the_next_one() {
        let mut run = Estimate::default();
        assert_eq!(run.stretch(2.0, 0.0, 0.0, false), 1.0);
        assert_eq!(run.stretch(4.0, 1.0, 0.5, false), 4.0);
        assert!((run.whole().seconds - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_error_grows_with_the_differences_and_the_estimate_is_never_above_the_time() {
        let of = |parts: &[f64]| {
            let mut run = Estimate::default();
            for (at, part) in (1..).zip(parts) {
                run.stretch(f64::from(at), 0.1, 0.1 * part, false);
            }
            run.whole()
        };
        let (even, uneven) = (of(&[0.5; 8]), of(&[0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9]));
        assert!((even.seconds - 4.0).abs() < 1e-9 && (even.error_s - 0.2 * 3.6).abs() < 1e-9, "{even:?}");
        assert!((uneven.seconds - 4.0).abs() < 1e-9 && uneven.error_s > 2.0, "{uneven:?}");
        assert!(of(&[1.0; 8]).seconds <= 8.0);
    }
}
