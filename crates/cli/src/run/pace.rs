//! When the memory of processes is sampled: often shortly after they have started, so that short programs have samples
//! too, and then once a second. The processor time that this takes is limited as for all scans.

use super::follow::Budget;
use std::time::{Duration, Instant};

/// Interval between the first samples.
const FIRST: Duration = Duration::from_millis(20);
/// Interval between samples later on.
const LATER: Duration = Duration::from_secs(1);
/// The interval is one part in this many of the time since the last process started.
const PART: u32 = 4;

/// When the next sample is due.
#[derive(Debug)]
pub struct Pace {
    /// When the last process started.
    began: Instant,
    next: Instant,
    budget: Budget,
}

impl Pace {
    /// There is no process yet.
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, next: now + LATER, budget: Budget::begin() }
    }

    /// A process has started.
    pub fn hurry(&mut self, now: Instant) {
        self.began = now;
        self.next = self.next.min(now + FIRST);
    }

    /// Returns whether it is time for a sample.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Takes a sample.
    pub fn sample(&mut self, take: impl FnOnce()) {
        let pause = self.budget.pause_after(take);
        self.taken(pause, Instant::now());
    }

    /// Returns the time until the next sample.
    pub fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    fn taken(&mut self, pause: Duration, now: Instant) {
        let interval = (now.saturating_duration_since(self.began) / PART).clamp(FIRST, LATER);
        self.next = now + pause.max(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_a_third_of_a_second_has_several_samples_and_a_long_one_has_one_a_second() {
        let mut pace = Pace::begin();
        let begun = pace.began + Duration::from_secs(5);
        pace.hurry(begun);
        let mut samples = Vec::new();
        while pace.next < begun + Duration::from_secs(100) {
            samples.push((pace.next - begun).as_secs_f64());
            pace.taken(Duration::ZERO, pace.next);
        }
        let within = |from: f64, until: f64| samples.iter().filter(|at| (from..until).contains(*at)).count();
        assert!(within(0.0, 0.3) >= 8 && within(0.0, 0.1) >= 4, "{samples:?}");
        assert_eq!(within(50.0, 60.0), 10);
        assert!(pace.is_due(pace.next) && pace.wait(pace.began) > Duration::ZERO);
        pace.hurry(pace.next - LATER / 2);
        assert!(pace.wait(pace.began) <= FIRST, "another process has started");
    }
}
