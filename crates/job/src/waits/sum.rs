//! The waits of a whole run, from many looks: a collective is counted once, by its number, and so is a message ([`Stream`]).

use super::estimate::Estimate;
use super::find::{self, Calls, Hosts, Judged};
use super::merge::{self, Alike, Amount, Amounts, Who};
use super::stream::{LATER, Settled, Stream, Told};
use super::{Spent, Time, Wait, Waits};
use crate::questions::observation::Observation;
use crate::questions::why::{Ends, Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
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
    stream: Stream,
    of_messages: Estimate,
    /// Seconds in calls for messages at the last looks: what is told of them now was found then.
    #[serde(skip)]
    at_looks: VecDeque<f64>,
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
    /// One more look.
    pub fn add(&mut self, observations: &[Observation], spent: Spent) {
        self.follow(observations, spent, false);
    }

    /// The last look of those that are all by the same clock.
    pub fn add_last(&mut self, observations: &[Observation], spent: Spent) {
        self.follow(observations, spent, true);
        self.stream.close();
    }

    fn follow(&mut self, observations: &[Observation], spent: Spent, last: bool) {
        let joined = Joined::of(observations);
        let (calls, hosts) = (Calls::of(&joined), Hosts::of(&joined));
        let names = Names::of(&joined, &calls);
        let settled = self.stream.look(&joined, &hosts, &|wait| names.of_wait(wait), last);
        self.at_looks.push_back(spent.messages);
        let until_then = if self.at_looks.len() > LATER { self.at_looks.pop_front() } else { None };
        if let Some(spent_s) = if last { Some(spent.messages) } else { until_then } {
            self.take_messages(settled, spent_s);
        }
        self.look(&joined, &calls, &hosts, spent.collectives);
    }

    /// What was seen on another host, of its own ranks. A communicator of several hosts was seen whole by none of them.
    pub fn take_in(&mut self, other: Self) {
        self.looks = self.looks.max(other.looks);
        self.apart |= self.partly | other.partly | other.apart;
        self.seen_ns = self.seen_ns.saturating_add(other.seen_ns);
        self.estimate.take_in(&other.estimate);
        self.of_messages.take_in(&other.of_messages);
        self.stream.take_in(other.stream);
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

    fn look(&mut self, joined: &Joined<'_>, calls: &Calls, hosts: &Hosts<'_>, collectives_s: f64) {
        self.looks += 1;
        let names = Names::of(joined, calls);
        self.count(joined);
        let new = |comm, number| self.comms.get(&comm).is_some_and(|known| number > known.done);
        let judged = find::collectives(joined, calls, hosts, new);
        let all = self.take(&judged);
        let seen_ns = judged.iter().map(|one| one.ns).fold(0, u64::saturating_add);
        let waits: Vec<Wait> = judged.into_iter().flat_map(|one| one.waits).collect();
        let waits_ns = waits.iter().map(|wait| wait.span.ns()).fold(0, u64::saturating_add);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let factor = self.estimate.stretch(collectives_s, seconds(seen_ns), seconds(waits_ns), all);
        self.seen_ns = self.seen_ns.saturating_add(seen_ns);
        waits.iter().for_each(|wait| self.merge(names.told(wait), factor));
    }

    fn take_messages(&mut self, settled: Settled, spent_s: f64) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let waits_ns = settled.waits.iter().map(|told| told.ns).fold(0, u64::saturating_add);
        let (inside_s, waits_s) = (seconds(settled.inside_ns), seconds(waits_ns));
        let factor = self.of_messages.stretch(spent_s, inside_s, waits_s, settled.all);
        self.seen_ns = self.seen_ns.saturating_add(settled.inside_ns);
        settled.waits.into_iter().for_each(|told| self.merge(told, factor));
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

    fn merge(&mut self, Told { key, who, ns }: Told, factor: f64) {
        let amount = Amount { ranks: [who].into(), ns, times: 1, estimated_s: factor * ns as f64 / 1e9 };
        if self.found.len() < MOST || self.found.contains_key(&key) {
            merge::add(&mut self.found, key, amount);
        }
    }

    /// The last look, with messages of processes that were not looked at before, where they were recorded one by one; `words` says
    /// what places are called that earlier looks
    /// have only noted.
    #[must_use]
    pub fn finish(&self, observations: &[Observation], time: Time, words: &dyn Fn(&str) -> String) -> Waits {
        let mut all = self.clone();
        let joined = Joined::of(observations);
        let (calls, hosts) = (Calls::of(&joined), Hosts::of(&joined));
        all.put_into_words(words);
        all.look(&joined, &calls, &hosts, time.collectives);
        let messages = all.rest(&joined, &calls, &hosts);
        let (collectives, seen) = all.comms.values().fold((0, 0), |(all, seen), known| {
            (u64::saturating_add(all, known.entered), u64::saturating_add(seen, known.seen))
        });
        let near = self.looks > 0 && hosts.have_one_clock();
        let of_collectives = near && seen > 0 && seen < collectives && !all.partly && !all.apart;
        let of_messages = near && messages.seen > 0 && messages.seen < messages.received;
        let estimated =
            (of_collectives || of_messages).then(|| all.estimate.whole().and(all.of_messages.whole()));
        let part = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
        let seen_s = all.seen_ns.saturating_add(messages.inside_ns) as f64 / 1e9;
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
            messages_received: messages.received,
            messages_seen: messages.seen,
            estimated,
        }
    }

    /// Messages that nobody followed: those that the rings of both ends still have.
    fn rest(&mut self, joined: &Joined<'_>, calls: &Calls, hosts: &Hosts<'_>) -> Messages {
        let followed = |seen: &Observation| self.stream.knows(seen);
        let known: HashSet<ProcessIndex> =
            joined.processes().filter(|(.., seen)| followed(seen)).map(|(me, ..)| me).collect();
        let both = |ends: &Ends<'_>| known.contains(&ends.sender) && known.contains(&ends.receiver);
        let mut ends = joined.messages();
        ends.retain(|ends| !both(ends) || !hosts.are_on_one_host([&ends.sender, &ends.receiver]));
        let names = Names::of(joined, calls);
        let waits = find::for_messages(&ends, calls, hosts);
        waits.iter().for_each(|wait| self.merge(names.told(wait), 1.0));
        let received =
            joined.processes().filter_map(|(.., seen)| Some(seen.ledger.as_ref()?.received.written));
        let sides = ends.iter().flat_map(|ends| [(ends.sender, ends.sent), (ends.receiver, ends.received)]);
        let inside = sides.filter_map(|(who, line)| {
            let waited = line.waited.as_ref()?;
            Some(((who, waited.from_ns), waited.until_ns.saturating_sub(waited.from_ns)))
        });
        let inside: HashMap<_, u64> = inside.collect();
        Messages {
            received: received.fold(0, u64::saturating_add),
            seen: self.stream.seen().saturating_add(ends.len() as u64),
            inside_ns: inside.into_values().fold(0, u64::saturating_add),
        }
    }

    /// Says what places are called that were only noted.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        let mut all = Amounts::new();
        for (mut key, amount) in std::mem::take(&mut self.found) {
            key.put_into_words(words);
            merge::add(&mut all, key, amount);
        }
        self.found = all;
    }
}

/// What is known of messages at the end.
struct Messages {
    received: u64,
    seen: u64,
    /// In calls that were not followed.
    inside_ns: u64,
}

/// What processes and their calls are called at one look.
struct Names<'a> {
    calls: &'a Calls,
    processes: HashMap<ProcessIndex, Who>,
}

impl<'a> Names<'a> {
    fn of(joined: &Joined<'_>, calls: &'a Calls) -> Self {
        let mut worlds: HashMap<&str, Arc<str>> = HashMap::new();
        let mut processes = HashMap::new();
        for (me, _, rank, seen) in joined.processes() {
            let world = worlds.entry(&seen.world).or_insert_with(|| seen.world.as_str().into());
            processes.insert(me, (Arc::clone(world), rank));
        }
        Self { calls, processes }
    }

    fn name(&self, who: ProcessIndex) -> Who {
        self.processes.get(&who).cloned().unwrap_or_else(|| ("".into(), None))
    }

    fn of_wait(&self, wait: &Wait) -> (Alike, Who) {
        let key = Alike {
            kind: wait.kind,
            function: wait.call.function.clone(),
            line: wait.call.place.clone(),
            culprit: self.name(wait.culprit),
            meanwhile: self.calls.meanwhile(wait.culprit, wait.span),
        };
        (key, self.name(wait.who))
    }

    fn told(&self, wait: &Wait) -> Told {
        let (key, who) = self.of_wait(wait);
        Told { key, who, ns: wait.span.ns() }
    }
}
