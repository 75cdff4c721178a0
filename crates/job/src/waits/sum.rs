//! The waits of a whole run, from many looks: a collective is counted once, by its number.

use super::estimate::Estimate;
use super::find::{self, Calls, Hosts, Judged};
use super::merge::{self, Alike, Amount, Amounts, Who};
use super::{Time, Wait, Waits};
use crate::questions::observation::Observation;
use crate::questions::why::{Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Communicators and sentences that are remembered.
const MOST: usize = 1 << 16;

/// What was seen of a run until now.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    looks: u64,
    comms: HashMap<u64, Known>,
    #[serde(with = "super::sent")]
    found: Amounts,
    /// In the collectives that were seen.
    seen_ns: u64,
    estimate: Estimate,
    /// A communicator has members that are not seen.
    partly: bool,
    /// The same at earlier looks of any host.
    apart: bool,
}

/// What is known of a communicator.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Known {
    /// Those up to this number have been seen, or never will be.
    done: u64,
    /// So many of them were seen.
    seen: u64,
    entered: u64,
}

impl Sum {
    /// One more look; the processes have spent so many seconds in collectives until now, all together.
    pub fn add(&mut self, observations: &[Observation], collectives_s: f64) {
        let joined = Joined::of(observations);
        self.look(&joined, &Calls::of(&joined), collectives_s);
    }

    /// What was seen on another host, of its own ranks. A communicator of several hosts was seen whole by none of them.
    pub fn take_in(&mut self, other: Self) {
        self.looks = self.looks.max(other.looks);
        self.apart |= self.partly | other.partly | other.apart;
        self.seen_ns = self.seen_ns.saturating_add(other.seen_ns);
        self.estimate.take_in(&other.estimate);
        for (comm, theirs) in other.comms {
            if self.comms.len() < MOST || self.comms.contains_key(&comm) {
                let known = self.comms.entry(comm).or_default();
                known.done = known.done.max(theirs.done);
                known.seen = known.seen.max(theirs.seen);
                known.entered = known.entered.max(theirs.entered);
            }
        }
        for (key, amount) in other.found {
            if self.found.len() < MOST || self.found.contains_key(&key) {
                merge::add(&mut self.found, key, amount);
            }
        }
    }

    fn look(&mut self, joined: &Joined<'_>, calls: &Calls, collectives_s: f64) {
        self.looks += 1;
        let hosts = Hosts::of(joined);
        self.count(joined);
        let new = |comm, number| self.comms.get(&comm).is_some_and(|known| number > known.done);
        let judged = find::collectives(joined, calls, &hosts, new);
        let all = self.take(&judged);
        let seen_ns = judged.iter().map(|one| one.ns).fold(0, u64::saturating_add);
        let waits: Vec<Wait> = judged.into_iter().flat_map(|one| one.waits).collect();
        let waits_ns = waits.iter().map(|wait| wait.span.ns()).fold(0, u64::saturating_add);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let factor = self.estimate.stretch(collectives_s, seconds(seen_ns), seconds(waits_ns), all);
        self.seen_ns = self.seen_ns.saturating_add(seen_ns);
        self.merge(joined, calls, &waits, factor);
    }

    /// How many there were on each communicator.
    fn count(&mut self, joined: &Joined<'_>) {
        let mut members: HashMap<u64, (u32, u32)> = HashMap::new();
        for (_, _, _, seen) in joined.processes() {
            let shared = seen.communicators.iter().filter(|comm| comm.remote.is_none() && comm.size > 1);
            let sizes: HashMap<u64, u32> = shared.map(|comm| (comm.identity, comm.size)).collect();
            for history in seen.history.iter().filter(|history| history.newest > 0) {
                let Some(size) = sizes.get(&history.comm) else { continue };
                members.entry(history.comm).or_insert((*size, 0)).1 += 1;
                if self.comms.len() < MOST || self.comms.contains_key(&history.comm) {
                    let known = self.comms.entry(history.comm).or_default();
                    known.entered = known.entered.max(history.newest);
                }
            }
        }
        self.partly = members.values().any(|(size, seen)| seen < size);
    }

    /// Whether none was overwritten before it was seen, of those up to the last ones seen now.
    fn take(&mut self, judged: &[Judged]) -> bool {
        let mut now: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for Judged { number: (comm, number), .. } in judged {
            let (last, seen) = now.entry(*comm).or_default();
            (*last, *seen) = ((*last).max(*number), *seen + 1);
        }
        let mut all = true;
        for (comm, (last, seen)) in now {
            let Some(known) = self.comms.get_mut(&comm) else { continue };
            all &= last - known.done == seen;
            (known.done, known.seen) = (last, known.seen + seen);
        }
        all
    }

    fn merge(&mut self, joined: &Joined<'_>, calls: &Calls, waits: &[Wait], factor: f64) {
        if waits.is_empty() {
            return;
        }
        let mut worlds: HashMap<&str, Arc<str>> = HashMap::new();
        let mut names: HashMap<ProcessIndex, Who> = HashMap::new();
        for (me, _, rank, seen) in joined.processes() {
            let world = worlds.entry(&seen.world).or_insert_with(|| seen.world.as_str().into());
            names.insert(me, (Arc::clone(world), rank));
        }
        let name = |who: ProcessIndex| names.get(&who).cloned().unwrap_or_else(|| ("".into(), None));
        for wait in waits {
            let key = Alike {
                kind: wait.kind,
                function: wait.call.function.clone(),
                line: wait.call.place.clone(),
                culprit: name(wait.culprit),
                meanwhile: calls.meanwhile(wait.culprit, wait.span),
            };
            let ns = wait.span.ns();
            let ranks = [name(wait.who)].into();
            let amount = Amount { ranks, ns, times: 1, estimated_s: factor * ns as f64 / 1e9 };
            if self.found.len() < MOST || self.found.contains_key(&key) {
                merge::add(&mut self.found, key, amount);
            }
        }
    }

    /// The last look, with messages where they were recorded one by one; `words` says what places are called that earlier looks
    /// have only noted.
    #[must_use]
    pub fn finish(&self, observations: &[Observation], time: Time, words: &dyn Fn(&str) -> String) -> Waits {
        let mut all = self.clone();
        let joined = Joined::of(observations);
        let (calls, hosts) = (Calls::of(&joined), Hosts::of(&joined));
        all.put_into_words(words);
        all.look(&joined, &calls, time.collectives);
        all.merge(&joined, &calls, &find::for_messages(&joined, &calls, &hosts), 1.0);
        let (collectives, seen) = all.comms.values().fold((0, 0), |(all, seen), known| {
            (u64::saturating_add(all, known.entered), u64::saturating_add(seen, known.seen))
        });
        let whole = !all.partly && !all.apart;
        let known = self.looks > 0 && seen > 0 && seen < collectives && whole && hosts.have_one_clock();
        let estimated = known.then(|| all.estimate.whole());
        let part = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
        let seen_s = all.seen_ns as f64 / 1e9 + calls.of_messages_s();
        let mut worlds: Vec<&str> = Vec::new();
        for (_, _, _, seen) in joined.processes() {
            if !worlds.contains(&seen.world.as_str()) {
                worlds.push(&seen.world);
            }
        }
        let number = |world: &str| worlds.iter().position(|known| *known == world).unwrap_or(worlds.len());
        merge::name_the_unnamed(&mut all.found);
        let list = merge::list(all.found, time.threads, estimated.is_some(), number);
        Waits {
            seconds: list.iter().map(|lost| lost.seconds).sum(),
            list,
            seen_s,
            seen_share: part(seen_s, time.waiting),
            messages: observations.iter().any(|seen| seen.ledger.is_some()),
            one_clock: hosts.have_one_clock(),
            clocks_error_s: hosts.error_ns().map(|ns| ns as f64 / 1e9),
            looks: all.looks,
            collectives,
            collectives_seen: seen,
            estimated,
        }
    }

    /// Says what places are called that were only noted.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        let mut all = Amounts::new();
        for (mut key, amount) in std::mem::take(&mut self.found) {
            key.line = key.line.map(|line| words(&line));
            key.meanwhile = words(&key.meanwhile);
            merge::add(&mut all, key, amount);
        }
        self.found = all;
    }
}
