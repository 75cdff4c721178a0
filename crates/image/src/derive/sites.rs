//! Call sites: combines the records of several threads, and determines what has no record.

use super::Moved;
use crate::sites::{DURATIONS, Site, duration_class};
use mpi_abi::Moves;

/// Calls of one function: from one place, or from all places together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Number of completed calls.
    pub count: u64,
    /// Ticks spent in them.
    pub ticks: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The received part of these bytes.
    pub received: u64,
    /// Number of calls whose time is an [estimate](crate::sites::estimate).
    pub estimated: u64,
}

impl Calls {
    /// No calls.
    pub const NONE: Self = Self { count: 0, ticks: 0, bytes: 0, received: 0, estimated: 0 };

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.by(other, u64::saturating_add)
    }

    /// The calls of a function that are not among `sites`, all its places: those for which there was no
    /// record left. The words of a running process are not read at the same moment, so the difference
    /// saturates at zero.
    #[must_use]
    pub fn without(self, sites: Self) -> Self {
        self.by(sites, u64::saturating_sub)
    }

    fn by(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        Self {
            count: both(self.count, other.count),
            ticks: both(self.ticks, other.ticks),
            bytes: both(self.bytes, other.bytes),
            received: both(self.received, other.received),
            estimated: both(self.estimated, other.estimated),
        }
    }

    /// The direction in which the bytes of a function with these properties moved.
    #[must_use]
    pub fn moved(&self, moves: Moves) -> Moved {
        Moved::of(moves, self.bytes, self.received)
    }

    /// Whether there are no calls.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// Details of a place in addition to its sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durations {
    /// Duration of the shortest and the longest call, in ticks; `None` without times.
    pub extremes: Option<(u64, u64)>,
    /// Number of calls by `sites::duration_class`.
    pub classes: [u64; DURATIONS],
}

impl Durations {
    /// No calls.
    pub const NONE: Self = Self { extremes: None, classes: [0; DURATIONS] };

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.extremes = match (self.extremes, other.extremes) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        for (class, more) in self.classes.iter_mut().zip(other.classes) {
            *class = class.saturating_add(more);
        }
        self
    }
}

/// The contents of one record; `None` if it is just being created.
#[must_use]
pub fn of(site: &Site) -> Option<(u32, Calls, Durations)> {
    let function = site.function.get().checked_sub(1)?;
    let (count, ticks) = (site.count.get(), site.ticks.get());
    let (bytes, received) = (site.bytes.get(), site.received.get());
    let calls = Calls { count, ticks, bytes, received, estimated: site.estimated.get() };
    let (least, greatest) = (site.least.get(), site.greatest.get());
    let mut classes = [0; DURATIONS];
    for (to, from) in classes.iter_mut().zip(&site.durations) {
        *to = from.get();
    }
    let covered = site.covered.get();
    // The latest calls of a place whose calls are sampled, which the next timed call will represent.
    if let Some(latest) = count.checked_sub(covered).filter(|latest| covered != 0 && *latest != 0)
        && let Some(class) = classes.get_mut(duration_class(ticks / covered))
    {
        *class = class.saturating_add(latest);
    }
    let extremes = (least <= greatest).then_some((least, greatest));
    Some((function, calls, Durations { extremes, classes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_include_the_latest_calls_that_were_not_timed() {
        // SAFETY: a site consists of words only, for which zero is valid.
        #[allow(unsafe_code)]
        let site: Site = unsafe { std::mem::zeroed() };
        site.function.set(1);
        site.count.set(20);
        site.ticks.set(10 * 100);
        site.durations[duration_class(100)].set(10);
        let lengths = || of(&site).map(|(_, _, durations)| durations.classes[duration_class(100)]);
        assert_eq!(lengths(), Some(10), "not sampled");
        site.covered.set(10);
        assert_eq!(lengths(), Some(20));
        site.covered.set(u64::MAX);
        assert_eq!(lengths(), Some(10), "overwritten");
    }

    #[test]
    fn calls_without_a_call_site_are_the_rest_and_never_negative() {
        let all = Calls { count: 10, ticks: 100, bytes: 7, received: 3, estimated: 2 };
        let some = Calls { count: 4, ticks: 120, bytes: 7, received: 1, estimated: 1 };
        assert_eq!(all.without(some), Calls { count: 6, ticks: 0, bytes: 0, received: 2, estimated: 1 });
        assert!(all.without(all).are_none());
    }

    #[test]
    fn a_call_site_without_calls_does_not_change_the_extremes_of_another() {
        let one = Durations { extremes: Some((5, 9)), ..Durations::NONE };
        let two = Durations { extremes: Some((2, 6)), ..Durations::NONE };
        assert_eq!(one.and(&Durations::NONE).extremes, Some((5, 9)));
        assert_eq!(Durations::NONE.and(&one).and(&two).extremes, Some((2, 9)));
    }
}
