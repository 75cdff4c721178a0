//! The resident memory of ranks over the course of the run, and which ranks grow.
//!
//! A single allocation is not growth, nor is memory that comes and goes: a rank grows if each quarter of the
//! time has more than the one before and a straight line explains nearly all of it. What a program allocates at
//! its start is left out, and so is any longer beginning of the run if only the rest shows this pattern.

use super::{Timeline, Track, Windows};
use serde::{Deserialize, Serialize};

/// Minimum number of windows for detecting growth.
const LEAST_WINDOWS: usize = 12;
/// Growth below this may have any cause.
const LEAST_BYTES: f64 = 1e6;
/// Minimum part of the growth from each quarter to the next; a third would be perfectly even.
const LEAST_STEP: f64 = 0.15;
/// Minimum ratio of the growth to the scatter around it.
const LEAST_SIGNAL_TO_NOISE: f64 = 6.0;

/// Levels observed in one window: their sum in bytes, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Level(f64, u32);

impl Level {
    /// Adds a level.
    pub fn see(&mut self, bytes: u64) {
        *self = self.and(Self(bytes as f64, 1));
    }

    /// Combines two windows.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1.saturating_add(other.1))
    }

    /// Returns the mean.
    fn bytes(self) -> Option<f64> {
        (self.1 > 0).then(|| self.0 / f64::from(self.1))
    }
}

/// A rank whose resident memory grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// Index among the ranks of the windows.
    pub rank: usize,
    /// Rate of growth.
    pub bytes_per_minute: f64,
    /// Number of windows since it began or was first observed.
    pub windows: usize,
    /// Level in the first of these windows; `until_bytes` is that in the last.
    pub from_bytes: u64,
    #[allow(missing_docs)]
    pub until_bytes: u64,
}

/// Returns the resident memory of a rank in each window.
pub fn levels(track: &Track) -> Vec<Option<f64>> {
    track.resident.iter().map(|level| level.bytes()).collect()
}

/// Returns the growing ranks, fastest first.
pub fn growing(ranks: &[Vec<Option<f64>>], window_s: f64) -> Vec<Growth> {
    let grows = |(rank, levels): (usize, &Vec<Option<f64>>)| growth(rank, levels, window_s);
    let mut found: Vec<Growth> = ranks.iter().enumerate().filter_map(grows).collect();
    found.sort_by(|a, b| b.bytes_per_minute.total_cmp(&a.bytes_per_minute));
    found
}

/// Finds growth over as much of the run as possible.
fn growth(rank: usize, levels: &[Option<f64>], window_s: f64) -> Option<Growth> {
    let seen: Vec<(f64, f64)> =
        (0u32..).zip(levels).filter_map(|(at, level)| Some((f64::from(at), (*level)?))).collect();
    let seen = after_start(&seen);
    let halves = std::iter::successors(Some(seen.len()), |long| Some(long / 2));
    let mut parts = halves.take_while(|long| *long >= LEAST_WINDOWS);
    parts.find_map(|long| {
        let part = seen.get(seen.len() - long..)?;
        let ((begin, from), (end, until)) = (*part.first()?, *part.last()?);
        let slope = trend(part)?;
        Some(Growth {
            rank,
            bytes_per_minute: slope / window_s * 60.0,
            windows: (end - begin) as usize + 1,
            from_bytes: from as u64,
            until_bytes: until as u64,
        })
    })
}

/// Leaves out the start of a program, in which it allocates its arrays: it ends with the last step in the first
/// quarter that is more than twice as large as any later one.
fn after_start(seen: &[(f64, f64)]) -> &[(f64, f64)] {
    let steps: Vec<f64> = seen.iter().zip(seen.iter().skip(1)).map(|((_, a), (_, b))| b - a).collect();
    let (start, rest) = steps.split_at(steps.len() / 4);
    let later = rest.iter().copied().fold(LEAST_BYTES / 2.0, f64::max);
    let end = start.iter().rposition(|step| *step > 2.0 * later).map_or(0, |last| last + 1);
    seen.get(end..).unwrap_or_default()
}

/// Returns the growth per window if the levels show a trend.
fn trend(part: &[(f64, f64)]) -> Option<f64> {
    let count = part.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| part.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over = |of: &dyn Fn(&(f64, f64)) -> f64| part.iter().map(of).sum::<f64>();
    let slope = over(&|(at, level)| (at - x) * (level - y)) / over(&|(at, _)| (at - x).powi(2));
    let left = over(&|(at, level)| (level - y - slope * (at - x)).powi(2));
    let scatter = (left / (count - 2.0)).sqrt();
    let grown = slope * (part.last()?.0 - part.first()?.0);
    let quarters: Vec<f64> = part.chunks(part.len().div_ceil(4)).map(level_of).collect();
    let steady = quarters.len() == 4
        && quarters.iter().zip(quarters.iter().skip(1)).all(|(a, b)| b - a >= LEAST_STEP * grown);
    (grown >= LEAST_BYTES && grown >= LEAST_SIGNAL_TO_NOISE * scatter && steady).then_some(slope)
}

fn level_of(part: &[(f64, f64)]) -> f64 {
    part.iter().map(|(_, level)| level).sum::<f64>() / part.len().max(1) as f64
}

impl Timeline {
    /// Adds to the windows how much memory the ranks had in each, and which ranks grow.
    pub(super) fn put_memory(tracks: &[(usize, &Track)], found: &mut Windows) {
        let levels: Vec<Vec<Option<f64>>> = tracks.iter().map(|(_, track)| levels(track)).collect();
        if levels.iter().flatten().all(Option::is_none) {
            return;
        }
        for (at, window) in found.list.iter_mut().enumerate() {
            let level = |rank: &Vec<Option<f64>>| rank.get(at).copied().flatten().map(|bytes| bytes as u64);
            window.resident = levels.iter().map(level).collect();
        }
        found.growing = growing(&levels, found.seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    fn of(windows: u32, level: impl Fn(f64) -> f64) -> Vec<Option<f64>> {
        (0..windows).map(|at| Some(level(f64::from(at)))).collect()
    }

    /// Pseudorandom, between minus one and one.
    fn noise(at: f64) -> f64 {
        let mut bits = at as u64 + 1;
        for _ in 0..3 {
            bits = (bits ^ (bits >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        2.0 * (bits >> 40) as f64 / f64::from(1 << 24) - 1.0
    }

    #[test]
    fn a_rank_whose_memory_grows_is_named_with_its_rate() {
        let leaks = of(40, |at| 100.0 * MB + 0.2 * MB * at + 0.1 * MB * noise(at));
        let even = of(40, |at| 100.0 * MB + 0.1 * MB * noise(at));
        let found = growing(&[even, leaks], 1.0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].rank, found[0].windows), (1, 40));
        assert!((found[0].bytes_per_minute / (12.0 * MB) - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn single_steps_and_fluctuations_are_not_growth() {
        for step in 0..40 {
            let once = of(40, |at| if at < f64::from(step) { 100.0 * MB } else { 500.0 * MB });
            assert_eq!(growing(&[once], 1.0), [], "at {step}");
        }
        for long in [2.0, 5.0, 10.0, 20.0] {
            let saw = of(40, |at| 100.0 * MB + 10.0 * MB * (at % long));
            // If a tooth is half as long as the run and rising at its end, it cannot be distinguished from
            // growth.
            let found = growing(&[saw], 1.0);
            assert!(found.is_empty() || long == 20.0, "{long}: {found:?}");
        }
        assert_eq!(growing(&[of(128, |at| 100.0 * MB + 20.0 * MB * noise(at))], 1.0), []);
        assert_eq!(growing(&[of(40, |at| 100.0 * MB - MB * at)], 1.0), []);
        assert_eq!(growing(&[of(40, |at| 100.0 * MB + 0.01 * MB * at)], 1.0), []);
        assert_eq!(growing(&[of(8, |at| 100.0 * MB + 10.0 * MB * at)], 1.0), []);
    }

    #[test]
    fn what_a_program_allocates_at_its_start_is_not_growth() {
        let starts = |at: f64| if at < 2.0 { 5.0 + 40.0 * at } else { 100.0 + 5.0 * (at - 2.0) };
        let found = growing(&[of(40, |at| MB * starts(at))], 1.0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].windows, found[0].from_bytes), (38, 100_000_000));
        assert!((found[0].bytes_per_minute - 300.0 * MB).abs() < MB, "{found:?}");
        // Memory that grows in rare steps is not a start.
        let steps = growing(&[of(40, |at| 100.0 * MB + 5.0 * MB * (at / 4.0).floor())], 1.0);
        assert_eq!(steps.iter().map(|one| one.windows).collect::<Vec<_>>(), [40]);
    }

    #[test]
    fn growth_is_found_after_a_different_beginning() {
        let late = of(64, |at| if at < 30.0 { 300.0 * MB } else { 300.0 * MB + MB * (at - 30.0) });
        let found = growing(&[late], 0.5);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].windows, found[0].from_bytes), (32, 302_000_000));
        assert!((found[0].bytes_per_minute - 120.0 * MB).abs() < MB, "{found:?}");
    }
}
