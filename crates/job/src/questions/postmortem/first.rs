//! Determines from several core files which process failed first.

use super::death::Death;
use crate::base::rankset::RankSet;
use serde::Serialize;

/// If the times of two core files are closer than this, the order of the deaths is unknown.
const RESOLUTION_S: f64 = 0.010;

/// The process that failed first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstFailure {
    /// Rank in the world, if known.
    pub rank: Option<u32>,
    /// Its index in [`Postmortem::deaths`](super::Postmortem::deaths).
    pub index: usize,
    /// Seconds until the next process died of its own failure; `None` if there was no other.
    pub before_s: Option<f64>,
    /// Whether another process may have failed first because the times are too close or unknown.
    pub unsure: bool,
    /// Processes that failed by themselves, rather than being terminated from outside.
    pub failed: RankSet,
}

/// Returns the first process that died of its own failure or, if there is none, the first that died.
pub fn first(deaths: &[Death]) -> Option<FirstFailure> {
    let dead = |d: &&(usize, &Death)| d.1.now.problem;
    let all: Vec<(usize, &Death)> = deaths.iter().enumerate().collect();
    let own: Vec<_> = all.iter().filter(|(_, d)| d.end.own()).collect();
    let mut candidates = if own.is_empty() { all.iter().filter(dead).collect() } else { own };
    let time = |d: &Death| d.died_s.unwrap_or(f64::INFINITY);
    candidates.sort_by(|a, b| time(a.1).total_cmp(&time(b.1)));
    let (index, death) = candidates.first()?;
    let before_s = candidates.get(1).and_then(|next| Some(next.1.died_s? - death.died_s?));
    Some(FirstFailure {
        rank: death.now.rank,
        index: *index,
        before_s,
        unsure: candidates.len() > 1 && before_s.is_none_or(|s| s < RESOLUTION_S),
        failed: candidates.iter().filter(|(_, d)| d.end.own()).filter_map(|(_, d)| d.now.rank).collect(),
    })
}
