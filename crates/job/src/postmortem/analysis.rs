//! What several core files say together: who failed first, who waited for whom.

use super::death::Death;
use super::waiting::{WaitFor, Waiting};
use crate::rankset::RankSet;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Times of two core files that are nearer than this do not tell which process died first.
const RESOLUTION_S: f64 = 0.010;

/// Who failed first.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// Ranks that waited for the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// Who waited.
    pub ranks: RankSet,
    /// In which function.
    pub function: String,
    /// For what.
    pub what: WaitFor,
    /// On which communicator, for people.
    pub comm: String,
    /// Which collective on the communicator, if recorded.
    pub number: Option<u64>,
    /// Root of the collective, as rank of the communicator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<i64>,
    /// Where the call was made.
    pub place: Option<String>,
    /// For whom: peers, or the members that had not entered the same collective.
    pub missing: Vec<Awaited>,
    /// Members that were in another collective, or gave another root, where this one was their turn: neither can end well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatched: Vec<Awaited>,
}

/// What one that was waited for did instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Awaited {
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
pub fn first(deaths: &[Death]) -> Option<FirstFailure> {
    let dead = |d: &&(usize, &Death)| d.1.now.problem;
    let all: Vec<(usize, &Death)> = deaths.iter().enumerate().collect();
    let own: Vec<_> = all.iter().filter(|(_, d)| d.own()).collect();
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
    let mut missing: BTreeMap<String, RankSet> = BTreeMap::new();
    let mut mismatched: BTreeMap<String, RankSet> = BTreeMap::new();
    for rank in &waiting.ranks {
        let other = deaths.iter().find(|d| d.now.rank == Some(*rank) && d.now.world == death.now.world);
        let (list, did) = match other.map(|other| (part_of(other, waiting), other)) {
            None => (&mut missing, "no core file".to_owned()),
            Some((Part::In, _)) => continue,
            Some((Part::Missing, other)) => (&mut missing, did(other)),
            Some((Part::Mismatched(other), _)) => (&mut mismatched, named(other)),
        };
        list.entry(did).or_default().0.insert(*rank);
    }
    Wait {
        ranks: RankSet::default(),
        function: waiting.function.clone(),
        what: waiting.what,
        comm: waiting.comm_name.clone(),
        number: waiting.number,
        root: waiting.root,
        place: waiting.place.clone(),
        missing: in_order(missing),
        mismatched: in_order(mismatched),
    }
}

fn in_order(awaited: BTreeMap<String, RankSet>) -> Vec<Awaited> {
    let mut awaited: Vec<Awaited> = awaited.into_iter().map(|(did, ranks)| Awaited { ranks, did }).collect();
    awaited.sort_by_key(|one| one.ranks.0.first().copied());
    awaited
}

/// What another process had to do with a collective.
enum Part<'a> {
    /// It was in it, or had left it.
    In,
    /// It was waited for.
    Missing,
    /// It was in another one in the same place.
    Mismatched(&'a Waiting),
}

/// Collectives are numbered by every process for itself, in an order that must be the same for all: whose count has come to the
/// number is inside or has left, whatever it does now. Without numbers only an open call shows that somebody is inside.
fn part_of<'a>(other: &'a Death, waiting: &Waiting) -> Part<'a> {
    if waiting.what != WaitFor::Others {
        return Part::Missing;
    }
    let here = |open: &&Waiting| {
        (open.what, &open.comm, open.number) == (WaitFor::Others, &waiting.comm, waiting.number)
    };
    let open = other.waits.iter().find(here);
    let entered = waiting.number.zip(other.entered.get(&waiting.comm));
    match (open, entered) {
        (Some(open), Some(_)) if differ(open, waiting) => Part::Mismatched(open),
        (Some(open), None) if differ(open, waiting) => Part::Missing,
        (Some(_), _) => Part::In,
        (None, Some((number, entered))) if *entered >= number => Part::In,
        (None, _) => Part::Missing,
    }
}

/// Whether two calls cannot be the same collective; the twin for large counts can.
fn differ(one: &Waiting, other: &Waiting) -> bool {
    let base = |waiting: &'_ Waiting| waiting.function.trim_end_matches("_c").to_owned();
    base(one) != base(other) || one.root.zip(other.root).is_some_and(|(one, other)| one != other)
}

fn named(waiting: &Waiting) -> String {
    let root = waiting.root.map_or_else(String::new, |root| format!(" with root {root}"));
    format!("{}{root}", waiting.function)
}

/// What a process did when it died.
fn did(death: &Death) -> String {
    let open = death.now.threads.iter().find_map(|t| t.call.as_ref());
    let last = || death.now.last().and_then(|t| t.last_call.as_ref());
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
                WaitFor::Any => !ranks.is_empty() && ranks.iter().all(blocked),
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
