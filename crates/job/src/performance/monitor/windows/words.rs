//! What the windows say, in sentences.

use super::{Iterations, Part, Windows, longest};
use crate::base::quantity::duration;
use crate::performance::report::Efficiencies;
use std::ops::Range;

/// How many iterations are over at the beginning of a window.
type Over<'a> = dyn Fn(usize) -> Option<f64> + 'a;

/// Ranks that work alike but for a twentieth are balanced.
const BALANCED: f64 = 0.95;

/// A sentence for each stretch in which the ranks worked alike, or differed in the same way.
pub fn said(windows: &Windows, all: &[Vec<Part>], segments: &[Range<usize>], over: &Over<'_>) -> Vec<String> {
    let mut joined: Vec<(Range<usize>, Option<usize>)> = Vec::new();
    for range in segments {
        let behind = behind(all, range);
        match joined.last_mut() {
            Some((last, known)) if *known == behind => last.end = range.end,
            _ => joined.push((range.clone(), behind)),
        }
    }
    let one = joined.len() == 1;
    let iterations = windows.iterations.iter().map(Iterations::sentence);
    let alike = joined.iter().filter_map(|(range, _)| sentence(windows, all, (range, one), over));
    iterations.chain(alike).collect()
}

/// `, iterations 21 to 60`; nothing of less than one.
fn steps(range: &Range<usize>, windows: &Windows, over: &Over<'_>) -> String {
    // The last one that was begun is not over for who counts what was seen, and the run is.
    let last = windows.iterations.as_ref().filter(|_| range.end >= windows.list.len());
    let until = last.map(|all| all.count as f64).or_else(|| over(range.end));
    match (over(range.start), until) {
        (Some(from), Some(until)) if until.round() > from.round() => {
            format!(", iterations {:.0} to {:.0}", from.round() + 1.0, until.round())
        }
        _ => String::new(),
    }
}

/// Who works longest; nobody where they are balanced.
fn behind(all: &[Vec<Part>], range: &Range<usize>) -> Option<usize> {
    let (sums, found) = summed(all, range)?;
    longest(&sums).filter(|_| found.load_balance < BALANCED)
}

/// What each rank did in a stretch, and how well that went.
fn summed(all: &[Vec<Part>], range: &Range<usize>) -> Option<(Vec<Part>, Efficiencies)> {
    let part = all.get(range.clone())?;
    let of = |rank: usize| {
        let parts = part.iter().filter_map(|parts| parts.get(rank));
        parts.fold(Part::default(), |sum, part| sum.and(*part, 1.0))
    };
    let sums: Vec<Part> = (0..part.first()?.len()).map(of).collect();
    let useful: Vec<f64> = sums.iter().map(|part| part.useful_s()).collect();
    let found = Efficiencies::of(&useful, sums.iter().map(|part| part.wall).fold(0.0, f64::max))?;
    Some((sums, found))
}

fn sentence(
    windows: &Windows,
    all: &[Vec<Part>],
    (range, one): (&Range<usize>, bool),
    over: &Over<'_>,
) -> Option<String> {
    let steps = steps(range, windows, over);
    let (sums, found) = summed(all, range)?;
    let useful: Vec<f64> = sums.iter().map(|part| part.useful_s()).collect();
    let who = longest(&sums)?;
    let mean = useful.iter().sum::<f64>() / useful.len() as f64;
    let (load, all_of_it) = (found.load_balance, 100.0 * found.parallel);
    let balance = format!("load balance {:.0} %, parallel efficiency {all_of_it:.0} %", 100.0 * load);
    let over = useful.get(who)? / mean;
    let (from, until) = (range.start as f64 * windows.seconds, range.end as f64 * windows.seconds);
    let (from, until) = (duration(from), duration(until));
    let count = range.len();
    let when = match (range.start, one) {
        (_, true) => "the whole run is alike".to_owned(),
        (0, _) => format!("the first {count} windows (until {until}{steps})"),
        (_, _) => format!("then, for {count} windows (from {from} to {until}{steps})"),
    };
    let name = windows.ranks.get(who)?;
    Some(match (load >= BALANCED, one, range.start) {
        (true, true, _) => format!("{when} and balanced: {balance}"),
        (true, false, 0) => format!("{when} are balanced: {balance}"),
        (true, false, _) => format!("{when}, the ranks are balanced: {balance}"),
        (false, true, _) => format!("{when}: {balance}; rank {name} works longest, {over:.1} times the mean"),
        (false, false, 0) => {
            format!("{when}: {balance}; rank {name} works longest, {over:.1} times the mean")
        }
        (false, false, _) => {
            format!("{when}, rank {name} falls behind: it works {over:.1} times the mean; {balance}")
        }
    })
}
