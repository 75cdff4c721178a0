//! Follows the ranks of this host while they run: scans their images from outside, as often as one hundredth
//! of a processor allows.
//!
//! The ranks are not stopped or slowed, and do nothing for it. The cost of a scan is measured, and the next
//! scan waits until that cost is one hundredth of the elapsed time. A small advance covers the first second,
//! in which images are opened: short programs have no more than that. Which ranks wait for which messages
//! takes longer to find out, so it is sampled less often, under the same rule.

use mpiscope_job::performance::monitor::{Follow, Followed};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Scans of each kind take at most one part in `PARTS` of one processor's time.
const PARTS: u32 = 100;
/// Processor time that scans of each kind may use in advance.
const ADVANCE: Duration = Duration::from_millis(50);
/// Minimum interval between two scans, however cheap they are.
const LEAST: Duration = Duration::from_millis(10);

/// What has been seen so far; can be used from any thread.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Follow>>);

impl Seen {
    /// Scans once more and returns everything seen so far.
    pub fn now(&self) -> Followed {
        locked(&self.0).followed()
    }
}

/// The following thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Following {
    images: Sender<OwnedFd>,
    seen: Seen,
}

impl Following {
    /// Starts the thread. `None` if it cannot be created.
    pub fn begin() -> Option<Self> {
        let (images, new) = channel();
        let seen = Seen::default();
        let shared = seen.clone();
        thread::Builder::new().name("follow".into()).spawn(move || go(&new, &shared)).ok()?;
        Some(Self { images, seen })
    }

    /// Adds a process.
    pub fn add(&self, image: OwnedFd) {
        // The thread lasts as long as `self`; if it panicked, that was reported.
        let _gone = self.images.send(image);
    }

    /// Returns a handle to what has been seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

fn locked(follow: &Mutex<Follow>) -> MutexGuard<'_, Follow> {
    follow.lock().unwrap_or_else(PoisonError::into_inner)
}

fn go(new: &Receiver<OwnedFd>, Seen(follow): &Seen) {
    // No process has connected yet.
    let Ok(first) = new.recv() else { return };
    locked(follow).add(first);
    let (mut looks, mut samples) = (Budget::begin(), Budget::begin());
    let (mut pause, mut sample_at) = (LEAST, Instant::now() + LEAST);
    loop {
        let until = Instant::now() + pause;
        loop {
            match new.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(image) => locked(follow).add(image),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        pause = looks.pause_after(|| locked(follow).look());
        if Instant::now() >= sample_at {
            sample_at = Instant::now() + samples.pause_after(|| locked(follow).sample());
        }
    }
}

/// How far the cost of one kind of scan exceeds its share of the time, as of `at`.
#[derive(Debug)]
pub struct Budget {
    over: Duration,
    at: Instant,
}

impl Budget {
    pub fn begin() -> Self {
        Self { over: Duration::ZERO, at: Instant::now() }
    }

    /// Runs a scan and returns how long to wait after it.
    pub fn pause_after(&mut self, look: impl FnOnce()) -> Duration {
        let before = processor_time();
        look();
        self.spend(processor_time().saturating_sub(before), Instant::now())
    }

    /// Accounts for a cost and returns how long to wait. Unused time does not accumulate beyond the advance.
    fn spend(&mut self, cost: Duration, now: Instant) -> Duration {
        self.over = self.over.saturating_sub(now.saturating_duration_since(self.at) / PARTS) + cost;
        self.at = now;
        (self.over.saturating_sub(ADVANCE) * PARTS).max(LEAST)
    }
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the scans of a program that runs for `seconds`, and their processor time; the first one opens
    /// images.
    fn looks(budget: &mut Budget, seconds: u64, first: u64, others: u64) -> (Vec<Duration>, Duration) {
        let (begun, mut spent, mut looks) = (budget.at, Duration::ZERO, Vec::new());
        let mut now = begun;
        while now - begun < Duration::from_secs(seconds) {
            let cost = Duration::from_micros(if looks.is_empty() { first } else { others });
            looks.push(now - begun);
            spent += cost;
            now += budget.spend(cost, now);
        }
        (looks, spent)
    }

    #[test]
    fn the_first_second_is_sampled_on_credit_and_later_ones_at_one_hundredth() {
        let (all, spent) = looks(&mut Budget::begin(), 100, 10_000, 500);
        let early = all.iter().filter(|at| at.as_secs_f64() < 0.5).count();
        assert_eq!(early, 50);
        assert!(
            spent <= ADVANCE + Duration::from_millis(1010) && all.len() > 1900,
            "{spent:?}, {}",
            all.len()
        );
    }

    #[test]
    fn budget_left_by_cheap_samples_is_not_saved() {
        let mut budget = Budget::begin();
        let (_, spent) = looks(&mut budget, 100, 10, 10);
        assert!(spent <= Duration::from_millis(101), "{spent:?}");
        let (_, spent) = looks(&mut budget, 10, 1000, 1000);
        assert!(spent <= ADVANCE + Duration::from_millis(102), "{spent:?}");
    }
}
