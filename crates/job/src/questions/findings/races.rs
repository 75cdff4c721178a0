//! Receives from any source that might just as well have taken a message from another sender.
//!
//! A message was sent before the program could know that the receive was complete, or by a rank that had learned
//! nothing from others since then, and was received later by another receive, or not at all: only timing decided
//! which message came first. That is not an error if the order does not matter.

use super::alike::Alike;
use super::learned::{Incoming, LastEntries};
use super::{Finding, Kind};
use crate::observation::Observation;
use crate::observation::ledger::Line;
use crate::questions::why::{Ends, Joined, ProcessIndex, Words};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{BTreeMap, HashMap};

/// A message and its sender.
#[derive(Clone, Copy)]
struct From<'a> {
    sender: ProcessIndex,
    sent: &'a Line,
}

/// The earliest messages of two different senders.
#[derive(Default, Clone, Copy)]
struct Earliest<'a>([Option<From<'a>>; 2]);

impl<'a> Earliest<'a> {
    fn add(&mut self, message: From<'a>) {
        let [first, second] = self.0;
        let mut all: Vec<From<'_>> = [first, second, Some(message)].into_iter().flatten().collect();
        all.sort_by_key(|message| message.sent.posted_ns);
        let first = all.first().copied();
        let second = all.iter().copied().find(|one| first.is_some_and(|first| first.sender != one.sender));
        self.0 = [first, second];
    }

    /// Returns the earliest message from a different sender.
    fn other(&self, than: ProcessIndex) -> Option<From<'a>> {
        self.0.iter().flatten().copied().find(|message| message.sender != than)
    }
}

/// What a process received on a communicator, and what else was sent to it there.
#[derive(Default)]
struct Queue<'e, 'a> {
    received: Vec<&'e Ends<'a>>,
    any: Earliest<'a>,
    by_tag: HashMap<i32, Earliest<'a>>,
}

impl<'a> Queue<'_, 'a> {
    /// Adds a message received after the receive under consideration, or never.
    fn add(&mut self, message: From<'a>) {
        self.any.add(message);
        self.by_tag.entry(message.sent.tag).or_default().add(message);
    }

    /// Returns the earliest message from another sender that matches too.
    fn rival(&self, ends: &Ends<'_>) -> Option<From<'a>> {
        let later = match ends.received.is(EntryFlag::ANY_TAG) {
            true => Some(&self.any),
            false => self.by_tag.get(&ends.received.tag),
        };
        later?.other(ends.sender)
    }
}

/// Returns the racing receives, one finding per line.
pub fn wildcards(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    let joined = Joined::of(observations);
    let hosts: HashMap<ProcessIndex, &str> =
        joined.processes().map(|(me, .., seen)| (me, seen.host.as_str())).collect();
    // Times on one host come from one clock.
    let together = |one: ProcessIndex, other: ProcessIndex| hosts.get(&one) == hosts.get(&other);
    let messages = joined.messages();
    if !messages.iter().any(|ends| ends.received.is(EntryFlag::ANY_SOURCE)) {
        return Vec::new();
    }
    let entries = LastEntries::of(observations.iter());
    let incoming: HashMap<ProcessIndex, Incoming> =
        joined.processes().filter_map(|(me, .., seen)| Some((me, Incoming::of(seen, &entries)?))).collect();
    let unaware = |rival: &From<'_>, of_ns: u64| {
        let sender = incoming.get(&rival.sender);
        sender.is_some_and(|sender| sender.nothing_between(of_ns, rival.sent.posted_ns))
    };
    let mut queues: BTreeMap<(ProcessIndex, u64), Queue<'_, '_>> = BTreeMap::new();
    for ends in messages.iter().filter(|ends| together(ends.sender, ends.receiver)) {
        if !ends.received.partitioned {
            queues.entry((ends.receiver, ends.received.comm)).or_default().received.push(ends);
        }
    }
    for left in joined.unreceived() {
        if let Some(queue) = queues.get_mut(&(left.receiver, left.comm)).filter(|_| !left.sent.partitioned)
            && together(left.sender, left.receiver)
        {
            queue.add(From { sender: left.sender, sent: left.sent });
        }
    }
    let mut found = Alike::new();
    for ((receiver, _), mut queue) in queues {
        let mut received = std::mem::take(&mut queue.received);
        // Latest receives first.
        received.sort_by_key(|ends| std::cmp::Reverse(ends.received.order));
        for ends in received {
            let wild = ends.received.is(EntryFlag::ANY_SOURCE);
            let races = |rival: &From<'_>| {
                let decided = decided(ends);
                rival.sent.posted_ns < decided || unaware(rival, decided)
            };
            let rival = if wild { queue.rival(ends).filter(races) } else { None };
            if let Some(rival) = rival {
                let line = ends.received.named.place.as_deref();
                found.add(line, words.members([receiver]), 1, || said(ends, rival, words));
            }
            queue.add(From { sender: ends.sender, sent: ends.sent });
        }
    }
    found.described(
        Kind::MESSAGE_RACE,
        |line| *line,
        |ranks, said| {
            let harmless = "a race, harmless if the order of the messages does not matter";
            match ranks.len() {
                1 => format!("{harmless}: {said}"),
                _ => format!("{harmless}, on {}: for example, {said}", ranks.named()),
            }
        },
    )
}

/// The earliest time at which a process could know that a receive had taken its message.
fn decided(ends: &Ends<'_>) -> u64 {
    let end = |line: &Line| line.waited.as_ref().map_or(u64::MAX, |call| call.until_ns);
    let sender = if ends.sent.is(EntryFlag::SYNCHRONOUS) { end(ends.sent) } else { u64::MAX };
    end(ends.received).min(sender)
}

/// Describes one of the receives.
fn said(taken: &Ends<'_>, other: From<'_>, words: &Words<'_>) -> String {
    let at = |line: &Line| line.named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    format!(
        "rank {} received from any rank{} what rank {} sent{}, but could have received what rank {} had sent{}",
        words.rank(taken.receiver),
        at(taken.received),
        words.rank(taken.sender),
        at(taken.sent),
        words.rank(other.sender),
        at(other.sent),
    )
}
