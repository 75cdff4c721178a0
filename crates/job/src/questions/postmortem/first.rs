//! What several core files say together: who failed first.

use super::death::Death;
use crate::base::rankset::RankSet;
use serde::Serialize;

/// Times of two core files that are nearer than this do not tell which process died first.
const RESOLUTION_S: f64 = 0.010;

/// Who failed first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstFailure {
    /// Rank in the world, if it is known.
    pub rank: Option<u32>,
    /// Its place in [`Postmortem::deaths`](super::Postmortem::deaths).
    pub index: usize,
    /// Seconds until the next process died of its own fault; `None` if there is no other.
    pub before_s: Option<f64>,
    /// The times are too near, or not known: it may have been another.
    pub unsure: bool,
    /// Processes that failed of themselves.
    pub failed: RankSet,
}

/// The first that died of its own fault; if none did, the first that died.
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
