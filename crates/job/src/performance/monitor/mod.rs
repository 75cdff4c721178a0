//! The course of a run: looks at the ranks of a host again and again while they run, without stopping or slowing them.
//!
//! ```text
//! images ──► Follower (per process) ──┬─ last collectives, new messages ──► waits::Sum ──► Waits of the whole run
//!                                     └─ time in MPI so far ──► windows::Timeline ──► Windows
//! ```
//!
//! All rings are copied first, one process right after the other, and understood afterwards: in short cycles a ring is overwritten
//! within a fraction of a millisecond, and only what all members still have can be compared. Times are converted by one clock for all
//! processes of the host. Source lines are looked up when the run is over; then what several hosts have seen is joined.

mod follow;
mod messages;
mod places;
pub mod windows;

use crate::base::clock::{Moment, TickClock};
use crate::base::clock_offset::HostClock;
use crate::model::locate::Locate;
use crate::observation::Observation;
use crate::performance::waits::{Spent, Stood, Sum, Time, Waits};
use follow::{Follower, Stand};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;
use windows::{Timeline, Windows};

/// Processes that are followed.
const MOST: usize = 4096;
/// Between the two moments that the clock is made of.
const APART: Duration = Duration::from_millis(20);

/// Clocks for images of this host, by what their ticks are.
#[derive(Debug, Clone)]
struct Clocks {
    counter: TickClock,
    plain: TickClock,
}

/// Follows the processes of a job on this host.
pub struct Follow {
    first: Moment,
    clocks: Option<Clocks>,
    processes: Vec<Follower>,
    sum: Sum,
    course: Timeline,
}

/// What has been seen until now.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Followed {
    sum: Sum,
    course: Timeline,
}

impl Default for Follow {
    fn default() -> Self {
        Self {
            first: Moment::now(),
            clocks: None,
            processes: Vec::new(),
            sum: Sum::default(),
            course: Timeline::default(),
        }
    }
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("processes", &self.processes.len()).finish_non_exhaustive()
    }
}

impl Follow {
    /// One more process, by its image.
    pub fn add(&mut self, image: OwnedFd) {
        if self.processes.len() < MOST {
            self.processes.push(Follower::new(image));
        }
    }

    /// Whether there is any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Looks at all of them.
    pub fn look(&mut self) {
        let (observations, spent) = self.observe();
        if !observations.is_empty() {
            self.sum.add(&observations, spent);
            self.course.wait(&self.sum.take_waiting());
        }
    }

    /// Looks who waits for whom at this moment, as far as no record says that later. This takes much longer than the other looks, and has a
    /// rhythm of its own.
    pub fn sample(&mut self) {
        let Some(clocks) = self.clocks() else { return };
        let now = Moment::now();
        let before: Vec<Option<Stand>> =
            self.processes.iter_mut().map(|process| process.stand(&clocks, now)).collect();
        let known = || before.iter().flatten();
        if known().next().is_none() {
            return;
        }
        if !known().any(|stand| stand.waits) {
            return self.sum.sample(now.monotonic_ns, &[], &[]);
        }
        let seen: Vec<Option<Observation>> =
            self.processes.iter_mut().map(|process| process.whole(now)).collect();
        let after: Vec<Option<Stand>> =
            self.processes.iter_mut().map(|process| process.stand(&clocks, now)).collect();
        // Whose process was killed waits for nobody any more, though others may wait for him.
        let living = self.processes.iter().map(|process| !process.has_ended());
        let stands = before.iter().zip(&after).zip(living);
        let looked = seen.into_iter().zip(stands).filter_map(|(seen, ((before, after), living))| {
            let steady = before == after && living;
            let Stand { waits, records, .. } = *before.as_ref()?;
            Some((seen?, Stood { steady, waits: waits && living, records }))
        });
        let (seen, stood): (Vec<Observation>, Vec<Stood>) = looked.unzip();
        self.sum.sample(now.monotonic_ns, &seen, &stood);
    }

    fn observe(&mut self) -> (Vec<Observation>, Spent) {
        let Some(clocks) = self.clocks() else { return Default::default() };
        let taken: Vec<_> = self.processes.iter_mut().map(|process| process.take(&clocks)).collect();
        let (mut observations, mut spent) = (Vec::new(), Spent::default());
        for (process, taken) in self.processes.iter_mut().zip(taken) {
            let Some(taken) = taken else { continue };
            let Some((observation, reading)) = process.understand(&taken) else { continue };
            spent.collectives += reading.spent.collectives;
            spent.messages += reading.spent.messages;
            self.course.add(&reading);
            self.course.repeat(&reading, &observation.history);
            observations.push(observation);
        }
        (observations, spent)
    }

    fn clocks(&mut self) -> Option<Clocks> {
        if self.clocks.is_none() {
            let (first, now) = (self.first, Moment::now());
            let apart = Duration::from_nanos(now.monotonic_ns.saturating_sub(first.monotonic_ns));
            let of = |counts| TickClock::of_host(first, now, counts);
            self.clocks = (apart >= APART).then(|| Clocks { counter: of(true), plain: of(false) });
        }
        self.clocks.clone()
    }

    /// Looks once more, and gives what has been seen until then, as if nothing came after.
    pub fn followed(&mut self) -> Followed {
        let (observations, spent) = self.observe();
        let (mut sum, mut course) = (self.sum.clone(), self.course.clone());
        if !observations.is_empty() {
            sum.add_last(&observations, spent);
            course.wait(&sum.take_waiting());
            self.sum.add(&observations, spent);
            self.course.wait(&self.sum.take_waiting());
        }
        Followed { sum, course }
    }
}

impl Followed {
    /// Says what places are called, by symbols of the host that has seen them: another one may not have the files.
    pub fn put_into_words(&mut self, symbols: &dyn Locate) {
        self.sum.put_into_words(&|text| places::in_words(text, symbols));
    }

    /// Adds what another host has seen of its ranks; without its clock, times are taken as they are.
    pub fn take_in(&mut self, other: Self, clock: Option<&HostClock>) {
        self.sum.take_in(other.sum);
        self.course.take_in(other.course, clock);
    }

    /// The waits of the whole run, with the last look.
    #[must_use]
    pub fn waits(&self, last: &[Observation], time: Time<'_>, symbols: &dyn Locate) -> Waits {
        self.sum.finish(last, time, &|text| places::in_words(text, symbols))
    }

    /// The windows of the run, with so many seconds of waits at most.
    #[must_use]
    pub fn windows(&self, waited_s: f64, number: impl Fn(&str, &str, u32) -> usize) -> Option<Windows> {
        self.course.windows(waited_s, number)
    }
}
