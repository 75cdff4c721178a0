//! Combines equal waits into one sentence.

use super::alike::{Alike, Origin, UNNAMED, Who};
use super::{Began, Cause, Lost};
use crate::base::total::total;
use crate::jobs::worlds::Members;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of sentences; those with the most time are kept.
const MOST: usize = 1000;

/// How long a rank waited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waited {
    /// Nanoseconds of the waits that were observed.
    pub ns: u64,
    /// Seconds including an estimate for what was not observed.
    pub estimated_s: f64,
}

impl Waited {
    /// A wait that stands for itself only.
    pub fn observed(ns: u64) -> Self {
        Self { ns, estimated_s: ns as f64 / 1e9 }
    }

    /// Returns the seconds of the waits that were observed.
    pub fn seconds(self) -> f64 {
        self.ns as f64 / 1e9
    }

    /// Adds waits.
    pub fn and(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns), estimated_s: self.estimated_s + other.estimated_s }
    }
}

/// The amount of waiting.
#[derive(Debug, Clone, Default)]
pub struct Amount {
    pub ranks: BTreeMap<Who, Waited>,
    pub times: u64,
    /// Of sampled waits, their error: the sum of squares, in seconds.
    pub squares: f64,
    /// Where it began, as far as known: the process, and what it did.
    pub origins: BTreeMap<Origin, u64>,
}

impl Amount {
    /// Returns the nanoseconds of all ranks.
    pub fn ns(&self) -> u64 {
        self.ranks.values().map(|waited| waited.ns).fold(0, u64::saturating_add)
    }

    /// Returns the same in seconds.
    pub fn seconds(&self) -> f64 {
        self.ns() as f64 / 1e9
    }

    /// Returns the seconds including an estimate for what was not observed.
    pub fn estimated_s(&self) -> f64 {
        total(self.ranks.values().map(|waited| waited.estimated_s))
    }

    /// Changes the time of each rank, in order of rank; what belongs to all of them changes with the sum.
    pub fn change(&mut self, mut to: impl FnMut(Waited) -> Waited) {
        let before_s = self.seconds();
        self.ranks.values_mut().for_each(|waited| *waited = to(*waited));
        let share = if before_s > 0.0 { self.seconds() / before_s } else { 1.0 };
        if share < 1.0 {
            self.squares *= share.powi(2);
            self.origins.values_mut().for_each(|ns| *ns = (*ns as f64 * share) as u64);
        }
    }

    /// Resolves places that were only recorded.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        let mut all = BTreeMap::new();
        for ((who, doing), ns) in std::mem::take(&mut self.origins) {
            *all.entry((who, words(&doing).into())).or_default() += ns;
        }
        self.origins = all;
    }
}

/// All waits of a job.
pub type Amounts = BTreeMap<Alike, Amount>;

/// Maximum number of origins per group of equal waits.
const MOST_ORIGINS: usize = 64;

/// Adds waits.
pub fn add(all: &mut Amounts, key: Alike, amount: Amount) {
    let known = all.entry(key).or_default();
    for (who, waited) in amount.ranks {
        let sum = known.ranks.entry(who).or_default();
        *sum = sum.and(waited);
    }
    known.times = known.times.saturating_add(amount.times);
    known.squares += amount.squares;
    for (origin, ns) in amount.origins {
        if known.origins.len() < MOST_ORIGINS || known.origins.contains_key(&origin) {
            let sum = known.origins.entry(origin).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
}

/// Returns the seconds of all of them.
pub fn seconds(all: &Amounts) -> f64 {
    total(all.values().map(Amount::seconds))
}

/// Returns the seconds of all of them, including an estimate for what was not observed.
pub fn estimated_s(all: &Amounts) -> f64 {
    total(all.values().map(Amount::estimated_s))
}

/// Resolves waits during work whose preceding call is unknown, as for the first call still recorded: the rank
/// is assumed to have done what it did most often at that place.
pub fn name_unnamed_calls(all: &mut Amounts) {
    let unnamed: Vec<Alike> = all.keys().filter(|key| key.meanwhile == UNNAMED).cloned().collect();
    for key in unnamed {
        let same = |known: &Alike| {
            let named = known.meanwhile.starts_with(UNNAMED) && known.meanwhile != UNNAMED;
            named && Alike { meanwhile: UNNAMED.to_owned(), of: key.of.clone(), ..known.clone() } == key
        };
        let most = all.iter().filter(|(known, _)| same(known)).max_by_key(|(_, amount)| amount.ns());
        if let Some(named) = most.map(|(known, _)| Alike { of: key.of.clone(), ..known.clone() })
            && let Some(mut amount) = all.remove(&key)
        {
            let doing = [UNNAMED, &named.meanwhile].map(Arc::from);
            let [unnamed, known] = doing.map(|doing| (key.culprit.clone(), doing));
            if let Some(ns) = amount.origins.remove(&unnamed) {
                *amount.origins.entry(known).or_default() += ns;
            }
            add(all, named, amount);
        }
    }
}

/// Combines waits that differ only in what they belong to.
pub fn together(all: &Amounts) -> Amounts {
    let mut together = Amounts::new();
    for (key, amount) in all {
        add(&mut together, key.of_anything(), amount.clone());
    }
    together
}

/// Returns the processes that were late without having waited, with everything lost because of them, in
/// descending order of time.
pub fn causes(all: &Amounts, thread_s: f64, number: impl Fn(&str) -> usize) -> Vec<Cause> {
    let mut causes: BTreeMap<&Origin, (BTreeSet<&Who>, u64, u64)> = BTreeMap::new();
    for (key, amount) in all {
        for (origin, ns) in &amount.origins {
            let (ranks, all, through_others) = causes.entry(origin).or_default();
            // These are all that waited like this; none waited because of its own work.
            ranks.extend(amount.ranks.keys().filter(|rank| **rank != origin.0));
            *all += ns;
            if origin.0 != key.culprit {
                *through_others += ns;
            }
        }
    }
    let members = |who: &mut dyn Iterator<Item = &Who>| {
        who.map(|(world, rank)| (number(world), *rank)).collect::<Members>()
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let cause = |((who, doing), (ranks, ns, through_others)): (&Origin, (BTreeSet<&Who>, u64, u64))| Cause {
        culprit: members(&mut std::iter::once(who)),
        doing: doing.to_string(),
        ranks: members(&mut ranks.into_iter()),
        seconds: seconds(ns),
        share: part_of(seconds(ns), thread_s),
        handed_on_s: seconds(through_others),
    };
    let mut causes: Vec<Cause> = causes.into_iter().map(cause).collect();
    causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    causes.truncate(MOST);
    causes
}

fn part_of(seconds: f64, all: f64) -> f64 {
    if all > 0.0 { (seconds / all).min(1.0) } else { 0.0 }
}

/// Returns the waits in descending order of time. `number` maps a world to its number in the job.
pub fn list(all: Amounts, thread_s: f64, estimated: bool, number: impl Fn(&str) -> usize) -> Vec<Lost> {
    let lost = |(key, amount): (Alike, Amount)| {
        let seconds = amount.seconds();
        let members = |who: &mut dyn Iterator<Item = &Who>| {
            who.map(|(world, rank)| (number(world), *rank)).collect::<Members>()
        };
        let began = began(&key, &amount.origins, &members);
        Lost {
            kind: key.kind,
            ranks: members(&mut amount.ranks.keys()),
            function: key.function,
            line: key.line,
            seconds,
            estimated_s: Some(amount.estimated_s()).filter(|all| estimated && *all > 1.01 * seconds),
            share: part_of(seconds, thread_s),
            times: amount.times,
            began,
            culprit: members(&mut std::iter::once(&key.culprit)),
            meanwhile: key.meanwhile,
        }
    };
    let mut list: Vec<Lost> = all.into_iter().map(lost).collect();
    list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    list.truncate(MOST);
    list
}

/// Returns the other processes with which it began, in descending order of time.
fn began(
    key: &Alike,
    origins: &BTreeMap<Origin, u64>,
    members: &dyn Fn(&mut dyn Iterator<Item = &Who>) -> Members,
) -> Vec<Began> {
    let others = origins.iter().filter(|((who, _), ns)| *who != key.culprit && **ns > 0);
    let mut all: Vec<Began> = others
        .map(|((who, doing), ns)| Began {
            culprit: members(&mut std::iter::once(who)),
            doing: doing.to_string(),
            seconds: *ns as f64 / 1e9,
        })
        .collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}
