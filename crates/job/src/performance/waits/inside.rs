//! How much of a stretch of time a rank spent in MPI, from its totals at successive readings: in short calls,
//! no record and no sample shows it.

use super::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of readings remembered per rank. When there are more, every other one is dropped.
const MOST: usize = 512;

/// The totals of a rank at one reading, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Total {
    /// Time of the reading, in `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Since the rank's first call, of all threads that call MPI.
    pub elapsed: u64,
    /// The part of it in MPI.
    pub mpi: u64,
    /// The part of that in collectives that have returned.
    pub collectives: u64,
    /// The part in calls that can wait for messages and have returned.
    pub messages: u64,
}

/// Time that a rank spent in calls that can wait, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// In collectives.
    pub collectives: u64,
    /// In calls for messages.
    pub messages: u64,
}

/// The totals of one rank, in order of time.
#[derive(Debug, Clone, Default)]
pub struct Totals(Vec<Total>);

/// The totals of all ranks, by world and rank.
#[derive(Debug, Clone, Default)]
pub struct Inside(HashMap<(String, Option<u32>), Arc<Totals>>);

impl Inside {
    /// Adds a reading.
    pub fn read(&mut self, world: &str, rank: Option<u32>, total: Total) {
        let totals = Arc::make_mut(self.0.entry((world.to_owned(), rank)).or_default());
        if totals.0.last().is_some_and(|last| last.at >= total.at) {
            return;
        }
        totals.0.push(total);
        if totals.0.len() > MOST {
            let mut odd = false;
            totals.0.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// Returns the totals of a rank.
    pub fn of(&self, world: &str, rank: Option<u32>) -> Option<Arc<Totals>> {
        self.0.get(&(world.to_owned(), rank)).map(Arc::clone)
    }
}

impl Totals {
    /// Returns whether several threads of the rank were calling MPI during this time.
    pub fn has_several_threads(&self, span: Span) -> bool {
        self.around(span).is_some_and(are_of_several_threads)
    }

    /// Returns the time in calls that can wait between the readings around this time. Those of one of several
    /// threads say nothing about the others.
    pub fn in_waiting_calls(&self, span: Span) -> Option<Waiting> {
        let [first, last] = self.around(span).filter(|both| !are_of_several_threads(*both))?;
        Some(Waiting {
            collectives: last.collectives.saturating_sub(first.collectives),
            messages: last.messages.saturating_sub(first.messages),
        })
    }

    /// Returns the readings before and after this time, as far as there are any.
    fn around(&self, span: Span) -> Option<[&Total; 2]> {
        let first = self.0.iter().rev().find(|total| total.at <= span.from).or(self.0.first())?;
        let last = self.0.iter().find(|total| total.at >= span.until).or(self.0.last())?;
        Some([first, last])
    }

    /// Returns how long the rank was certainly in MPI during this time, in nanoseconds: the rest of the time
    /// between the readings around it may have been in MPI too. Nothing is certain of one of several threads.
    pub fn at_least(&self, span: Span) -> u64 {
        let Some([first, last]) = self.around(span) else { return 0 };
        if are_of_several_threads([first, last]) {
            return 0;
        }
        let outside = span.from.saturating_sub(first.at).saturating_add(last.at.saturating_sub(span.until));
        last.mpi.saturating_sub(first.mpi).saturating_sub(outside).min(span.ns())
    }
}

/// Returns whether more time has passed for the threads than by the clock.
fn are_of_several_threads([first, last]: [&Total; 2]) -> bool {
    let apart = last.at.saturating_sub(first.at);
    let elapsed = last.elapsed.saturating_sub(first.elapsed);
    elapsed > apart.saturating_add(apart / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(all: &[(u64, u64, u64)]) -> Inside {
        let mut inside = Inside::default();
        all.iter().for_each(|&(at, elapsed, mpi)| {
            inside.read("w", Some(0), Total { at, elapsed, mpi, ..Total::default() })
        });
        inside
    }

    fn at_least(all: &[(u64, u64, u64)], from: u64, until: u64) -> u64 {
        totals(all).of("w", Some(0)).map_or(0, |totals| totals.at_least(Span { from, until }))
    }

    #[test]
    fn time_in_mpi_outside_the_stretch_is_not_counted() {
        let all = [(100, 100, 10), (200, 200, 100), (300, 300, 120)];
        assert_eq!(at_least(&all, 100, 200), 90);
        assert_eq!(at_least(&all, 120, 200), 70);
        assert_eq!(at_least(&all, 120, 250), 110 - 20 - 50);
        assert_eq!(at_least(&all, 100, 900), 110, "the readings end before the stretch");
        assert_eq!(at_least(&all, 0, 200), 90, "they begin after its start");
        assert_eq!(at_least(&[], 0, 200), 0);
    }

    #[test]
    fn nothing_is_certain_of_several_threads() {
        assert_eq!(at_least(&[(100, 100, 10), (200, 300, 110)], 100, 200), 0);
    }

    #[test]
    fn old_readings_become_sparse() {
        let all: Vec<_> = (1..=10_000).map(|at| (at, at, at)).collect();
        let totals = totals(&all).of("w", Some(0)).expect("read");
        assert!(totals.0.len() <= MOST);
        assert!(totals.at_least(Span { from: 1000, until: 9000 }) > 7900);
    }
}
