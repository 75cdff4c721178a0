//! Waits that are alike become one sentence.

use super::{Kind, Lost};
use crate::worlds::Members;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Sentences that are kept, those with most time.
const MOST: usize = 1000;

/// What a rank did that is not known to have called anything before.
pub const UNNAMED: &str = "computing";

/// A process, by what it is called at every look: its world, its rank.
pub type Who = (Arc<str>, Option<u32>);

/// What is alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alike {
    pub kind: Kind,
    pub function: String,
    pub line: Option<String>,
    pub culprit: Who,
    pub meanwhile: String,
}

impl Alike {
    /// Gives places that were only noted their words.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        self.line = self.line.take().map(|line| words(&line));
        self.meanwhile = words(&self.meanwhile);
    }
}

/// How much of it there was.
#[derive(Debug, Clone, Default)]
pub struct Amount {
    pub ranks: BTreeSet<Who>,
    pub ns: u64,
    pub times: u64,
    /// With what was not seen, as far as it can be estimated.
    pub estimated_s: f64,
}

/// All waits of a job.
pub type Amounts = BTreeMap<Alike, Amount>;

/// Adds what was found.
pub fn add(all: &mut Amounts, key: Alike, amount: Amount) {
    let known = all.entry(key).or_default();
    known.ranks.extend(amount.ranks);
    known.ns = known.ns.saturating_add(amount.ns);
    known.times = known.times.saturating_add(amount.times);
    known.estimated_s += amount.estimated_s;
}

/// The first call that a look still finds has nothing before it: what its rank did is then what it did most often in that place.
pub fn name_the_unnamed(all: &mut Amounts) {
    let unnamed: Vec<Alike> = all.keys().filter(|key| key.meanwhile == UNNAMED).cloned().collect();
    for key in unnamed {
        let same = |known: &Alike| {
            let named = known.meanwhile.starts_with(UNNAMED) && known.meanwhile != UNNAMED;
            named && Alike { meanwhile: UNNAMED.to_owned(), ..known.clone() } == key
        };
        let most = all.iter().filter(|(known, _)| same(known)).max_by_key(|(_, amount)| amount.ns);
        if let Some(named) = most.map(|(known, _)| known.clone())
            && let Some(amount) = all.remove(&key)
        {
            add(all, named, amount);
        }
    }
}

/// Most time first. `number` says which of the job's worlds one is.
pub fn list(all: Amounts, thread_s: f64, estimated: bool, number: impl Fn(&str) -> usize) -> Vec<Lost> {
    let lost = |(key, amount): (Alike, Amount)| {
        let seconds = amount.ns as f64 / 1e9;
        let share = if thread_s > 0.0 { (seconds / thread_s).min(1.0) } else { 0.0 };
        let members = |who: &mut dyn Iterator<Item = &Who>| {
            who.map(|(world, rank)| (number(world), *rank)).collect::<Members>()
        };
        Lost {
            kind: key.kind,
            ranks: members(&mut amount.ranks.iter()),
            function: key.function,
            line: key.line,
            seconds,
            estimated_s: Some(amount.estimated_s).filter(|all| estimated && *all > 1.01 * seconds),
            share,
            times: amount.times,
            culprit: members(&mut std::iter::once(&key.culprit)),
            meanwhile: key.meanwhile,
        }
    };
    let mut list: Vec<Lost> = all.into_iter().map(lost).collect();
    list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    list.truncate(MOST);
    list
}
