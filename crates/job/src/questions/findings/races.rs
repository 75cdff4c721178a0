//! Receives from any rank that could as well have taken the message of another one.
//!
//! A message was sent before the program could know that the receive was complete, and was received later, by another receive: nothing
//! but the time it took has decided which of them came first. That is no mistake where the order does not matter.

use super::{Finding, Kind, MOST};
use crate::observation::Observation;
use crate::observation::ledger::Line;
use crate::questions::why::{Ends, Joined, ProcessIndex, Words};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{BTreeMap, HashMap};

/// The earliest messages of two senders.
#[derive(Default, Clone, Copy)]
struct Earliest<'e, 'a>([Option<&'e Ends<'a>>; 2]);

impl<'e, 'a> Earliest<'e, 'a> {
    fn add(&mut self, ends: &'e Ends<'a>) {
        let mut all = self.0.to_vec();
        all.push(Some(ends));
        let mut all: Vec<&Ends<'_>> = all.into_iter().flatten().collect();
        all.sort_by_key(|ends| ends.sent.posted_ns);
        let first = all.first().copied();
        let second = all.iter().copied().find(|one| first.is_some_and(|first| first.sender != one.sender));
        self.0 = [first, second];
    }

    /// The earliest of another sender.
    fn other(&self, than: ProcessIndex) -> Option<&'e Ends<'a>> {
        self.0.iter().flatten().copied().find(|ends| ends.sender != than)
    }
}

/// The receives, each line once.
pub fn wildcards(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    let joined = Joined::of(observations);
    let hosts: HashMap<ProcessIndex, &str> =
        joined.processes().map(|(me, .., seen)| (me, seen.host.as_str())).collect();
    // Times of one host are those of one clock.
    let here = |ends: &&Ends<'_>| hosts.get(&ends.sender) == hosts.get(&ends.receiver);
    let messages = joined.messages();
    let mut queues: BTreeMap<(ProcessIndex, u64), Vec<&Ends<'_>>> = BTreeMap::new();
    for ends in messages.iter().filter(here).filter(|ends| !ends.received.partitioned) {
        queues.entry((ends.receiver, ends.received.comm)).or_default().push(ends);
    }
    let mut found: BTreeMap<_, (u64, &Ends<'_>, &Ends<'_>)> = BTreeMap::new();
    for ((receiver, _), mut queue) in queues {
        // Those that were received later come first.
        queue.sort_by_key(|ends| std::cmp::Reverse(ends.received.order));
        let (mut any, mut by_tag) = (Earliest::default(), HashMap::<i32, Earliest<'_, '_>>::new());
        for ends in queue {
            let later = match ends.received.is(EntryFlag::ANY_TAG) {
                true => Some(any),
                false => by_tag.get(&ends.received.tag).copied(),
            };
            let other = later.and_then(|later| later.other(ends.sender));
            let wild = ends.received.is(EntryFlag::ANY_SOURCE);
            if let Some(other) = other.filter(|other| wild && other.sent.posted_ns < decided(ends)) {
                let line = (receiver, &ends.received.named.place);
                found.entry(line).or_insert((0, ends, other)).0 += 1;
            }
            any.add(ends);
            by_tag.entry(ends.received.tag).or_default().add(ends);
        }
    }
    found.into_values().take(MOST).map(|(times, taken, other)| finding(times, taken, other, words)).collect()
}

/// When somebody could know at the earliest that a receive had taken its message.
fn decided(ends: &Ends<'_>) -> u64 {
    let end = |line: &Line| line.waited.as_ref().map_or(u64::MAX, |call| call.until_ns);
    let sender = if ends.sent.is(EntryFlag::SYNCHRONOUS) { end(ends.sent) } else { u64::MAX };
    end(ends.received).min(sender)
}

fn finding(times: u64, taken: &Ends<'_>, other: &Ends<'_>, words: &Words<'_>) -> Finding {
    let at = |line: &Line| line.named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
    Finding {
        kind: Kind::MESSAGE_RACE,
        ranks: words.members([taken.receiver]),
        line: taken.received.named.place.clone(),
        sentence: format!(
            "which message comes first is not settled: rank {} received from any rank{} what rank {} sent{}, and could have \
             received what rank {} had sent{}{times}",
            words.rank(taken.receiver),
            at(taken.received),
            words.rank(taken.sender),
            at(taken.sent),
            words.rank(other.sender),
            at(other.sent),
        ),
    }
}
