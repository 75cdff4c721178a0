//! Describes the windows in sentences.

use super::{Iterations, Part, Window, Windows};
use crate::base::quantity::duration;
use crate::jobs::worlds::Members;
use std::ops::Range;

/// Number of iterations completed at the beginning of a window.
type Over<'a> = dyn Fn(usize) -> Option<f64> + 'a;

/// Ranks are balanced if their work differs by at most five percent.
const BALANCED: f64 = 0.95;

/// Returns a sentence for each stretch in which the same ranks were present and worked alike, or differed in
/// the same way. `who` contains the world and rank of each. The last window may extend beyond the run, which took `run_s`
/// seconds.
pub fn said(
    windows: &Windows,
    all: &[Vec<Part>],
    segments: &[Range<usize>],
    (over, who): (&Over<'_>, &[(usize, Option<u32>)]),
    run_s: f64,
) -> Vec<String> {
    let mut joined: Vec<(Range<usize>, Stretch)> = Vec::new();
    for range in segments {
        let Some(now) = Stretch::of(all, range) else { continue };
        match joined.last_mut() {
            Some((last, known)) if last.end == range.start && known.is_like(&now) => {
                last.end = range.end;
                *known = Stretch::of(all, last).unwrap_or(now);
            }
            _ => joined.push((range.clone(), now)),
        }
    }
    let one = joined.len() == 1 && joined.iter().all(|(range, _)| range.len() == all.len());
    let iterations = windows.iterations.iter().map(Iterations::sentence);
    let alike = joined.iter().enumerate().filter_map(|(at, (range, stretch))| {
        let place = match at {
            _ if one => Place::Only,
            0 => Place::First,
            _ => Place::Later,
        };
        let steps = steps(range, windows, over);
        let when = [range.start, range.end].map(|at| (at as f64 * windows.seconds).min(run_s));
        sentence(windows, (when, place), stretch, &format!("{steps}{}", stretch.named(who)))
    });
    iterations.chain(alike).collect()
}

/// Which of the sentences about stretches it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Only,
    First,
    Later,
}

/// The ranks' activity in consecutive windows.
struct Stretch {
    /// Ranks present for at least half of it.
    there: Vec<usize>,
    /// How well they worked together.
    found: Window,
}

impl Stretch {
    fn of(all: &[Vec<Part>], range: &Range<usize>) -> Option<Self> {
        let part = all.get(range.clone())?;
        let of = |rank: usize| {
            let parts = part.iter().filter_map(|parts| parts.get(rank));
            parts.fold(Part::default(), |sum, part| sum.and(*part, 1.0))
        };
        let mut sums: Vec<Part> = (0..part.first()?.len()).map(of).collect();
        let longest = sums.iter().map(|part| part.wall).fold(0.0, f64::max);
        // A rank that was there only for a part of it would be taken for one that works less.
        for sum in sums.iter_mut().filter(|sum| sum.wall < longest / 2.0) {
            *sum = Part::default();
        }
        let there = (0..sums.len()).filter(|at| sums.get(*at).is_some_and(|sum| sum.wall > 0.0)).collect();
        let found = Window::of(0.0, &sums, false);
        found.load_balance.is_some().then_some(Self { there, found })
    }

    /// Returns the rank that works longest, unless they are balanced.
    fn behind(&self) -> Option<usize> {
        self.found.slowest.filter(|_| self.found.load_balance < Some(BALANCED))
    }

    fn is_like(&self, other: &Self) -> bool {
        self.there == other.there && self.behind() == other.behind()
    }

    /// Formats `, ranks 1.[0-1] only` if others were present at other times.
    fn named(&self, who: &[(usize, Option<u32>)]) -> String {
        if self.there.len() == who.len() {
            return String::new();
        }
        let members: Members = self.there.iter().filter_map(|at| who.get(*at).copied()).collect();
        format!(", {} only", members.named())
    }
}

/// Formats `, iterations 21 to 60`; empty for less than one iteration.
fn steps(range: &Range<usize>, windows: &Windows, over: &Over<'_>) -> String {
    // Observed counts never include the last iteration, but it is over once the run has ended, or the program
    // whose iterations these are.
    let goes_on = over(range.end).filter(|_| range.end < windows.list.len());
    let until = goes_on.or_else(|| windows.iterations.as_ref().map(|all| all.count as f64));
    match (over(range.start), until) {
        (Some(from), Some(until)) if until.round() > from.round() => {
            format!(", {}", iterations(from.round() as u64 + 1, until.round() as u64))
        }
        _ => String::new(),
    }
}

fn iterations(first: u64, last: u64) -> String {
    if first == last { format!("iteration {last}") } else { format!("iterations {first} to {last}") }
}

fn sentence(
    windows: &Windows,
    ([from_s, until_s], place): ([f64; 2], Place),
    stretch: &Stretch,
    more: &str,
) -> Option<String> {
    let found = &stretch.found;
    let (who, load, over) = (found.slowest?, found.load_balance?, found.over_mean?);
    let all_of_it = 100.0 * found.parallel_efficiency?;
    let balance = format!("load balance {:.0} %, parallel efficiency {all_of_it:.0} %", 100.0 * load);
    let (from, until) = (duration(from_s), duration(until_s));
    let at_first = from_s == 0.0;
    let more = more.strip_prefix(", ").map(|more| format!(" ({more})")).unwrap_or_default();
    // No number of windows: those of a table are wider.
    let when = match (at_first, place) {
        (_, Place::Only) if load >= BALANCED => "the whole run is uniform".to_owned(),
        (_, Place::Only) => "all through the run".to_owned(),
        (true, _) => format!("until {until}{more}"),
        // The windows before it have no load balance.
        (_, Place::First) => format!("from {from} to {until}{more}"),
        (_, Place::Later) => format!("then, from {from} to {until}{more}"),
    };
    let one = place == Place::Only;
    let name = windows.ranks.get(who)?;
    Some(match (load >= BALANCED, one, at_first) {
        (true, true, _) => format!("{when} and balanced: {balance}"),
        (true, false, _) => format!("{when}, the ranks are balanced: {balance}"),
        (false, true, _) => format!("{when}: {balance}; rank {name} works longest, {over:.1} times the mean"),
        (false, false, true) => {
            format!("{when}: {balance}; rank {name} works longest, {over:.1} times the mean")
        }
        (false, false, _) => {
            format!("{when}, rank {name} falls behind: it works {over:.1} times the mean; {balance}")
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_iteration_is_not_said_to_be_several() {
        assert_eq!(super::iterations(21, 60), "iterations 21 to 60");
        assert_eq!(super::iterations(50, 50), "iteration 50");
    }
}
