//! The progress of a job's ranks, and since when they have stalled.

use mpiscope_job::jobs::job_image::ImageId;
use mpiscope_job::questions::live::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A process that ended this shortly before the job's end began was ended with it.
pub const ENDED_TOGETHER: Duration = Duration::from_secs(2);

/// An uncertain verdict is not reported before the job has stalled for this long, and for this many times
/// `--hang-after`.
const PATIENCE: (Duration, u32) = (Duration::from_secs(10), 3);
/// Nor before the stall is this many times as long as the longest stall that resolved by itself.
const LONGER: u32 = 4;

/// After the end of the job has begun, nothing is reported for this long: ranks that are killed one by one
/// wait for each other.
pub const ENDING: Duration = Duration::from_secs(10);

/// Since when ranks have been waiting for ranks that are gone.
#[derive(Default)]
pub struct Gone(Option<Instant>);

impl Gone {
    /// Updates the state. Returns whether the condition is so recent that the other ranks may be about to end
    /// as well.
    pub fn is_new(&mut self, gone: bool, now: Instant) -> bool {
        self.0 = self.0.filter(|_| gone);
        gone && now.saturating_duration_since(*self.0.get_or_insert(now)) < ENDING
    }
}

/// The progress of a job's ranks, and since when it has not changed.
#[derive(Clone)]
pub struct Reading {
    pub since: Instant,
    pub progress: Progress,
    /// The longest earlier period without progress.
    longest: Duration,
    /// Processes that have ended, and when that was noticed.
    ended: BTreeMap<ImageId, Instant>,
}

impl Reading {
    /// Makes the reading that follows `before`.
    pub fn after(before: Option<Self>, progress: Progress) -> Self {
        let now = Instant::now();
        let Some(before) = before else {
            return Self { since: now, progress, longest: Duration::ZERO, ended: BTreeMap::new() };
        };
        let mut ended = before.ended;
        let gone = before.progress.living.difference(&progress.living);
        ended.extend(gone.map(|process| (process.clone(), now)));
        let (since, longest) = match progress.calls == before.progress.calls {
            true => (before.since, before.longest),
            false => (now, before.longest.max(now - before.since)),
        };
        Self { since, progress, longest, ended }
    }

    /// Returns the processes that lived until the job's end began at `end`.
    pub fn lived(&self, end: Instant) -> BTreeSet<ImageId> {
        let together = self.ended.iter().filter(|(_, seen)| **seen + ENDED_TOGETHER > end);
        self.progress.living.iter().chain(together.map(|(process, _)| process)).cloned().collect()
    }

    /// Returns when the final series of ends began, in which each process ended shortly after the one before.
    pub fn last_end(&self) -> Instant {
        let mut seen: Vec<Instant> = self.ended.values().copied().collect();
        seen.sort_unstable();
        let Some(last) = seen.pop() else { return Instant::now() };
        let together =
            |later: Instant, seen: &Instant| later.saturating_duration_since(*seen) < ENDED_TOGETHER;
        seen.iter()
            .rev()
            .fold((last, true), |(first, goes_on), seen| match goes_on && together(first, seen) {
                true => (*seen, true),
                false => (first, false),
            })
            .0
    }

    /// Returns how long the job must have stalled before an uncertain verdict is reported.
    pub fn patience(&self, after: Duration) -> Duration {
        let (least, times) = PATIENCE;
        least.max(after * times).max(self.longest * LONGER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(inode: u64) -> ImageId {
        ImageId { host: "n1".to_owned(), inode }
    }

    fn progress(calls: u64, living: &[u64]) -> Progress {
        Progress { calls, living: living.iter().copied().map(id).collect(), ..Progress::default() }
    }

    #[test]
    fn ranks_that_just_ended_count_as_alive_but_earlier_ones_do_not() {
        let first = Reading::after(None, progress(7, &[1, 2, 3]));
        let since = first.since;
        let mut second = Reading::after(Some(first), progress(7, &[1, 3]));
        second.ended.insert(id(2), Instant::now() - 2 * ENDED_TOGETHER);
        let third = Reading::after(Some(second), progress(7, &[3]));
        assert_eq!(third.lived(Instant::now()), [id(1), id(3)].into());
        assert_eq!(third.since, since, "nobody has gone on");
        let fourth = Reading::after(Some(third), progress(8, &[3]));
        assert!(fourth.since > since);
    }

    #[test]
    fn ranks_that_just_ended_are_reported_while_others_still_run() {
        let (mut gone, began) = (Gone::default(), Instant::now());
        assert!(!gone.is_new(false, began));
        assert!(gone.is_new(true, began) && gone.is_new(true, began + ENDING / 2));
        assert!(!gone.is_new(true, began + ENDING));
        assert!(!gone.is_new(false, began + ENDING) && gone.is_new(true, began + ENDING));
    }

    #[test]
    fn ranks_that_end_shortly_after_each_other_are_one_end_without_much_earlier_ones() {
        let mut all = Reading::after(None, progress(7, &[]));
        let ago = |ms: u64| Instant::now() - Duration::from_millis(ms);
        all.ended = [(id(1), ago(500)), (id(2), ago(2000)), (id(3), ago(3500)), (id(4), ago(9000))].into();
        let end = all.last_end();
        assert!(end < ago(3400) && end > ago(4000), "{:?}", end.elapsed());
        assert_eq!(all.lived(end), [id(1), id(2), id(3)].into());
    }
}
