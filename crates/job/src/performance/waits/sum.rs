//! The waits of a whole run, from many passes: each collective and each message is counted once, by its
//! number (see [`Stream`]).

use super::alike::Of;
use super::calls::{self, Before, Calls, FoundOpen};
use super::chain::{Chains, Meeting, Traced};
use super::collectives::{self, Judged};
use super::estimate::Estimate;
use super::inside::{Inside, Total};
use super::locks::{self, Watch};
use super::merge::{self, Amount, Amounts, Waited};
use super::messages;
use super::named::Names;
use super::not_returned;
use super::parts;
use super::stream::{LATER, Settled, Stream};
use super::within::Within;
use super::{Estimated, Samples, Spent, SpentByRank, Stood, Time, Waiting, Waits};
use crate::base::total::total;
use crate::observation::Observation;
use crate::questions::why::Hosts;
use crate::questions::why::{Ends, Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// Maximum numbers of communicators and of sentences remembered.
const MOST: usize = 1 << 16;

/// What was observed of a run so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    looks: u64,
    comms: HashMap<u64, Known>,
    #[serde(with = "super::sent")]
    found: Amounts,
    /// Waits of the last passes, on their way to `found`.
    #[serde(skip)]
    chains: Chains,
    #[serde(skip)]
    before: Before,
    /// Calls found by samples between passes.
    #[serde(skip)]
    open_at_looks: FoundOpen,
    #[serde(skip)]
    inside: Inside,
    /// Nanoseconds in the observed collectives.
    seen_ns: u64,
    estimate: Estimate,
    stream: Stream,
    of_messages: Estimate,
    /// Of non-blocking collectives and locks.
    of_others: Estimated,
    watch: Watch,
    /// Seconds in calls for messages at the last passes: messages reported now were found then.
    #[serde(skip)]
    at_looks: VecDeque<f64>,
    /// Whether a communicator has members that were not observed.
    partly: bool,
    /// The same for earlier passes on any host.
    apart: bool,
    samples: Samples,
    /// Waits not taken yet.
    #[serde(skip)]
    waiting: Vec<Waiting>,
}

/// What is known of a communicator.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Known {
    /// Collectives up to this number have been observed, or never will be.
    done: u64,
    /// Number of collectives observed.
    seen: u64,
    entered: u64,
    /// Collectives before `done` that were started and are not complete.
    #[serde(skip)]
    open: BTreeSet<u64>,
}

impl Sum {
    /// Adds a pass.
    pub fn add(&mut self, observations: &[Observation], spent: Spent) {
        self.follow(observations, spent, false);
    }

    /// Adds the last pass of those that all use the same clock. After it nothing is pending any more, so the
    /// sum may be sent to another host.
    pub fn add_last(&mut self, observations: &[Observation], spent: Spent) {
        self.follow(observations, spent, true);
        self.stream.close();
        self.watch.close();
    }

    /// Adds a reading of how much time a rank has spent in MPI so far, before the pass in which it was taken.
    pub fn read(&mut self, world: &str, rank: Option<u32>, total: Total) {
        self.inside.read(world, rank, total);
    }

    /// Adds a sample of open calls, for waits that are not recorded, such as those for messages that are not
    /// recorded individually.
    pub fn sample(&mut self, now_ns: u64, seen: &[Observation], stood: &[Stood]) {
        self.open_at_looks.look(now_ns, seen);
        self.waiting.extend(self.samples.look(now_ns, seen, stood));
    }

    /// Returns the waits found since the last call.
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    fn follow(&mut self, observations: &[Observation], spent: Spent, last: bool) {
        let joined = Joined::of(observations);
        let (calls, hosts) =
            (Calls::of(&joined, &mut self.before, &self.open_at_looks, &self.inside), Hosts::of(&joined));
        let names = Names::of(&joined, &calls);
        let mut settled = self.stream.look(&joined, &hosts, &names, last);
        for (at_ns, from, to) in std::mem::take(&mut settled.met) {
            self.chains.met(at_ns, Meeting::Message(from.clone(), to.clone()), vec![from, to]);
        }
        self.at_looks.push_back(spent.messages);
        let until_then = if self.at_looks.len() > LATER { self.at_looks.pop_front() } else { None };
        if let Some(spent_s) = if last { Some(spent.messages) } else { until_then } {
            self.take_messages(settled, spent_s);
        }
        self.look(&joined, &calls, &hosts, spent.collectives, last);
        self.trace(if last { 0 } else { LATER as u64 });
    }

    /// Traces the origins of waits found `later` passes ago: no wait that ended before these can still turn
    /// up.
    fn trace(&mut self, later: u64) {
        for Traced { named, factor, origins } in self.chains.look(later) {
            let (who, from_ns, until_ns) =
                (named.who.clone(), named.from_ns, named.from_ns.saturating_add(named.ns));
            let seconds = factor * named.ns as f64 / 1e9;
            if self.waiting.len() < MOST {
                self.waiting.push(Waiting { who, from_ns, until_ns, seconds });
            }
            let amount = Amount {
                ranks: [(named.who, Waited { ns: named.ns, estimated_s: seconds })].into(),
                times: 1,
                origins: origins.into_iter().collect(),
                ..Amount::default()
            };
            if self.found.len() < MOST || self.found.contains_key(&named.key) {
                merge::add(&mut self.found, named.key, amount);
            }
        }
    }

    /// Adds the observations of another host about its own ranks. No host has observed all of a communicator
    /// that spans several.
    pub fn take_in(&mut self, other: Self) {
        self.looks = self.looks.max(other.looks);
        self.apart |= self.partly | other.partly | other.apart;
        self.seen_ns = self.seen_ns.saturating_add(other.seen_ns);
        self.estimate.take_in(&other.estimate);
        self.of_messages.take_in(&other.of_messages);
        self.stream.take_in(other.stream);
        self.of_others = self.of_others.and(other.of_others);
        self.watch.take_in(other.watch);
        self.samples.take_in(other.samples);
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

    fn look(
        &mut self,
        joined: &Joined<'_>,
        calls: &Calls,
        hosts: &Hosts<'_>,
        collectives_s: f64,
        last: bool,
    ) {
        self.looks += 1;
        let names = Names::of(joined, calls);
        self.count(joined);
        let new = |comm, number| {
            let known = self.comms.get(&comm);
            known.is_some_and(|known| number > known.done || known.open.contains(&number))
        };
        let collectives::Found { judged, open } = collectives::judge(joined, calls, hosts, last, new);
        let taken = self.take(&judged, &open);
        let (started, entered): (Vec<Judged>, Vec<Judged>) = judged.into_iter().partition(|one| one.started);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let sums = |judged: &[Judged]| {
            let ns = judged.iter().map(|one| one.ns).fold(0, u64::saturating_add);
            let waits = judged.iter().flat_map(|one| &one.waits).map(|wait| wait.span.ns());
            (ns, seconds(waits.fold(0, u64::saturating_add)))
        };
        let (ns, waits_s) = sums(&entered);
        let factor = self.estimate.stretch(collectives_s, seconds(ns), waits_s, taken.all());
        let (started_ns, started_s) = sums(&started);
        self.of_others = self.of_others.and(Estimated::counted(started_s, taken.factor()));
        for (judged, factor) in [(&entered, factor), (&started, taken.factor())] {
            for one in judged {
                for wait in &one.waits {
                    let mut named = names.named(wait);
                    named.key.of = Some(Of::Collectives(one.number.0, one.call.function.clone()));
                    self.chains.waited(named, factor);
                }
                let members = one.members.iter().map(|who| names.name(*who)).collect();
                self.chains.met(one.met_ns, Meeting::Collective(one.number.0), members);
            }
        }
        let locks_ns = self.look_at_locks(joined, calls, hosts, last);
        self.seen_ns = [ns, started_ns, locks_ns].into_iter().fold(self.seen_ns, u64::saturating_add);
    }

    /// Returns the nanoseconds in the calls judged.
    fn look_at_locks(&mut self, joined: &Joined<'_>, calls: &Calls, hosts: &Hosts<'_>, last: bool) -> u64 {
        let names = Names::of(joined, calls);
        let locks::Found { waits, ns, new, judged } = self.watch.look(joined, calls, hosts, last);
        let factor = Taken { new, seen: judged }.factor();
        let waits_ns = waits.iter().map(|wait| wait.span.ns()).fold(0, u64::saturating_add);
        self.of_others = self.of_others.and(Estimated::counted(waits_ns as f64 / 1e9, factor));
        waits.iter().for_each(|wait| self.chains.waited(names.named(wait), factor));
        ns
    }

    fn take_messages(&mut self, settled: Settled, spent_s: f64) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let waits_ns = settled.waits.iter().map(|named| named.ns).fold(0, u64::saturating_add);
        let (inside_s, waits_s) = (seconds(settled.inside_ns), seconds(waits_ns));
        let factor = self.of_messages.stretch(spent_s, inside_s, waits_s, settled.all);
        self.seen_ns = self.seen_ns.saturating_add(settled.inside_ns);
        settled.waits.into_iter().for_each(|named| self.chains.waited(named, factor));
    }

    /// Counts the collectives on each communicator.
    fn count(&mut self, joined: &Joined<'_>) {
        let mut members: HashMap<u64, (u32, u32)> = HashMap::new();
        for (_, _, _, seen) in joined.processes() {
            let callers = seen.communicators.iter().filter_map(|comm| Some((comm.identity, comm.callers()?)));
            let sizes: HashMap<u64, u32> = callers.filter(|(_, callers)| *callers > 1).collect();
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

    /// Notes which collectives were observed, up to the last one that all members have completed.
    fn take(&mut self, judged: &[Judged], open: &BTreeSet<(u64, u64)>) -> Taken {
        let mut now: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for Judged { number: (comm, number), .. } in judged {
            now.entry(*comm).or_default().push(*number);
        }
        let mut taken = Taken::default();
        for (comm, numbers) in now {
            let Some(known) = self.comms.get_mut(&comm) else { continue };
            let (before, last) = (known.done, numbers.iter().copied().max().unwrap_or(0).max(known.done));
            known.done = last;
            known.open = open.range((comm, 0)..(comm, last)).map(|(_, number)| *number).collect();
            let new = |number: &&u64| **number > before;
            taken.new += last - before;
            taken.seen += (numbers.iter().filter(new).count() + known.open.iter().filter(new).count()) as u64;
            known.seen += numbers.len() as u64;
        }
        taken
    }

    /// Adds a final pass, with messages of processes that were not followed, if messages were recorded
    /// individually; `words` resolves places that earlier passes have only recorded.
    #[must_use]
    pub fn finish(
        &self,
        observations: &[Observation],
        time: Time<'_>,
        words: &dyn Fn(&str) -> String,
    ) -> Waits {
        self.finish_and_list(observations, time, words).0
    }

    /// The same, with the waits that only this pass found, such as those in calls that never returned.
    #[must_use]
    pub fn finish_and_list(
        &self,
        observations: &[Observation],
        time: Time<'_>,
        words: &dyn Fn(&str) -> String,
    ) -> (Waits, Vec<Waiting>) {
        let mut all = self.clone();
        all.trace(0);
        all.put_into_words(words);
        let joined = Joined::of(observations);
        let (calls, hosts) =
            (Calls::of(&joined, &mut all.before, &all.open_at_looks, &all.inside), Hosts::of(&joined));
        all.look(&joined, &calls, &hosts, time.collectives, true);
        let messages = all.rest(&joined, &calls, &hosts);
        for wait in not_returned::waits(observations, &joined) {
            all.seen_ns = all.seen_ns.saturating_add(wait.span.ns());
            all.chains.waited(Names::of(&joined, &calls).named(&wait), 1.0);
        }
        all.trace(0);
        let (collectives, seen) = all.comms.values().fold((0, 0), |(all, seen), known| {
            (u64::saturating_add(all, known.entered), u64::saturating_add(seen, known.seen))
        });
        let (locks, locks_seen) = all.watch.counts();
        let near = self.looks > 0 && hosts.have_one_clock();
        let estimated = near
            .then(|| {
                all.estimated((seen, collectives), (messages.seen, messages.received), (locks_seen, locks))
            })
            .flatten();
        let part = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
        let seen_s = all.seen_ns.saturating_add(messages.inside_ns) as f64 / 1e9;
        let worlds = worlds(&joined);
        let number = |world: &str| worlds.iter().position(|known| *known == world).unwrap_or(worlds.len());
        merge::name_unnamed_calls(&mut all.found);
        let messages_recorded = observations.iter().any(|seen| seen.ledger.is_some());
        let sampled = std::mem::take(&mut all.samples);
        let estimated = all.limit(estimated, time.spent);
        let left = time.spent.map(|spent| Within::of(spent).less(&all.found));
        let sampled = sampled.finish(time.threads, left, number);
        let causes = merge::causes(&all.found, time.threads, number);
        let (of_collectives, of_messages) = parts::listed(&all.found, number);
        let list = merge::list(merge::together(&all.found), time.threads, estimated.is_some(), number);
        let waits = Waits {
            causes,
            of_collectives,
            of_messages,
            seconds: total(list.iter().map(|lost| lost.seconds)),
            list,
            seen_s,
            seen_share: part(seen_s, time.waiting),
            messages: messages_recorded,
            sampled,
            one_clock: hosts.have_one_clock(),
            clocks_error_s: hosts.error_ns().map(|ns| ns as f64 / 1e9),
            looks: all.looks,
            collectives,
            collectives_seen: seen,
            messages_received: messages.received,
            messages_seen: messages.seen,
            locks,
            locks_seen,
            estimated,
        };
        (waits, all.take_waiting())
    }

    /// Limits the waits to the time that ranks spent in calls, and returns the estimate for the whole run less what
    /// that excludes.
    fn limit(&mut self, estimated: Option<Estimated>, spent: Option<&SpentByRank>) -> Option<Estimated> {
        if estimated.is_none() {
            self.found.values_mut().for_each(|amount| amount.change(|waited| Waited::observed(waited.ns)));
        }
        let Some(spent) = spent else { return estimated };
        let within = Within::of(spent);
        let before_s = merge::estimated_s(&self.found);
        within.bound(&mut self.found);
        let after_s = merge::estimated_s(&self.found);
        estimated.map(|all| {
            let seconds = (all.seconds - (before_s - after_s)).min(within.total()).max(after_s);
            Estimated { seconds, ..all }
        })
    }

    /// Returns the estimate for the whole run, if only some of the collectives, messages or locks were observed;
    /// of each how many were, and how many there are.
    fn estimated(
        &self,
        collectives: (u64, u64),
        messages: (u64, u64),
        locks: (u64, u64),
    ) -> Option<Estimated> {
        let some = |(seen, all): (u64, u64)| seen > 0 && seen < all;
        let of_collectives = some(collectives) && !self.partly && !self.apart;
        (of_collectives || some(messages) || some(locks))
            .then(|| self.estimate.whole().and(self.of_messages.whole()).and(self.of_others))
    }

    /// Adds messages that were not followed: those still in the rings of both ends.
    fn rest(&mut self, joined: &Joined<'_>, calls: &Calls, hosts: &Hosts<'_>) -> Messages {
        let followed = |seen: &Observation| self.stream.knows(seen);
        let known: HashSet<ProcessIndex> =
            joined.processes().filter(|(.., seen)| followed(seen)).map(|(me, ..)| me).collect();
        let both = |ends: &Ends<'_>| known.contains(&ends.sender) && known.contains(&ends.receiver);
        let mut ends = joined.messages();
        ends.retain(|ends| !both(ends) || !hosts.are_on_one_host([&ends.sender, &ends.receiver]));
        let names = Names::of(joined, calls);
        let waits = messages::for_messages(&ends, calls, hosts);
        waits.iter().for_each(|wait| self.chains.waited(names.named(wait), 1.0));
        for Ends { sender, receiver, sent, received, .. } in &ends {
            let [from, to] = [sender, receiver].map(|who| names.name(*who));
            let meeting = Meeting::Message(from.clone(), to.clone());
            self.chains.met(sent.posted_ns.max(received.posted_ns), meeting, vec![from, to]);
        }
        let received =
            joined.processes().filter_map(|(.., seen)| Some(seen.ledger.as_ref()?.received.written));
        let sides = ends.iter().flat_map(|ends| [(ends.sender, ends.sent), (ends.receiver, ends.received)]);
        let calls = sides.flat_map(|(who, line)| line.calls().map(move |call| (who, call)));
        let inside =
            calls.map(|(who, call)| ((who, call.from_ns), call.until_ns.saturating_sub(call.from_ns)));
        let inside: HashMap<_, u64> = inside.collect();
        Messages {
            received: received.fold(0, u64::saturating_add),
            seen: self.stream.seen().saturating_add(ends.len() as u64),
            inside_ns: inside.into_values().fold(0, u64::saturating_add),
        }
    }

    /// Resolves places that were only recorded.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        let mut all = Amounts::new();
        for (mut key, mut amount) in std::mem::take(&mut self.found) {
            key.put_into_words(words);
            amount.put_into_words(words);
            merge::add(&mut all, key, amount);
        }
        self.found = all;
        self.samples.put_into_words(words);
        // Descriptions of what ranks did in the meantime are taken from these.
        self.before.values_mut().for_each(|own| calls::put_into_words(own, words));
        self.open_at_looks.put_into_words(words);
    }
}

/// Numbers of collectives or locks since the previous pass, and of those observed.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    new: u64,
    seen: u64,
}

impl Taken {
    /// Whether none was overwritten before it was observed.
    fn all(self) -> bool {
        self.seen >= self.new
    }

    /// Returns the factor by which to multiply the waits in those observed.
    fn factor(self) -> f64 {
        if self.seen == 0 { 1.0 } else { (self.new as f64 / self.seen as f64).max(1.0) }
    }
}

/// What is known of messages at the end.
struct Messages {
    received: u64,
    seen: u64,
    /// Nanoseconds in calls that were not followed.
    inside_ns: u64,
}

/// Returns the names of the worlds, in the order of their processes.
fn worlds<'a>(joined: &Joined<'a>) -> Vec<&'a str> {
    let mut worlds: Vec<&str> = Vec::new();
    for (_, _, _, seen) in joined.processes() {
        if !worlds.contains(&seen.world.as_str()) {
            worlds.push(&seen.world);
        }
    }
    worlds
}
