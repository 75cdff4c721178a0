//! A handle's baseline on a total that only grows: one word, so every operation is one compare-and-swap.
//!
//! ```text
//!   63                    1 0
//!   [ offset or frozen     ][r]     r = 1 running: value = total - offset
//!                                   r = 0 stopped: value = frozen
//! ```
//!
//! Totals are neither copied nor reset: each handle keeps its own mark, so sessions cannot disturb each
//! other. Values are counted modulo 2^63. Each operation reads the mark *before* the total. As the total only
//! grows and a mark never runs ahead of it, a difference is never negative, and an operation that was
//! overtaken retries. Two threads that read-and-reset one handle therefore share what was counted between
//! them, with nothing counted twice and nothing lost. A signal handler that interrupts an operation makes it
//! retry, and never waits for it.

use crate::codes::Result;
use crate::sync::{AtomicU64, Ordering};

const RUNNING: u64 = 1;
const VALUES: u64 = u64::MAX >> 1;

/// The baseline and run state of one element of one handle. All zeros: stopped at 0.
pub(crate) struct Mark(AtomicU64);

impl Default for Mark {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Mark {
    /// Resets the mark to stopped at 0. Only while no other thread can use it.
    pub(crate) fn restart(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// The value, where `total` reads the total after the mark has been read.
    #[inline]
    pub(crate) fn value(&self, total: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let look = self.look();
        match look.stopped() {
            Some(value) => Ok(value),
            None => Ok(look.since(total()?)),
        }
    }

    /// Takes a snapshot of the mark, for a value whose total is read next.
    #[inline(always)]
    pub(crate) fn look(&self) -> Look {
        Look(self.0.load(Ordering::Acquire))
    }

    /// Resumes measuring at the value at which it was stopped. No effect on a running mark.
    pub(crate) fn start(&self, total: impl FnMut() -> Result<u64>) -> Result<()> {
        self.step(total, |mark, total| (mark & RUNNING == 0).then(|| running(total, mark >> 1)))?;
        Ok(())
    }

    /// Stops measuring and keeps the value. No effect on a stopped mark.
    pub(crate) fn stop(&self, total: impl FnMut() -> Result<u64>) -> Result<()> {
        self.step(total, |mark, total| (mark & RUNNING != 0).then(|| since(total, mark) << 1))?;
        Ok(())
    }

    /// Whether a value can be set: values are counted modulo 2^63.
    pub(crate) fn holds(value: u64) -> bool {
        value <= VALUES
    }

    /// Sets the value; a running mark keeps running.
    pub(crate) fn set(&self, value: u64, total: impl FnMut() -> Result<u64>) -> Result<()> {
        self.step(total, |mark, total| {
            Some(if mark & RUNNING == 0 { value << 1 } else { running(total, value) })
        })?;
        Ok(())
    }

    /// Atomically returns the value and sets it to 0.
    #[inline]
    pub(crate) fn take(&self, total: impl FnMut() -> Result<u64>) -> Result<u64> {
        let (mark, total) = self
            .step(total, |mark, total| Some(if mark & RUNNING == 0 { 0 } else { (total << 1) | RUNNING }))?;
        Ok(if mark & RUNNING == 0 { mark >> 1 } else { since(total, mark) })
    }

    /// One update: reads the mark, then the total, then swaps; retries if overtaken. Returns the replaced
    /// mark and the total.
    #[inline]
    fn step(
        &self,
        mut total: impl FnMut() -> Result<u64>,
        next: impl Fn(u64, u64) -> Option<u64>,
    ) -> Result<(u64, u64)> {
        let mut mark = self.0.load(Ordering::Acquire);
        loop {
            let now = total()?;
            let Some(new) = next(mark, now) else { return Ok((mark, now)) };
            match self.0.compare_exchange_weak(mark, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok((mark, now)),
                Err(other) => mark = other,
            }
        }
    }
}

/// A snapshot of a mark, taken before the total is read.
#[derive(Clone, Copy)]
pub(crate) struct Look(u64);

impl Look {
    /// The value if the mark is stopped.
    #[inline(always)]
    pub(crate) fn stopped(self) -> Option<u64> {
        (self.0 & RUNNING == 0).then_some(self.0 >> 1)
    }

    /// The value of a running mark.
    #[inline(always)]
    pub(crate) fn since(self, total: u64) -> u64 {
        since(total, self.0)
    }
}

#[inline(always)]
fn since(total: u64, mark: u64) -> u64 {
    total.wrapping_sub(mark >> 1) & VALUES
}

fn running(total: u64, value: u64) -> u64 {
    (total.wrapping_sub(value) << 1) | RUNNING
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::codes::Error;
    use std::cell::Cell;

    #[test]
    fn a_mark_counts_only_while_it_runs() {
        let total = Cell::new(100);
        let now = || Ok(total.get());
        let mark = Mark::default();
        assert_eq!(mark.value(now), Ok(0));
        mark.start(now).unwrap();
        total.set(107);
        assert_eq!(mark.value(now), Ok(7));
        mark.stop(now).unwrap();
        total.set(200);
        assert_eq!(mark.value(now), Ok(7));
        mark.stop(now).unwrap();
        mark.start(now).unwrap();
        mark.start(now).unwrap();
        total.set(203);
        assert_eq!(mark.value(now), Ok(10));
    }

    #[test]
    fn counting_continues_from_a_written_value() {
        let total = Cell::new(5);
        let now = || Ok(total.get());
        let mark = Mark::default();
        mark.set(1000, now).unwrap();
        assert_eq!(mark.value(now), Ok(1000));
        mark.start(now).unwrap();
        total.set(6);
        assert_eq!(mark.value(now), Ok(1001));
        mark.set(50, now).unwrap();
        total.set(8);
        assert_eq!(mark.take(now), Ok(52));
        assert_eq!(mark.take(now), Ok(0));
    }

    #[test]
    fn a_failing_total_changes_nothing() {
        let mark = Mark::default();
        mark.start(|| Ok(1)).unwrap();
        assert_eq!(mark.take(|| Err(Error::INVALID)), Err(Error::INVALID));
        assert_eq!(mark.value(|| Ok(3)), Ok(2));
    }

    #[test]
    fn a_signal_handler_does_not_wait_for_an_interrupted_step_and_nothing_is_counted_twice() {
        let total = Cell::new(0);
        let mark = Mark::default();
        mark.start(|| Ok(0)).unwrap();
        total.set(10);
        let stolen = Cell::new(0);
        let interrupted = mark.take(|| {
            let seen = total.get();
            if stolen.get() == 0 {
                // The handler: runs after the total was read and before the swap.
                total.set(13);
                stolen.set(mark.take(|| Ok(total.get())).unwrap());
            }
            Ok(seen.max(total.get()))
        });
        assert_eq!((stolen.get(), interrupted), (13, Ok(0)));
        total.set(15);
        assert_eq!(mark.value(|| Ok(total.get())), Ok(2));
    }

    #[test]
    fn values_survive_the_wrap_of_the_total() {
        let mark = Mark::default();
        mark.start(|| Ok(u64::MAX - 1)).unwrap();
        assert_eq!(mark.value(|| Ok(3)), Ok(5));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn concurrent_reads_with_reset_divide_the_total_without_loss_or_duplication() {
        loom::model(|| {
            let mark = Arc::new(Mark::default());
            let total = Arc::new(AtomicU64::new(0));
            mark.start(|| Ok(0)).unwrap();
            let other = {
                let (mark, total) = (mark.clone(), total.clone());
                thread::spawn(move || {
                    total.fetch_add(2, Ordering::Relaxed);
                    mark.take(|| Ok(total.load(Ordering::Relaxed))).unwrap()
                })
            };
            let mine = mark.take(|| Ok(total.load(Ordering::Relaxed))).unwrap();
            let others = other.join().unwrap();
            let rest = mark.take(|| Ok(total.load(Ordering::Relaxed))).unwrap();
            assert!(mine <= 2 && others <= 2 && rest <= 2, "{mine} {others} {rest}");
            assert_eq!(mine + others + rest, 2);
        });
    }

    #[test]
    fn a_stop_that_races_with_a_read_and_reset_loses_nothing() {
        loom::model(|| {
            let mark = Arc::new(Mark::default());
            mark.start(|| Ok(0)).unwrap();
            let other = {
                let mark = mark.clone();
                thread::spawn(move || mark.stop(|| Ok(5)).unwrap())
            };
            let taken = mark.take(|| Ok(5)).unwrap();
            other.join().unwrap();
            assert_eq!(taken, 5);
            assert_eq!(mark.value(|| Ok(9)), Ok(0));
        });
    }
}
