//! Waits that are alike become one sentence.

use super::find::Calls;
use super::{Kind, Lost, Wait};
use crate::questions::why::{Joined, ProcessIndex};
use crate::worlds::Members;
use std::collections::{BTreeMap, HashMap};

/// Sentences that are kept, those with most time.
const MOST: usize = 1000;

/// Sort, function, line, culprit, what that one did.
type Key = (Kind, String, Option<String>, ProcessIndex, String);

/// The waits of all ranks, most time first.
pub fn merge(joined: &Joined<'_>, calls: &Calls, waits: &[Wait], thread_s: f64) -> Vec<Lost> {
    let ranks: HashMap<ProcessIndex, (usize, Option<u32>)> =
        joined.processes().map(|(me, world, rank, _)| (me, (world, rank))).collect();
    let place = |who: ProcessIndex| ranks.get(&who).copied().unwrap_or_default();
    let mut found: BTreeMap<Key, (Members, u64, u64)> = BTreeMap::new();
    for wait in waits {
        let meanwhile = calls.meanwhile(wait.culprit, wait.span);
        let call = &wait.call;
        let key = (wait.kind, call.function.clone(), call.place.clone(), wait.culprit, meanwhile);
        let (members, ns, times) = found.entry(key).or_default();
        let (world, rank) = place(wait.who);
        members.add(world, rank);
        (*ns, *times) = (ns.saturating_add(wait.span.ns()), *times + 1);
    }
    let lost =
        |((kind, function, line, culprit, meanwhile), (ranks, ns, times)): (Key, (Members, u64, u64))| {
            let seconds = ns as f64 / 1e9;
            let share = if thread_s > 0.0 { (seconds / thread_s).min(1.0) } else { 0.0 };
            let culprit = [place(culprit)].into_iter().collect();
            Lost { kind, ranks, function, line, seconds, share, times, culprit, meanwhile }
        };
    let mut list: Vec<Lost> = found.into_iter().map(lost).collect();
    list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    list.truncate(MOST);
    list
}
