//! Finds where the run changes: consecutive windows in which the ranks work alike belong together.
//!
//! A stretch is cut where this explains most of its scatter, provided that noise alone could not explain as
//! much. The noise is derived from the windows themselves, as the median of the steps from each to the next,
//! and how much noise can explain at the best of so many places follows from Schwarz's criterion, so there is
//! nothing to adjust.

use std::iter::once;
use std::ops::Range;

/// Maximum number of stretches.
const MOST: usize = 6;
/// Minimum noise assumed: one percent of a window.
const LEAST: f64 = 1e-4;
/// The median of the squares of standard normal deviates.
const MEDIAN: f64 = 0.4549;

/// Divides the windows where something changes; each has one number per rank. The last one may be incomplete
/// and joins those before.
pub fn segments(windows: &[Vec<f64>]) -> Vec<Range<usize>> {
    let Some((_, full)) = windows.split_last().filter(|(_, full)| !full.is_empty()) else {
        return once(0..windows.len()).collect();
    };
    let mut found = cut_all(full);
    if let Some(last) = found.last_mut() {
        last.end = windows.len();
    }
    found
}

fn cut_all(windows: &[Vec<f64>]) -> Vec<Range<usize>> {
    let noise = noise(windows);
    let mut found: Vec<Range<usize>> = once(0..windows.len()).collect();
    while found.len() < MOST {
        let best = found.iter().enumerate().filter_map(|(at, range)| Some((at, cut(windows, range, noise)?)));
        let Some((at, (place, _))) = best.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b)) else { break };
        let Some(range) = found.get_mut(at) else { break };
        let rest = place..range.end;
        range.end = place;
        found.insert(at + 1, rest);
    }
    found
}

/// Returns the variance of a window over all ranks.
fn noise(windows: &[Vec<f64>]) -> f64 {
    let inner = windows.get(1..).unwrap_or_default();
    let ranks = windows.first().map_or(0, Vec::len);
    let of = |rank: usize| {
        let value = |window: &Vec<f64>| window.get(rank).copied().unwrap_or(0.0);
        let steps = inner.iter().zip(inner.iter().skip(1)).map(|(a, b)| value(b) - value(a));
        let mut squares: Vec<f64> = steps.map(|step| step * step).collect();
        squares.sort_by(f64::total_cmp);
        squares.get(squares.len() / 2).map_or(0.0, |median| median / (2.0 * MEDIAN)).max(LEAST)
    };
    (0..ranks).map(of).sum()
}

/// Returns the best place to cut, and how much more than noise the cut explains.
fn cut(windows: &[Vec<f64>], range: &Range<usize>, noise: f64) -> Option<(usize, f64)> {
    let part = windows.get(range.clone())?;
    let ranks = part.first()?.len();
    let mut left = vec![0.0; ranks];
    let mut right: Vec<f64> = (0..ranks).map(|rank| sum(part, rank)).collect();
    let count = part.len() as f64;
    // Twice: for the choice of place and for the change itself.
    let penalty = 2.0 * noise * (windows.len() as f64).ln().max(1.0);
    let mut best: Option<(usize, f64)> = None;
    for (at, window) in part.iter().enumerate().take(part.len().saturating_sub(2)) {
        left.iter_mut().zip(&mut right).zip(window).for_each(|((left, right), value)| {
            *left += value;
            *right -= value;
        });
        if at == 0 {
            continue;
        }
        let before = (at + 1) as f64;
        let after = count - before;
        let step: f64 = left.iter().zip(&right).map(|(l, r)| (l / before - r / after).powi(2)).sum();
        let gain = before * after / count * step - penalty;
        if gain > 0.0 && best.is_none_or(|(_, known)| gain > known) {
            best = Some((range.start + at + 1, gain));
        }
    }
    best
}

fn sum(part: &[Vec<f64>], rank: usize) -> f64 {
    part.iter().filter_map(|window| window.get(rank)).sum()
}
