//! What several core files tell together.

use super::death::Death;
use super::wait::{Waiting, What};
use crate::rankset::RankSet;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Times of two core files that are nearer than this do not tell which process died first.
const RESOLUTION_S: f64 = 0.010;

/// Who failed first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct First {
    /// Rank in the world, if it is known.
    pub rank: Option<u32>,
    /// Its place in [`Story::deaths`](super::Story::deaths).
    pub index: usize,
    /// Seconds until the next process died of its own fault; `None` if there is no other.
    pub before_s: Option<f64>,
    /// The times are too near, or not known: it may have been another.
    pub unsure: bool,
    /// Processes that failed of themselves.
    pub failed: RankSet,
}

/// Ranks that waited for the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// Who waited.
    pub ranks: RankSet,
    /// In which function.
    pub function: String,
    /// For what.
    pub what: What,
    /// On which communicator, for people.
    pub comm: String,
    /// Which collective on the communicator, if recorded.
    pub number: Option<u64>,
    /// Where the call was made.
    pub place: Option<String>,
    /// For whom: peers, or the members that had not entered the same collective.
    pub missing: Vec<Missing>,
}

/// What one that was waited for did instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Who.
    pub ranks: RankSet,
    /// What they did, for people.
    pub did: String,
}

/// Ranks that a shell of their own started may name their world differently. If the files of a job have one size of
/// the world and no rank twice, they are taken for one world.
pub fn one_world(deaths: &mut [Death]) {
    let mut jobs: BTreeMap<String, Vec<&mut Death>> = BTreeMap::new();
    for death in deaths {
        jobs.entry(death.job.clone()).or_default().push(death);
    }
    for deaths in jobs.values_mut() {
        let sizes: BTreeSet<Option<u32>> = deaths.iter().map(|d| d.now.size).collect();
        let ranks: BTreeSet<Option<u32>> = deaths.iter().map(|d| d.now.rank).collect();
        let world = deaths.first().map(|d| d.now.world.clone()).unwrap_or_default();
        if sizes.len() == 1 && ranks.len() == deaths.len() {
            deaths.iter_mut().for_each(|d| d.now.world.clone_from(&world));
        }
    }
}

/// The first that died of its own fault; if none did, the first that died.
pub fn first(deaths: &[Death]) -> Option<First> {
    let dead = |d: &&(usize, &Death)| d.1.now.problem;
    let all: Vec<(usize, &Death)> = deaths.iter().enumerate().collect();
    let own: Vec<_> = all.iter().filter(|(_, d)| d.own()).collect();
    let mut candidates = if own.is_empty() { all.iter().filter(dead).collect() } else { own };
    let time = |d: &Death| d.died_s.unwrap_or(f64::INFINITY);
    candidates.sort_by(|a, b| time(a.1).total_cmp(&time(b.1)));
    let (index, death) = candidates.first()?;
    let before_s = candidates.get(1).and_then(|next| Some(next.1.died_s? - death.died_s?));
    Some(First {
        rank: death.now.rank,
        index: *index,
        before_s,
        unsure: candidates.len() > 1 && before_s.is_none_or(|s| s < RESOLUTION_S),
        failed: candidates.iter().filter(|(_, d)| d.own()).filter_map(|(_, d)| d.now.rank).collect(),
    })
}

/// Ranks of the worlds that no file belongs to.
pub fn absent(deaths: &[Death]) -> RankSet {
    let seen: BTreeSet<u32> = deaths.iter().filter_map(|d| d.now.rank).collect();
    let size = deaths.iter().filter_map(|d| d.now.size).max().unwrap_or(0);
    (0..size).filter(|rank| !seen.contains(rank)).collect()
}

/// Equal waits of several ranks of a world together, each with whom it was for.
pub fn waits(deaths: &[Death]) -> Vec<Wait> {
    let mut waits: Vec<(&str, Wait)> = Vec::new();
    for death in deaths {
        // Two worlds have ranks of the same numbers, and perhaps an intercommunicator in common.
        let world = death.now.world.as_str();
        for waiting in &death.waits {
            let wait = wait(deaths, death, waiting);
            let same = |(of, known): &&mut (&str, Wait)| {
                *of == world && Wait { ranks: RankSet::default(), ..known.clone() } == wait
            };
            match waits.iter_mut().find(same) {
                Some((_, known)) => known.ranks.0.extend(death.now.rank),
                None => waits.push((world, Wait { ranks: death.now.rank.into_iter().collect(), ..wait })),
            }
        }
    }
    waits.into_iter().map(|(_, wait)| wait).collect()
}

fn wait(deaths: &[Death], death: &Death, waiting: &Waiting) -> Wait {
    let there = |other: &Death| {
        let same = |w: &Waiting| {
            (w.what, &w.comm, &w.function, w.number)
                == (What::Others, &waiting.comm, &waiting.function, waiting.number)
        };
        waiting.what == What::Others && other.waits.iter().any(same)
    };
    let mut missing: BTreeMap<String, RankSet> = BTreeMap::new();
    for rank in &waiting.ranks {
        let other = deaths.iter().find(|d| d.now.rank == Some(*rank) && d.now.world == death.now.world);
        if !other.is_some_and(there) {
            missing.entry(other.map_or_else(|| "no core file".into(), did)).or_default().0.insert(*rank);
        }
    }
    let mut missing: Vec<Missing> = missing.into_iter().map(|(did, ranks)| Missing { ranks, did }).collect();
    missing.sort_by_key(|m| m.ranks.0.first().copied());
    Wait {
        ranks: RankSet::default(),
        function: waiting.function.clone(),
        what: waiting.what,
        comm: waiting.comm_name.clone(),
        number: waiting.number,
        place: waiting.place.clone(),
        missing,
    }
}

/// What a process did when it died.
fn did(death: &Death) -> String {
    let open = death.now.threads.iter().find_map(|t| t.call.as_ref());
    let last = || death.now.threads.iter().find_map(|t| t.last_call.as_ref());
    let place = match open {
        Some(call) => format!("in {}", call.function),
        None => last().map_or_else(
            || "outside of MPI".to_owned(),
            |call| format!("outside of MPI after {}", call.function),
        ),
    };
    match (death.own(), death.abort_code, death.killer()) {
        (_, Some(code), _) => format!("called MPI_Abort with {code}"),
        (true, _, Some(signal)) => format!("{place}, died of {}", signal.name),
        _ => place,
    }
}

/// Ranks that waited for `root`, directly or through others.
pub fn held_up(waits: &[Wait], root: u32) -> RankSet {
    let mut held = BTreeSet::new();
    loop {
        let before = held.len();
        for wait in waits {
            let blocked = |r: &u32| *r == root || held.contains(r);
            let ranks: Vec<u32> = wait.missing.iter().flat_map(|m| m.ranks.0.iter().copied()).collect();
            // Of several possible senders, one that can still send is enough.
            let stuck = match wait.what {
                What::Any => !ranks.is_empty() && ranks.iter().all(blocked),
                _ => ranks.iter().any(blocked),
            };
            if stuck {
                held.extend(wait.ranks.0.iter().copied().filter(|r| *r != root));
            }
        }
        if held.len() == before {
            return RankSet(held);
        }
    }
}
