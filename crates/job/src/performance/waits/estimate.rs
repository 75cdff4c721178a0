//! What was not seen, from what was: between two looks the time in collectives is known, and of some of them the waits.
//!
//! Looks come at intervals that have nothing to do with the program, so that what was seen between two looks stands for the rest
//! between the same two, and not for other parts of the run: a slow part, which is seen in full, does not speak for a fast one. A wait
//! is a part of the time of its call, so the estimate is that part, of the time that was measured.
//!
//! The error is twice that of systematic samples, by the differences of successive parts, and a fifth of what was not seen.

use super::Estimated;
use serde::{Deserialize, Serialize};

/// How wrong the part that was not seen may be beside what its scatter says: a stretch that was seen may not be like its neighbourhood.
pub const UNSEEN: f64 = 0.2;

/// Sums up the parts of a run that lie between looks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Time in collectives until the last look, in seconds.
    known_s: f64,
    /// Of that, between looks since none was seen.
    open_s: f64,
    seconds: f64,
    variance: f64,
    /// The part of the last stretch that was waiting.
    before: Option<f64>,
    /// Time that was seen, and the waits in it.
    seen_s: f64,
    waits_s: f64,
}

impl Estimate {
    /// Takes in what lies between the last look and this one: the time in collectives until now, what of it was seen on all members,
    /// the waits there, and whether that was all of them. Gives by what the waits are to be multiplied.
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

    /// Adds what was seen of other collectives on another host.
    pub fn take_in(&mut self, other: &Self) {
        self.known_s += other.known_s;
        self.open_s += other.open_s;
        self.seconds += other.seconds;
        self.variance += other.variance;
        self.seen_s += other.seen_s;
        self.waits_s += other.waits_s;
    }

    /// Of the whole run. What came after the last that was seen is taken to be as all the rest.
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
    fn a_slow_part_that_was_seen_in_full_does_not_speak_for_a_fast_one() {
        let mut run = Estimate::default();
        // A tenth of the first second was seen, and half of it was waiting; then all of ten seconds, with nine of waiting.
        assert_eq!(run.stretch(1.0, 0.1, 0.05, false), 10.0);
        assert_eq!(run.stretch(11.0, 10.0, 9.0, true), 1.0);
        let whole = run.whole();
        assert!((whole.seconds - 9.5).abs() < 1e-9 && (whole.error_s - 0.2 * 0.45).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn a_stretch_in_which_nothing_was_seen_belongs_to_the_next_one() {
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
