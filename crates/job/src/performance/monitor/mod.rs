//! The course of a run: samples the ranks of a host over and over while they run, without stopping them or
//! slowing them down.
//!
//! ```text
//! images ──► Follower (per process) ──┬─ last collectives, new messages ──► waits::Sum ──► Waits of the whole run
//!                                     └─ time in MPI so far ──► windows::Timeline ──► Windows
//! ```
//!
//! All rings are copied first, one process right after the other, and interpreted afterward: in short cycles
//! a ring is overwritten within a fraction of a millisecond, and only what all members still have can be
//! compared. Times are converted with one clock for all processes of the host. Source lines are resolved
//! after the run; then the results of several hosts are joined.

mod follow;
mod messages;
mod places;
pub mod windows;

use crate::base::clock::{Moment, TickClock};
use crate::base::clock_offset::HostClock;
use crate::model::locate::Locate;
use crate::observation::Observation;
use crate::performance::waits::{Spent, Stood, Sum, Time, Waiting, Waits};
use follow::{Follower, Stand};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;
use windows::{Reading, Timeline, Windows};

/// Maximum number of followed processes.
const MOST: usize = 4096;
/// Minimum distance between the two moments that calibrate the clock.
const APART: Duration = Duration::from_millis(20);

/// Clocks for images on this host, by the unit of their ticks.
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

/// Results so far.
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
    /// Adds a process, given its image.
    pub fn add(&mut self, image: OwnedFd) {
        if self.processes.len() < MOST {
            self.processes.push(Follower::new(image));
        }
    }

    /// Returns whether no process is followed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Reads all of them.
    pub fn look(&mut self) {
        let (observations, spent) = self.observe();
        if !observations.is_empty() {
            self.sum.add(&observations, spent);
            self.course.wait(&self.sum.take_waiting());
        }
    }

    /// Samples which ranks wait for which at this moment, as far as no record will tell later. This takes
    /// much longer than [`look`](Self::look) and happens at its own intervals.
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
        // A process that was killed no longer waits for others, though others may wait for it.
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
        for (number, (process, taken)) in self.processes.iter_mut().zip(taken).enumerate() {
            let Some(taken) = taken else { continue };
            let Some((observation, reading)) = process.understand(&taken) else { continue };
            let reading = Reading { process: number, ..reading };
            spent.collectives += reading.spent.collectives;
            spent.messages += reading.spent.messages;
            self.sum.read(&reading.world, reading.rank, reading.total());
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

    /// Reads all processes once more and returns the results so far, as if the run ended here.
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
    /// Resolves places with the symbols of the host that observed them: other hosts may lack the files.
    pub fn put_into_words(&mut self, symbols: &dyn Locate) {
        self.sum.put_into_words(&|text| places::in_words(text, symbols));
    }

    /// Adds what another host observed of its ranks; without its clock, times are used unchanged.
    pub fn take_in(&mut self, other: Self, clock: Option<&HostClock>) {
        self.sum.take_in(other.sum);
        self.course.take_in(other.course, clock);
    }

    /// Returns the waits of the whole run, including the last observations; and those that were only found in
    /// these, for the windows.
    #[must_use]
    pub fn waits(&self, last: &[Observation], time: Time<'_>, symbols: &dyn Locate) -> (Waits, Vec<Waiting>) {
        self.sum.finish_and_list(last, time, &|text| places::in_words(text, symbols))
    }

    /// Returns the windows of the run, with at most `waited_s` seconds of waits, including these of the last
    /// observations.
    #[must_use]
    pub fn windows(
        &self,
        (waited_s, last): (f64, &[Waiting]),
        number: impl Fn(&str, &str, u32) -> usize,
    ) -> Option<Windows> {
        if last.is_empty() {
            return self.course.windows(waited_s, number);
        }
        let mut course = self.course.clone();
        course.wait(last);
        course.windows(waited_s, number)
    }
}
