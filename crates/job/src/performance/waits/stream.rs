//! Messages of a whole run, from many passes: each is paired once, by its number.
//!
//! ```text
//! new lines ──► queue of each way (sender, receiver, communicator, tag) ──► pairs ──► calls with their longest wait
//! ```
//!
//! The first message sent goes to the receive posted first. A receive is paired one pass after the one that
//! found it, so that receives posted earlier but completed later come before it. If lines were overwritten
//! between two passes, numbers counted by both ends tell which lines belong together from there on.
//!
//! A call is reported two passes after the last of its messages: it may complete several, and waits for the
//! one that came last.

use super::Wait;
use super::alike::Who;
use super::messages::{of_message, receives};
use super::named::{NamedWait, Names};
use crate::observation::Observation;
use crate::observation::ledger::Line;
use crate::questions::why::Hosts;
use crate::questions::why::{Ends, Joined, ProcessIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Maximum number of lines waiting for their other end.
const MOST: usize = 1 << 18;
/// Number of passes from the last message of a call until the call is reported.
const SETTLED: u64 = 2;
/// Number of passes from the one that finds a message, which is paired in the next, until its calls are
/// reported.
pub const LATER: usize = SETTLED as usize + 1;
/// Number of passes after which a call is forgotten. A message whose other end turns up that late is not one
/// it waited for.
const FORGOTTEN: u64 = 64;

/// Number of passes after which a process not found is assumed to be on another host, and the maximum number
/// of lines waiting for that.
const FOUND: u64 = 16;
const MOST_ALONE: usize = 1 << 14;

/// A process, across all passes.
type Id = usize;

/// A message: sender, receiver, and their records of it.
type Matched = (Id, Id, Line, Line);

/// Sender, receiver, communicator.
type Pair = (Id, Id, u64);

/// The messages observed so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stream {
    /// Host and process id of the processes, once nothing follows.
    followed: HashSet<(String, u32)>,
    /// Number of messages of which both ends were observed.
    seen: u64,
    #[serde(skip)]
    open: Open,
}

/// What is not settled yet.
#[derive(Debug, Clone, Default)]
struct Open {
    looks: u64,
    ids: HashMap<(String, u32), Id>,
    /// How far the rings of each process have been read: sent, received.
    taken: HashMap<Id, (u64, u64)>,
    pairs: HashMap<Pair, Counted>,
    /// By pair, tag, and whether it is partitioned.
    ways: BTreeMap<(Pair, i32, bool), Queue>,
    /// Lines of processes whose partner has not been observed yet, as processes may be found at different
    /// times; with whether they are sends and the pass that found them.
    alone: Vec<(Id, Line, bool, u64)>,
    /// Incomplete sends whose receive is known, by sender and position.
    unfinished: HashMap<(Id, u64), (Id, Line, Line)>,
    /// By process and start time.
    calls: BTreeMap<(Id, u64), Call>,
    /// The last pass that found a gap.
    gap: Option<u64>,
}

/// The expected numbers of the next message between two processes.
#[derive(Debug, Clone, Copy)]
struct Counted {
    sent: u32,
    received: u32,
    gap: bool,
}

#[derive(Debug, Clone, Default)]
struct Queue {
    sent: VecDeque<Line>,
    /// With the pass that found it.
    received: VecDeque<(Line, u64)>,
}

/// A call that completed messages of which both ends are known.
#[derive(Debug, Clone)]
struct Call {
    until_ns: u64,
    /// The waits for the message that came last, one after the other.
    waits: Vec<NamedWait>,
    /// When they ended, and whether they were for a message to arrive.
    waited_until: (u64, bool),
    /// Whether a message received later had already arrived.
    wrong_order: bool,
    /// The last pass that found one of its messages.
    look: u64,
    reported: bool,
}

/// What is known of calls that have been over for a while.
#[derive(Default)]
pub struct Settled {
    /// Their waits; for each call those for the message that came last.
    pub waits: Vec<NamedWait>,
    /// Nanoseconds spent in them.
    pub inside_ns: u64,
    /// Whether none of their messages are missing.
    pub all: bool,
    /// For each message just paired: when both ends were there, sender, and receiver.
    pub met: Vec<(u64, Who, Who)>,
}

impl Stream {
    /// Returns whether the messages of this process were followed.
    pub fn knows(&self, seen: &Observation) -> bool {
        self.followed.contains(&(seen.host.clone(), seen.pid))
    }

    /// Returns the number of messages of which both ends were observed.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Forgets everything except which processes were followed, and the number of messages.
    pub fn close(&mut self) {
        self.followed.extend(std::mem::take(&mut self.open).ids.into_keys());
    }

    /// Adds what was observed on another host.
    pub fn take_in(&mut self, other: Self) {
        self.followed.extend(other.followed);
        self.seen = self.seen.saturating_add(other.seen);
    }

    /// Adds a pass. Nothing follows the last one, so everything is paired and all calls are reported.
    pub fn look(&mut self, joined: &Joined<'_>, hosts: &Hosts<'_>, names: &Names<'_>, last: bool) -> Settled {
        let (settled, seen) = self.open.look(joined, hosts, names, last);
        self.seen = self.seen.saturating_add(seen);
        settled
    }
}

impl Open {
    fn look(
        &mut self,
        joined: &Joined<'_>,
        hosts: &Hosts<'_>,
        names: &Names<'_>,
        last: bool,
    ) -> (Settled, u64) {
        self.looks += 1;
        let ids = self.identified(joined);
        let mut found = self.lines(joined, hosts, &ids);
        let ended = found.len();
        found.extend(self.pair(last));
        let indexes: HashMap<Id, ProcessIndex> = ids.iter().map(|(me, id)| (*id, *me)).collect();
        self.waited(&found, &indexes, names);
        let met = found.iter().filter_map(|(sender, receiver, sent, received)| {
            let [from, to] = [indexes.get(sender)?, indexes.get(receiver)?].map(|who| names.name(*who));
            Some((sent.posted_ns.max(received.posted_ns), from, to))
        });
        let met = met.collect();
        (Settled { met, ..self.settle(last) }, (found.len() - ended) as u64)
    }

    /// Returns the processes' numbers in all passes; new ones get the next.
    fn identified(&mut self, joined: &Joined<'_>) -> HashMap<ProcessIndex, Id> {
        // Includes processes without a ledger: it is created with the first message, which may be on its way.
        let number = |(me, _, _, seen): (ProcessIndex, _, _, &Observation)| {
            let next = self.ids.len();
            (me, *self.ids.entry((seen.host.clone(), seen.pid)).or_insert(next))
        };
        joined.processes().map(number).collect()
    }

    /// Adds the lines of all ledgers, and those of earlier passes whose partner was unknown; returns the
    /// messages already paired that they complete.
    fn lines(
        &mut self,
        joined: &Joined<'_>,
        hosts: &Hosts<'_>,
        ids: &HashMap<ProcessIndex, Id>,
    ) -> Vec<Matched> {
        let mut found = Vec::new();
        let mut before: HashMap<Id, Vec<(Line, bool, u64)>> = HashMap::new();
        for (id, line, sent, look) in std::mem::take(&mut self.alone) {
            before.entry(id).or_default().push((line, sent, look));
        }
        for (me, _, _, seen) in joined.processes() {
            let Some(id) = ids.get(&me) else { continue };
            let mut partners: HashMap<(u64, u32), Option<Id>> = HashMap::new();
            let mut partner = |line: &Line| {
                *partners.entry((line.comm, line.peer)).or_insert_with(|| {
                    let other = joined.partner(me, line.comm, line.peer)?;
                    ids.get(&other).filter(|_| hosts.are_on_one_host([&me, &other])).copied()
                })
            };
            for (line, sent, look) in before.remove(id).unwrap_or_default() {
                self.join(*id, line, sent, look, &mut partner);
            }
            let Some(ledger) = &seen.ledger else { continue };
            for line in &ledger.sent.lines {
                found.extend(self.sent(*id, line, &mut partner));
            }
            for line in &ledger.received.lines {
                self.received(*id, line, &mut partner);
            }
        }
        let rest =
            before.into_iter().flat_map(|(id, lines)| lines.into_iter().map(move |(a, b, c)| (id, a, b, c)));
        self.alone.extend(rest);
        found
    }

    /// Adds the waits for messages of which both ends are known.
    fn waited(&mut self, found: &[Matched], indexes: &HashMap<Id, ProcessIndex>, names: &Names<'_>) {
        // All calls first: a message may overtake others from any sender and with any tag.
        for (sender, receiver, sent, received) in found {
            if indexes.contains_key(sender) && indexes.contains_key(receiver) {
                self.completed(*sender, sent);
                self.completed(*receiver, received);
            }
        }
        for (sender, receiver, sent, received) in found {
            let (Some(from), Some(to)) = (indexes.get(sender), indexes.get(receiver)) else { continue };
            let ends = Ends { sender: *from, receiver: *to, comm: 0, sent, received };
            self.overtaken(&ends, *receiver);
            let [in_probe, of_receiver, of_sender] = of_message(&ends);
            self.record(*receiver, &in_probe, names);
            self.record(*receiver, &of_receiver, names);
            self.record(*sender, &of_sender, names);
        }
    }

    /// Adds a line of a sent message; returns the message if this completes one already paired.
    fn sent(&mut self, me: Id, line: &Line, partner: &mut dyn FnMut(&Line) -> Option<Id>) -> Option<Matched> {
        let taken = self.taken.entry(me).or_default();
        if line.place >= taken.0 {
            taken.0 = line.place + 1;
            self.join(me, line.clone(), true, self.looks, partner);
            return None;
        }
        line.waited.as_ref()?;
        if let Some((to, _, received)) = self.unfinished.remove(&(me, line.place)) {
            return Some((me, to, line.clone(), received));
        }
        let to = partner(line)?;
        let queue = self.ways.get_mut(&((me, to, line.comm), line.tag, line.partitioned))?;
        let at = queue.sent.binary_search_by_key(&line.place, |known| known.place).ok()?;
        let known = queue.sent.get_mut(at).filter(|known| known.waited.is_none())?;
        known.waited.clone_from(&line.waited);
        None
    }

    fn received(&mut self, me: Id, line: &Line, partner: &mut dyn FnMut(&Line) -> Option<Id>) {
        let taken = self.taken.entry(me).or_default();
        if line.place < taken.1 {
            return;
        }
        taken.1 = line.place + 1;
        self.join(me, line.clone(), false, self.looks, partner);
    }

    /// Queues a line found for the first time where its other end will turn up.
    fn join(
        &mut self,
        me: Id,
        line: Line,
        sent: bool,
        look: u64,
        partner: &mut dyn FnMut(&Line) -> Option<Id>,
    ) {
        let Some(other) = partner(&line) else {
            if look + FOUND > self.looks && self.alone.len() < MOST_ALONE {
                self.alone.push((me, line, sent, look));
            }
            return;
        };
        if sent {
            let pair = (me, other, line.comm);
            self.count(pair, |counted| &mut counted.sent, line.nth);
            self.way(pair, &line).sent.push_back(line);
            return;
        }
        let (now, pair) = (self.looks, (other, me, line.comm));
        self.count(pair, |counted| &mut counted.received, line.nth);
        let queue = &mut self.way(pair, &line).received;
        let at = queue.partition_point(|(known, _)| known.order <= line.order);
        queue.insert(at, (line, now));
    }

    fn way(&mut self, pair: Pair, line: &Line) -> &mut Queue {
        self.ways.entry((pair, line.tag, line.partitioned)).or_default()
    }

    /// Checks whether lines are missing.
    fn count(&mut self, pair: Pair, side: impl Fn(&mut Counted) -> &mut u32, nth: u32) {
        let known = self.pairs.entry(pair).or_insert(Counted { sent: 1, received: 1, gap: false });
        if std::mem::replace(side(known), nth.wrapping_add(1)) != nth {
            known.gap = true;
            self.gap = Some(self.looks);
        }
    }

    /// Adds the calls in which a message was waited for.
    fn completed(&mut self, me: Id, line: &Line) {
        for waited in line.calls() {
            let new = Call {
                until_ns: waited.until_ns,
                waits: Vec::new(),
                waited_until: (0, false),
                wrong_order: false,
                look: self.looks,
                reported: false,
            };
            self.calls.entry((me, waited.from_ns)).or_insert(new).look = self.looks;
        }
    }

    /// Marks calls that waited for a late sender although this message, received later, had already arrived:
    /// they waited in the wrong order.
    fn overtaken(&mut self, ends: &Ends<'_>, receiver: Id) {
        let there = (receiver, ends.sent.posted_ns.saturating_add(1))..(receiver, ends.received.posted_ns);
        if there.start >= there.end {
            return;
        }
        for (_, call) in self.calls.range_mut(there) {
            if call.until_ns <= ends.received.posted_ns {
                call.wrong_order = true;
            }
        }
    }

    /// Returns messages of which both ends are there.
    fn pair(&mut self, last: bool) -> Vec<Matched> {
        let Self { ways, pairs, looks, unfinished, .. } = self;
        let mut found = Vec::new();
        let mut waiting = 0;
        for ((pair, ..), queue) in ways.iter_mut() {
            let gap = pairs.get(pair).is_some_and(|counted| counted.gap);
            while let Some((sent, received)) = queue.next(gap, |look| last || look < *looks) {
                if sent.waited.is_none() && unfinished.len() < MOST {
                    let ends = (pair.1, sent.clone(), received.clone());
                    unfinished.insert((pair.0, sent.place), ends);
                }
                found.push((pair.0, pair.1, sent, received));
            }
            waiting += queue.sent.len() + queue.received.len();
        }
        if waiting > MOST {
            ways.clear();
            pairs.values_mut().for_each(|counted| counted.gap = true);
        } else {
            ways.retain(|_, queue| !queue.sent.is_empty() || !queue.received.is_empty());
        }
        found
    }

    /// Records the waits of one end for a message, one after the other: a call that completes several waits
    /// for the one that came last.
    fn record(&mut self, who: Id, waits: &[Wait], names: &Names<'_>) {
        let Some(last) = waits.last() else { return };
        let Some(call) = self.calls.get_mut(&(who, last.in_call)) else { return };
        let until_ns = last.span.until.min(call.until_ns);
        let until = (until_ns, receives(last));
        if until_ns == 0 || until <= call.waited_until {
            return;
        }
        call.waited_until = until;
        let named = waits.iter().map(|wait| NamedWait {
            ns: wait.span.until.min(call.until_ns).saturating_sub(wait.span.from),
            ..names.named(wait)
        });
        call.waits = named.filter(|named| named.ns > 0).collect();
    }

    fn settle(&mut self, last: bool) -> Settled {
        let (looks, mut settled) = (self.looks, Settled::default());
        self.calls.retain(|(_, from_ns), call| {
            if !call.reported && (last || call.look + SETTLED <= looks) {
                call.reported = true;
                let inside_ns = call.until_ns.saturating_sub(*from_ns);
                settled.inside_ns = settled.inside_ns.saturating_add(inside_ns);
                let waits = call.waits.iter().cloned();
                settled.waits.extend(waits.map(|named| named.in_order(!call.wrong_order)));
            }
            call.look + FORGOTTEN > looks
        });
        settled.all = self.gap.is_none_or(|gap| gap + SETTLED + 1 < looks);
        settled
    }
}

impl Queue {
    /// Returns the next message of which both ends are there, if the receive is `settled`. After a gap, the
    /// numbers of both ends tell which lines belong together; lines whose other end is missing are dropped.
    fn next(&mut self, gap: bool, settled: impl Fn(u64) -> bool) -> Option<(Line, Line)> {
        if gap && !self.received.iter().is_sorted_by_key(|(line, _)| line.nth) {
            self.received.make_contiguous().sort_by_key(|(line, _)| line.nth);
        }
        loop {
            let (sent, (received, look)) = (self.sent.front()?, self.received.front()?);
            if !settled(*look) {
                return None;
            }
            // Modulo 2^32.
            let apart = sent.nth.wrapping_sub(received.nth).cast_signed();
            if !gap || apart == 0 {
                return Some((self.sent.pop_front()?, self.received.pop_front()?.0));
            }
            if apart < 0 { _ = self.sent.pop_front() } else { _ = self.received.pop_front() }
        }
    }
}
