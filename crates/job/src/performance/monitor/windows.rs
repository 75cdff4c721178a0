//! The run divided into time windows: how well the ranks worked together in each, and when that changed.
//!
//! All windows have the same length. When there would be too many, adjacent ones are merged in pairs, so
//! their number is bounded however long the job runs. A rank's activity between two samples is spread evenly
//! over that time.

use crate::jobs::worlds::Members;
use crate::observation::History;
use crate::performance::report::Efficiencies;
use crate::performance::waits::{Spent, Total, Waiting};
use serde::{Deserialize, Serialize};

mod change;
mod memory;
mod repetition;
mod take_in;
mod words;

use change::segments;
pub use memory::Growth;
use memory::Level;
pub use repetition::Iterations;
use repetition::Repetitions;

/// Maximum number of windows.
pub const MOST: usize = 128;
/// Maximum number of rows in a table of them.
const MOST_ROWS: usize = 16;
/// Initial window length in nanoseconds.
const FIRST_NS: u64 = 50_000_000;
/// Maximum number of ranks.
const MOST_RANKS: usize = 1 << 14;

/// What a rank has done so far, in seconds.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Reading {
    /// Number of the process among those followed on its host: its rank and world are provisional until
    /// `MPI_Init` returns, and its process id is unique only within its container.
    pub process: usize,
    pub world: String,
    pub rank: Option<u32>,
    pub pid: u32,
    pub host: String,
    /// Time of the reading, in nanoseconds of `CLOCK_MONOTONIC`.
    pub until_ns: u64,
    /// Since `MPI_Init`.
    pub wall_s: f64,
    /// Of all threads that call MPI.
    pub time_s: f64,
    pub mpi_s: f64,
    pub polling_s: f64,
    /// In completed collectives, and in calls that can wait for messages.
    pub spent: Spent,
    /// Resident memory in bytes, if known.
    pub resident: Option<u64>,
    /// When it last marked an iteration, in nanoseconds of `CLOCK_MONOTONIC`, and the number of marks so far.
    pub marked: Option<(u64, u64)>,
}

impl Reading {
    /// Returns the time spent in MPI so far.
    #[must_use]
    pub fn total(&self) -> Total {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Total {
            at: self.until_ns,
            elapsed: ns(self.time_s),
            mpi: ns(self.mpi_s),
            collectives: ns(self.spent.collectives),
            messages: ns(self.spent.messages),
        }
    }
}

/// A rank's activity in one window, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<f32>", into = "[f32; 5]")]
struct Part {
    wall: f64,
    time: f64,
    mpi: f64,
    polling: f64,
    /// The part of the time in MPI and polling that was spent waiting for others.
    waits: f64,
}

/// The form in which it is sent, with microsecond resolution.
impl From<Part> for [f32; 5] {
    fn from(part: Part) -> Self {
        let seconds = [part.wall, part.time, part.mpi, part.polling, part.waits];
        seconds.map(|seconds| ((seconds * 1e6).round() / 1e6) as f32)
    }
}

/// Senders that do not know all values send fewer.
impl From<Vec<f32>> for Part {
    fn from(sent: Vec<f32>) -> Self {
        let at = |place: usize| sent.get(place).copied().map_or(0.0, f64::from);
        Self { wall: at(0), time: at(1), mpi: at(2), polling: at(3), waits: at(4) }
    }
}

impl Part {
    fn of(reading: &Reading) -> Self {
        let (wall, time, mpi) = (reading.wall_s, reading.time_s, reading.mpi_s);
        Self { wall, time, mpi, polling: reading.polling_s, waits: 0.0 }
    }

    fn since(self, before: Self) -> Self {
        let more = |a: f64, b: f64| (b - a).max(0.0);
        Self {
            wall: more(before.wall, self.wall),
            time: more(before.time, self.time),
            mpi: more(before.mpi, self.mpi),
            polling: more(before.polling, self.polling),
            waits: 0.0,
        }
    }

    fn and(self, other: Self, part: f64) -> Self {
        Self {
            wall: self.wall + part * other.wall,
            time: self.time + part * other.time,
            mpi: self.mpi + part * other.mpi,
            polling: self.polling + part * other.polling,
            waits: self.waits + part * other.waits,
        }
    }

    fn share(self, of: f64) -> f64 {
        if self.time > 0.0 { (of / self.time).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn useful_s(self) -> f64 {
        self.wall * self.share(self.time - self.mpi - self.polling)
    }

    /// Returns the time spent waiting for others.
    fn waits_s(self) -> f64 {
        self.wall * self.share(self.waits.min(self.not_useful()))
    }

    /// The time in MPI, and between the calls of polling loops: all of it may be waiting.
    fn not_useful(self) -> f64 {
        self.mpi + self.polling
    }
}

/// A rank over the course of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Track {
    /// Number of the process; `None` for one that another host follows.
    #[serde(skip)]
    process: Option<usize>,
    world: String,
    rank: Option<u32>,
    pid: u32,
    host: String,
    from_ns: u64,
    until_ns: u64,
    before: Part,
    windows: Vec<Part>,
    /// By window, as far as observed.
    #[serde(default)]
    resident: Vec<Level>,
}

/// All ranks over the course of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Timeline {
    begin_ns: Option<u64>,
    width_ns: u64,
    tracks: Vec<Track>,
    /// Number of ranks dropped for lack of space.
    left_out: u64,
    #[serde(default)]
    repetitions: Repetitions,
    /// Whether all kinds of waits were searched for.
    #[serde(default)]
    waited: bool,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            begin_ns: None,
            width_ns: FIRST_NS,
            tracks: Vec::new(),
            left_out: 0,
            repetitions: Repetitions::default(),
            waited: false,
        }
    }
}

impl Timeline {
    /// Adds a reading; ignored for a process that does not know its rank yet.
    pub fn add(&mut self, reading: &Reading) {
        if reading.rank.is_none() {
            return;
        }
        let from_ns = reading.until_ns.saturating_sub((reading.wall_s * 1e9) as u64);
        let begin_ns = *self.begin_ns.get_or_insert(from_ns);
        let same = |track: &Track| track.process == Some(reading.process);
        let at = match self.tracks.iter().position(same) {
            Some(at) => at,
            None if self.tracks.len() >= MOST_RANKS => return,
            None => {
                self.tracks.push(Track::new(reading, from_ns.max(begin_ns)));
                self.tracks.len() - 1
            }
        };
        while reading.until_ns.saturating_sub(begin_ns) > self.width_ns.saturating_mul(MOST as u64) {
            self.width_ns = self.width_ns.saturating_mul(2);
            self.tracks.iter_mut().for_each(Track::halve);
        }
        let width_ns = self.width_ns;
        if let Some(track) = self.tracks.get_mut(at) {
            track.name(reading);
            track.add(reading, begin_ns, width_ns);
        }
    }

    /// Adds the most recent collectives of a rank.
    pub fn repeat(&mut self, reading: &Reading, history: &[History]) {
        if let Some(rank) = reading.rank {
            self.repetitions.add(rank, history, reading.marked);
        }
    }

    /// Adds waits of all kinds found since the last call.
    pub fn wait(&mut self, waits: &[Waiting]) {
        self.waited = true;
        let Some(begin_ns) = self.begin_ns else { return };
        for Waiting { who: (world, rank), from_ns, until_ns, seconds } in waits {
            let same = |track: &&mut Track| track.rank == *rank && *track.world == **world;
            if let Some(track) = self.tracks.iter_mut().find(same) {
                track.wait((*from_ns, *until_ns), *seconds, begin_ns, self.width_ns);
            }
        }
    }

    /// Returns the windows; `None` for a run that was observed for less than two of them. Waits are limited
    /// to `waited_s` seconds, the total reported for the whole run. `number` maps a world, as named by a
    /// host's process, to its number in the job.
    #[must_use]
    pub fn windows(&self, waited_s: f64, number: impl Fn(&str, &str, u32) -> usize) -> Option<Windows> {
        let count = self.tracks.iter().map(|track| track.windows.len()).max()?;
        if count < 2 {
            return None;
        }
        let mut tracks: Vec<(usize, &Track)> =
            self.tracks.iter().map(|track| (number(&track.world, &track.host, track.pid), track)).collect();
        tracks.sort_by_key(|(world, track)| (*world, track.rank, track.pid));
        let name = |(world, track): &(usize, &Track)| Members::from_iter([(*world, track.rank)]).to_string();
        let width_s = self.width_ns as f64 / 1e9;
        let parts = |at: usize| -> Vec<Part> {
            tracks.iter().map(|(_, track)| track.windows.get(at).copied().unwrap_or_default()).collect()
        };
        let mut all: Vec<Vec<Part>> = (0..count).map(parts).collect();
        bound_waits(&mut all, waited_s);
        let iterations = self.repetitions.iterations();
        let whole = |rank: usize| whole(&all, rank);
        let begin_ns = self.begin_ns.unwrap_or_default();
        // Only while the program whose iterations these are exists: others may have run before and after it.
        let counted = iterations.as_ref().and_then(|found| Some((found, self.lead(found)?)));
        let over = |at: usize| {
            let ns = begin_ns.saturating_add(self.width_ns.saturating_mul(at as u64));
            let there = |lead: &Track| ns.saturating_add(self.width_ns) > lead.from_ns && ns < lead.until_ns;
            counted.filter(|(_, lead)| there(lead)).map(|(found, _)| found.over_at(ns))
        };
        let mut found = Windows {
            seconds: width_s,
            ranks: tracks.iter().map(name).collect(),
            list: (0..)
                .zip(&all)
                .map(|(at, parts)| Window::of(f64::from(at) * width_s, parts, self.waited))
                .collect(),
            rows: self.rows(&all),
            waited_s: (0..if self.waited { tracks.len() } else { 0 })
                .map(|rank| whole(rank).waits_s())
                .collect(),
            iterations: iterations.clone(),
            said: Vec::new(),
            growing: Vec::new(),
        };
        let useful: Vec<Vec<f64>> =
            all.iter().map(|parts| parts.iter().map(|part| part.useful_s() / width_s).collect()).collect();
        (0..).zip(&mut found.list).for_each(|(at, window)| window.iterations_over = over(at));
        let firsts = (0..).step_by(each_row(count));
        firsts.zip(&mut found.rows).for_each(|(at, row)| row.iterations_over = over(at));
        let who: Vec<(usize, Option<u32>)> =
            tracks.iter().map(|(world, track)| (*world, track.rank)).collect();
        found.said = words::said(&found, &all, &segments(&useful), (&over, &who), self.run_s());
        Self::put_memory(&tracks, &mut found);
        if self.left_out > 0 {
            found.said.push(format!("{} further ranks are not in the windows", self.left_out));
        }
        Some(found)
    }
}

impl Timeline {
    /// Returns the time from the beginning of the first window to the last reading of a rank, in seconds.
    fn run_s(&self) -> f64 {
        let until_ns = self.tracks.iter().map(|track| track.until_ns).max().unwrap_or_default();
        until_ns.saturating_sub(self.begin_ns.unwrap_or_default()) as f64 / 1e9
    }

    /// Returns the rank whose iterations were counted.
    fn lead(&self, of: &Iterations) -> Option<&Track> {
        let last_ns = of.last_ns()?;
        let there = |track: &&Track| track.from_ns <= last_ns && last_ns <= track.until_ns;
        self.tracks.iter().filter(|track| track.rank == self.repetitions.lead()).find(there)
    }

    /// Computes [`Windows::rows`].
    fn rows(&self, all: &[Vec<Part>]) -> Vec<Window> {
        let each = each_row(all.len());
        let width_s = self.width_ns as f64 / 1e9 * each as f64;
        let joined = |windows: &[Vec<Part>]| -> Vec<Part> {
            let ranks = windows.iter().map(Vec::len).max().unwrap_or(0);
            let rank = |at: usize| windows.iter().filter_map(move |parts| parts.get(at));
            (0..ranks).map(|at| rank(at).fold(Part::default(), |sum, part| sum.and(*part, 1.0))).collect()
        };
        let row = |(at, windows): (u32, &[Vec<Part>])| {
            Window::of(f64::from(at) * width_s, &joined(windows), self.waited)
        };
        (0..).zip(all.chunks(each)).map(row).collect()
    }
}

/// Returns a rank's activity in all windows together.
fn whole(all: &[Vec<Part>], rank: usize) -> Part {
    let parts = all.iter().filter_map(|parts| parts.get(rank));
    parts.fold(Part::default(), |sum, part| sum.and(*part, 1.0))
}

/// Limits the waits: samples stand for the time around them, which may exceed the actual wait. If the sum is
/// too large, all waits are scaled down alike.
fn bound_waits(all: &mut [Vec<Part>], most_s: f64) {
    let ranks = all.first().map_or(0, Vec::len);
    for rank in 0..ranks {
        let mut parts: Vec<&mut Part> = all.iter_mut().filter_map(|parts| parts.get_mut(rank)).collect();
        let left = hand_on(0.0, parts.iter_mut().map(|part| &mut **part));
        hand_on(left, parts.into_iter().rev());
    }
    let counted: f64 = (0..ranks).map(|rank| whole(all, rank).waits_s()).sum();
    if counted > most_s {
        all.iter_mut().flatten().for_each(|part| part.waits *= most_s / counted);
    }
}

/// Limits the waits in each window to the time in MPI and polling. That is known for the time between two
/// samples only, so what exceeds it belongs to another window nearby: to the next one with room for it.
/// Returns what is left at the end.
fn hand_on<'a>(before: f64, parts: impl Iterator<Item = &'a mut Part>) -> f64 {
    parts.fold(before, |more, part| {
        let all = part.waits + more;
        part.waits = all.min(part.not_useful());
        all - part.waits
    })
}

/// Returns the number of windows per row.
fn each_row(windows: usize) -> usize {
    windows.div_ceil(MOST_ROWS).max(1)
}

impl Windows {
    /// Returns the iteration in which a window began, or the last one if all were over.
    #[must_use]
    pub fn iteration_of(&self, window: &Window) -> Option<u64> {
        let count = self.iterations.as_ref()?.count;
        Some((window.iterations_over?.floor() as u64 + 1).min(count))
    }

    /// Returns the length of each of the [`rows`](Self::rows), in seconds.
    #[must_use]
    pub fn row_s(&self) -> f64 {
        self.seconds * each_row(self.list.len()) as f64
    }
}

impl Track {
    fn new(reading: &Reading, from_ns: u64) -> Self {
        Self {
            process: Some(reading.process),
            world: reading.world.clone(),
            rank: reading.rank,
            pid: reading.pid,
            host: reading.host.clone(),
            from_ns,
            until_ns: from_ns,
            before: Part::default(),
            windows: Vec::new(),
            resident: Vec::new(),
        }
    }

    /// Takes over the rank and world, which may differ from the launcher's once `MPI_Init` has returned.
    fn name(&mut self, reading: &Reading) {
        self.rank = reading.rank;
        if self.world != reading.world {
            self.world.clone_from(&reading.world);
        }
    }

    /// Merges windows in pairs.
    fn halve(&mut self) {
        let both = |pair: &[Part]| pair.iter().fold(Part::default(), |sum, part| sum.and(*part, 1.0));
        self.windows = self.windows.chunks(2).map(both).collect();
        let both = |pair: &[Level]| pair.iter().fold(Level::default(), |sum, level| sum.and(*level));
        self.resident = self.resident.chunks(2).map(both).collect();
    }

    /// Adds a wait, spread evenly over the windows it overlaps.
    fn wait(&mut self, (from, until): (u64, u64), seconds: f64, begin_ns: u64, width_ns: u64) {
        let (from, until) = (from.max(begin_ns), until.max(begin_ns).max(from + 1));
        let (width_ns, long) = (width_ns.max(1), (until - from) as f64);
        let last = (((until - 1 - begin_ns) / width_ns) as usize).min(MOST - 1);
        if self.windows.len() <= last {
            self.windows.resize(last + 1, Part::default());
        }
        let first = ((from - begin_ns) / width_ns) as usize;
        for (at, window) in (0u64..).zip(&mut self.windows).take(last + 1).skip(first) {
            let begin = begin_ns.saturating_add(at.saturating_mul(width_ns));
            let common = until.min(begin.saturating_add(width_ns)).saturating_sub(from.max(begin));
            window.waits += seconds * common as f64 / long;
        }
    }

    fn add(&mut self, reading: &Reading, begin_ns: u64, width_ns: u64) {
        let now = Part::of(reading);
        let more = now.since(self.before);
        let (from, until) = (self.until_ns.max(begin_ns), reading.until_ns);
        if until <= from {
            return;
        }
        (self.before, self.until_ns) = (now, until);
        // A process knows its rank before it knows its world.
        self.world.clone_from(&reading.world);
        let place = |ns: u64| (ns - begin_ns) / width_ns.max(1);
        let last = (place(until - 1) as usize).min(MOST - 1);
        if self.windows.len() <= last {
            self.windows.resize(last + 1, Part::default());
        }
        if let Some(bytes) = reading.resident {
            self.resident.resize(last + 1, Level::default());
            self.resident.iter_mut().skip(last).for_each(|level| level.see(bytes));
        }
        for (at, window) in (0u64..).zip(&mut self.windows).skip(place(from) as usize) {
            let begin = begin_ns + at * width_ns;
            let common = until.min(begin + width_ns).saturating_sub(from.max(begin));
            *window = window.and(more, common as f64 / (until - from) as f64);
        }
    }
}

/// The run divided into time windows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Windows {
    /// Length of each window; the last one may be incomplete.
    pub seconds: f64,
    /// The ranks, in the order of [`Window::mpi`].
    pub ranks: Vec<String>,
    /// Seconds each rank waited for others, in MPI or polling, including estimates; empty if waits were not
    /// measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited_s: Vec<f64>,
    /// The windows in order of time.
    pub list: Vec<Window>,
    /// The same in few rows, for a table: several consecutive windows are combined. Their efficiencies are
    /// computed from the combined times, since averages of efficiencies are meaningless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Window>,
    /// The iterations of the program, if it was observed to repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Iterations>,
    /// Sentences on the stretches in which the run was uniform, and on what the ranks did in them.
    pub said: Vec<String>,
    /// Ranks whose resident memory grows, fastest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growing: Vec<Growth>,
}

/// A time window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// Start, in seconds since the first rank entered `MPI_Init`.
    pub from_s: f64,
    /// Defined by the POP project, as for the whole run; `None` if no rank did useful work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balance: Option<f64>,
    #[allow(missing_docs)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication_efficiency: Option<f64>,
    #[allow(missing_docs)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_efficiency: Option<f64>,
    /// What the communication efficiency would be if waiting for others inside MPI were the only loss; `None`
    /// if waits were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serialisation_efficiency: Option<f64>,
    /// What it would be if the rest of the time in MPI were the only loss: the product of both is the
    /// communication efficiency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_efficiency: Option<f64>,
    /// Index in [`Windows::ranks`] of the rank with the most useful time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<usize>,
    /// That rank's useful time divided by the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_mean: Option<f64>,
    /// Number of iterations completed when the window began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations_over: Option<f64>,
    /// The share of each rank's time spent in MPI; `None` for absent ranks.
    pub mpi: Vec<Option<f32>>,
    /// The mean observed resident memory of each rank, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resident: Vec<Option<u64>>,
}

impl Window {
    fn of(from_s: f64, parts: &[Part], waited: bool) -> Self {
        let here: Vec<&Part> = parts.iter().filter(|part| part.wall > 0.0).collect();
        let useful: Vec<f64> = here.iter().map(|part| part.useful_s()).collect();
        let wall = here.iter().map(|part| part.wall).fold(0.0, f64::max);
        let found = Efficiencies::of(&useful, wall);
        let waits: Vec<f64> = here.iter().map(|part| part.waits_s()).collect();
        let split = if waited { found.and_then(|found| found.split(&useful, &waits, wall)) } else { None };
        let slowest = longest(parts).filter(|_| found.is_some());
        let mean = useful.iter().sum::<f64>() / useful.len().max(1) as f64;
        let most = slowest.and_then(|at| parts.get(at)).map(|part| part.useful_s());
        let rounded = |value: f64| (value * 1000.0).round() as f32 / 1000.0;
        Self {
            from_s,
            load_balance: found.map(|found| found.load_balance),
            communication_efficiency: found.map(|found| found.communication),
            parallel_efficiency: found.map(|found| found.parallel),
            serialisation_efficiency: split.map(|(serialization, _)| serialization),
            transfer_efficiency: split.map(|(_, transfer)| transfer),
            slowest,
            over_mean: most.map(|most| most / mean),
            iterations_over: None,
            mpi: parts.iter().map(|part| (part.wall > 0.0).then(|| rounded(part.share(part.mpi)))).collect(),
            resident: Vec::new(),
        }
    }
}

/// Returns the rank with the most useful time.
fn longest(parts: &[Part]) -> Option<usize> {
    let all = parts.iter().enumerate().filter(|(_, part)| part.wall > 0.0);
    all.max_by(|(_, a), (_, b)| a.useful_s().total_cmp(&b.useful_s())).map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
