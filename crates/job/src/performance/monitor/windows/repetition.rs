//! Iterations: a program that computes in steps makes the same collective calls in each. Their numbers on a
//! communicator count the steps, including those between two samples.
//!
//! Each sample contains the most recent collectives of one rank, the first one observed. If they repeat,
//! their period is recorded, along with the collective number this rank had reached at which time. The number
//! of the current step at any moment follows from both.

use crate::observation::{Collective, History};
use crate::performance::waits::MARK;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Maximum numbers of communicators, and of periods on each.
const MOST_COMMS: usize = 64;
const MOST_PERIODS: usize = 16;
/// Maximum number of moments stored per communicator; beyond that they are thinned out.
const MOST_MARKS: usize = 512;
/// Minimum number of occurrences that make a repetition.
const LEAST_TIMES: usize = 3;
/// Minimum share of the samples that must agree on the period.
const AGREE: f64 = 0.8;
/// A run with fewer iterations is not divided into them.
const LEAST_ITERATIONS: f64 = 4.0;
/// Maximum number of collectives remembered across samples, for longer periods.
const MOST_RECENT: usize = 512;
/// Maximum number of functions named for a period.
const MOST_NAMES: usize = 4;

/// Repetitions on the communicators of one rank.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Repetitions {
    /// The rank that made these collectives.
    lead: Option<u32>,
    comms: BTreeMap<u64, Repetition>,
    /// Times in nanoseconds, and the number of iterations the program had marked by then.
    marked: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Repetition {
    looks: u64,
    periods: BTreeMap<u32, Seen>,
    /// Times in nanoseconds, and the number of the collective entered then.
    marks: Vec<(u64, u64)>,
    /// The most recent collectives, as far as samples have captured them without a gap.
    #[serde(skip)]
    recent: Vec<(u64, Recent)>,
}

/// A remembered collective: a hash of its arguments, and its function.
#[derive(Debug, Clone)]
struct Recent {
    kind: u64,
    function: Arc<str>,
}

impl PartialEq for Recent {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// An observed period.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Seen {
    looks: u64,
    /// Number of collectives before the first iteration, if that was observed.
    before: Option<u64>,
    /// Number of the last collective that was seen to belong to it.
    #[serde(default)]
    until: u64,
    /// The last collective that belongs to it, with the time in nanoseconds, if it was seen to end: what a program
    /// does after its steps is no further step.
    #[serde(default)]
    ended: Option<(u64, u64)>,
    functions: Vec<String>,
}

/// The iterations of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iterations {
    /// Approximate number of iterations.
    pub count: u64,
    /// Number of collectives in each; zero if the program marked its iterations.
    pub collectives: u32,
    /// Their distinct functions, in order; `MPI_Pcontrol` if the program marked its iterations.
    pub functions: Vec<String>,
    /// Mean duration in seconds.
    pub mean_s: f64,
    #[serde(skip)]
    marks: Vec<(u64, f64)>,
}

impl Repetitions {
    /// Adds a sample of a rank, with the time of its last iteration mark and the number of marks; only the
    /// first rank observed counts.
    pub fn add(&mut self, rank: u32, history: &[History], marked: Option<(u64, u64)>) {
        if *self.lead.get_or_insert(rank) != rank {
            return;
        }
        self.mark(marked);
        for of in history {
            if self.comms.contains_key(&of.comm) || self.comms.len() < MOST_COMMS {
                self.comms.entry(of.comm).or_default().add(of);
            }
        }
    }

    /// Returns the rank whose iterations these are.
    pub fn lead(&self) -> Option<u32> {
        self.lead
    }

    fn mark(&mut self, marked: Option<(u64, u64)>) {
        let new = |mark: &(u64, u64)| self.marked.last().is_none_or(|(_, known)| *known < mark.1);
        self.marked.extend(marked.filter(new));
        thin_out(&mut self.marked);
    }

    /// Returns the iterations marked by the program.
    fn marked(&self) -> Option<Iterations> {
        // An iteration is not over when the mark that begins it is set.
        let marks: Vec<(u64, f64)> =
            self.marked.iter().map(|(at, count)| (*at, count.saturating_sub(1) as f64)).collect();
        let ((begin, first), (end, last)) = (*marks.first()?, *marks.last()?);
        let mean_s = end.saturating_sub(begin) as f64 / 1e9 / (last - first);
        mean_s.is_finite().then(|| Iterations {
            count: last as u64 + 1,
            collectives: 0,
            functions: vec![MARK.to_owned()],
            mean_s,
            marks,
        })
    }

    /// Replaces these by those of another host, converted to our clock, if its rank is lower.
    pub fn take_in(&mut self, other: Self, later_ns: i64) {
        if other.lead.is_none() || (self.lead.is_some() && self.lead <= other.lead) {
            return;
        }
        *self = other;
        let of_comms = self.comms.values_mut().flat_map(|one| {
            let ends = one.periods.values_mut().filter_map(|seen| seen.ended.as_mut());
            one.marks.iter_mut().chain(ends)
        });
        for (at, _) in of_comms.chain(&mut self.marked) {
            *at = at.saturating_add_signed(later_ns);
        }
    }

    /// Returns the iterations: those marked by the program, otherwise by the communicator with the most
    /// collectives among those that repeat; `None` if nothing repeats.
    pub fn iterations(&self) -> Option<Iterations> {
        if let Some(marked) = self.marked() {
            return Some(marked);
        }
        let newest = |one: &Repetition| one.marks.last().map(|(_, number)| *number);
        let found = self.comms.values().filter_map(|one| Some((newest(one), one.iterations()?)));
        found.max_by_key(|(newest, _)| *newest).map(|(_, found)| found)
    }
}

impl Repetition {
    fn add(&mut self, history: &History) {
        let (Some((number, _)), Some((entered, _))) = (history.entries.last(), history.times.last()) else {
            return;
        };
        if *entered == 0 || self.marks.last().is_some_and(|(_, known)| known >= number) {
            return;
        }
        // Also the oldest one remembered, if it is new: this gives the rate before the first sample.
        let oldest = history.entries.first().zip(history.times.first());
        let oldest = oldest.map(|((number, _), (entered, _))| (*entered, *number));
        let new =
            |mark: &(u64, u64)| mark.0 != 0 && self.marks.last().is_none_or(|(_, known)| *known < mark.1);
        let oldest = oldest.filter(|mark| new(mark) && mark.1 < *number);
        self.marks.extend(oldest);
        self.marks.push((*entered, *number));
        thin_out(&mut self.marks);
        self.remember(history);
        let at_once = run(&history.entries).len().min(self.recent.len());
        if at_once < LEAST_TIMES {
            return;
        }
        self.looks += 1;
        let all = self.recent.as_slice();
        let short = all.get(all.len() - at_once..).unwrap_or_default();
        // A single sample may cover just an inner loop; after a change, what was remembered before it does
        // not repeat.
        let found = [all, short].into_iter().find_map(|run| Some((run, period(run)?)));
        let Some((run, (period, first))) = found else { return self.end(history) };
        if !self.periods.contains_key(&period) && self.periods.len() >= MOST_PERIODS {
            return;
        }
        let seen = self.periods.entry(period).or_default();
        if seen.looks == 0 {
            let whole = run.first().is_some_and(|(number, _)| *number == 1);
            seen.before = (first > 0 || whole).then(|| run.get(first).map_or(0, |(number, _)| number - 1));
            let kinds = run.iter().skip(first).take(period as usize);
            for (_, Recent { function, .. }) in kinds {
                if !seen.functions.iter().any(|name| **name == **function) {
                    seen.functions.push(function.to_string());
                }
            }
        }
        seen.looks += 1;
        (seen.until, seen.ended) = (*number, None);
    }

    /// Notes where the repetitions have ended that do not go on.
    fn end(&mut self, history: &History) {
        let Some((oldest, _)) = self.recent.first() else { return };
        let kind = |number: u64| self.recent.get(usize::try_from(number.checked_sub(*oldest)?).ok()?);
        let goes_on = |number: u64, period: u32| {
            let before = number.checked_sub(period.into()).and_then(kind);
            kind(number).zip(before).map(|((_, one), (_, other))| one == other)
        };
        for (period, seen) in &mut self.periods {
            while goes_on(seen.until + 1, *period) == Some(true) {
                seen.until += 1;
            }
            if seen.ended.is_none() && goes_on(seen.until + 1, *period) == Some(false) {
                let at = history.entries.iter().position(|(number, _)| *number == seen.until);
                let time = at.and_then(|at| history.times.get(at));
                seen.ended = time.map(|(entered, _)| (*entered, seen.until));
            }
        }
    }

    /// Appends new collectives to the remembered ones, or starts over if there is a gap.
    fn remember(&mut self, history: &History) {
        let kind = |of: &Collective| {
            let mut hasher = DefaultHasher::new();
            Collective { number: 0, ..of.clone() }.hash(&mut hasher);
            Recent { kind: hasher.finish(), function: of.function.as_str().into() }
        };
        let kinds: Vec<Recent> = history.kinds.iter().map(kind).collect();
        let seen = run(&history.entries);
        let last = self.recent.last().map_or(0, |(number, _)| *number);
        if seen.first().is_some_and(|(number, _)| *number > last + 1) {
            self.recent.clear();
        }
        let new = seen.iter().filter(|(number, _)| *number > last);
        self.recent
            .extend(new.filter_map(|(number, kind)| Some((*number, kinds.get(*kind as usize)?.clone()))));
        self.recent.drain(..self.recent.len().saturating_sub(MOST_RECENT));
    }

    fn iterations(&self) -> Option<Iterations> {
        let (period, seen) = self.periods.iter().max_by_key(|(_, seen)| seen.looks)?;
        if (seen.looks as f64) < AGREE * self.looks as f64 || *period == 0 {
            return None;
        }
        let before = seen.before.unwrap_or(0);
        let number = |number: u64| number.saturating_sub(before) as f64 / f64::from(*period);
        let last = seen.ended.map_or(u64::MAX, |(_, number)| number);
        let during = self.marks.iter().filter(|(_, number)| *number < last).chain(&seen.ended);
        let marks: Vec<(u64, f64)> = during.map(|(at, of)| (*at, number(*of))).collect();
        let ((begin, first), (end, last)) = (*marks.first()?, *marks.last()?);
        let mean_s = end.saturating_sub(begin) as f64 / 1e9 / (last - first);
        (last >= LEAST_ITERATIONS && mean_s.is_finite()).then(|| Iterations {
            count: last.round() as u64,
            collectives: *period,
            functions: seen.functions.clone(),
            mean_s,
            marks,
        })
    }
}

/// Drops every other mark if there are too many.
fn thin_out(marks: &mut Vec<(u64, u64)>) {
    if marks.len() > MOST_MARKS {
        let mut at = 0;
        marks.retain(|_| {
            at += 1;
            at % 2 == 0
        });
    }
}

/// Returns the last entries with consecutive numbers.
fn run<Kind>(entries: &[(u64, Kind)]) -> &[(u64, Kind)] {
    let gap =
        entries.windows(2).rposition(|pair| matches!(pair, [(a, _), (b, _)] if *b != a.wrapping_add(1)));
    entries.get(gap.map_or(0, |at| at + 1)..).unwrap_or_default()
}

/// Returns the shortest period with which the end of a run repeats, and the start of the repetition, which
/// must cover at least half of the run.
fn period<Kind: PartialEq>(run: &[(u64, Kind)]) -> Option<(u32, usize)> {
    let kind = |at: usize| run.get(at).map(|(_, kind)| kind);
    (1..=run.len() / LEAST_TIMES).find_map(|period| {
        let differs = (0..run.len() - period).rev().find(|at| kind(*at) != kind(at + period));
        let first = differs.map_or(0, |at| at + 1);
        let repeats = run.len() - first >= LEAST_TIMES * period && 2 * first <= run.len();
        repeats.then_some((period as u32, first))
    })
}

impl Iterations {
    /// Returns when the last one was observed to begin, in nanoseconds.
    pub fn last_ns(&self) -> Option<u64> {
        self.marks.last().map(|(at, _)| *at)
    }

    /// Returns the number completed at a time in nanoseconds, interpolating between observations.
    pub fn over_at(&self, ns: u64) -> f64 {
        let at = self.marks.partition_point(|(known, _)| *known <= ns);
        let before = at.checked_sub(1).and_then(|at| self.marks.get(at));
        match (before, self.marks.get(at)) {
            (None, None) => 0.0,
            (Some((_, over)), None) => *over,
            (None, Some((first, over))) => {
                (over - first.saturating_sub(ns) as f64 * self.first_rate()).max(0.0)
            }
            (Some((from, over)), Some((until, then))) => {
                // Data from another host may be in any order.
                let part = ns.saturating_sub(*from) as f64 / until.saturating_sub(*from).max(1) as f64;
                over + (then - over) * part.min(1.0)
            }
        }
    }

    /// Returns the number of iterations per nanosecond between the first two observations.
    fn first_rate(&self) -> f64 {
        match self.marks.as_slice() {
            [(from, over), (until, then), ..] if until > from => (then - over) / (until - from) as f64,
            _ => 1.0 / (self.mean_s * 1e9),
        }
    }

    /// Describes how they were found, as text for users.
    pub fn sentence(&self) -> String {
        if self.collectives == 0 {
            return format!("{} iterations, marked by {MARK}", self.count);
        }
        let mut names: Vec<&str> = self.functions.iter().take(MOST_NAMES).map(String::as_str).collect();
        names.extend((self.functions.len() > MOST_NAMES).then_some("..."));
        let collectives = if self.collectives == 1 { "collective" } else { "collectives" };
        format!(
            "about {} iterations, judging by the repetition of {} {collectives} ({})",
            self.count,
            self.collectives,
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 32 most recent collectives; `at_ns` returns when each was entered, `kind` its kind.
    fn history(newest: u64, at_ns: impl Fn(u64) -> u64, kind: impl Fn(u64) -> u32) -> History {
        let name = |name: &str| Collective { function: name.to_owned(), ..Collective::default() };
        let entries: Vec<(u64, u32)> =
            (newest.saturating_sub(31).max(1)..=newest).map(|number| (number, kind(number))).collect();
        let times = entries.iter().map(|(number, _)| (at_ns(*number), at_ns(*number) + 1)).collect();
        let kinds = ["MPI_Bcast", "MPI_Allreduce", "MPI_Barrier"].map(name).into();
        History { comm: 7, newest, kinds, entries, times, ..History::default() }
    }

    #[test]
    fn iterations_are_counted_by_the_numbers_of_their_collectives_after_the_prologue() {
        let mut found = Repetitions::default();
        // Five broadcasts, then two Allreduces and a Barrier in each step; a step takes one millisecond,
        // later two.
        let kind = |number: u64| if number <= 5 { 0 } else { 1 + u32::from(number % 3 == 2) };
        let at = |steps: u64| if steps <= 100 { steps } else { 100 + 2 * (steps - 100) } * 1_000_000;
        let entered = |number: u64| 1 + at(number.saturating_sub(5) / 3);
        for steps in [4, 50, 100, 150, 200] {
            found.add(0, &[history(5 + 3 * steps, entered, kind)], None);
            found.add(1, &[history(9000, entered, |_| 0)], None);
        }
        let found = found.iterations().unwrap();
        assert_eq!((found.count, found.collectives), (200, 3));
        assert_eq!(found.functions, ["MPI_Allreduce", "MPI_Barrier"]);
        for steps in [20, 100, 120, 200, 2000] {
            let over = found.over_at(at(steps));
            assert!((over - steps.min(200) as f64).abs() < 1.5, "{steps}: {over}");
        }
        assert_eq!(
            found.sentence(),
            "about 200 iterations, judging by the repetition of 3 collectives (MPI_Allreduce, MPI_Barrier)"
        );
    }

    #[test]
    fn collectives_after_the_last_step_are_no_further_steps() {
        let kind = |number: u64| if number <= 20 { 1 } else { 2 * (number as u32 % 2) };
        let counted = |newest: &[u64]| {
            let mut found = Repetitions::default();
            newest.iter().for_each(|at| found.add(0, &[history(*at, |number| 1000 * number, kind)], None));
            let found = found.iterations().unwrap();
            (found.count, found.over_at(u64::MAX).round(), (found.mean_s * 1e9).round())
        };
        assert_eq!(counted(&[8, 12, 16, 20]), (20, 20.0, 1000.0));
        assert_eq!(counted(&[5, 10, 15, 18, 23]), (20, 20.0, 1000.0));
    }

    #[test]
    fn without_repetition_there_are_no_iterations() {
        let mut found = Repetitions::default();
        for steps in 1..50u64 {
            // Bits of multiples of the golden ratio do not repeat.
            let kind = |number: u64| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32 % 3;
            found.add(0, &[history(20 * steps, |number| number, kind)], None);
        }
        assert!(found.iterations().is_none(), "{:?}", found.iterations());
        assert!(Repetitions::default().iterations().is_none());
    }

    #[test]
    fn a_period_longer_than_one_sample_is_found_in_consecutive_samples() {
        let kind = |number: u64| u32::from(number.is_multiple_of(30)) + u32::from(number % 30 > 20);
        let looks = |step: u64| {
            let mut found = Repetitions::default();
            (1..=100).for_each(|look| found.add(0, &[history(step * look, |number| number, kind)], None));
            found.iterations().map(|found| (found.count, found.collectives))
        };
        assert_eq!(looks(20), Some((67, 30)));
        assert_eq!(looks(40), None, "there are gaps between what looks have seen");
    }

    #[test]
    fn inner_repetition_is_not_a_period() {
        let run: Vec<(u64, u32)> = (1..=32).map(|number| (number, u32::from(number % 8 == 0))).collect();
        assert_eq!(period(&run), Some((8, 0)));
        assert_eq!(super::run(&[(1, 0), (2, 0), (5, 0), (6, 1)]), [(5, 0), (6, 1)]);
    }
}
