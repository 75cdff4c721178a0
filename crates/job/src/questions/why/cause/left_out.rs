//! A call that one rank has skipped, while the other ranks in the same collective made it.
//!
//! A rank that waits for a message from another one, which in turn waits for the first in a collective, looks
//! like any other ring: the message may follow after the collective, or never. The difference lies in what
//! the others did on their way to that collective: if most of them have been at a sending line more often,
//! that line is the call that was skipped. Ranks may play different parts, so a line this rank has never
//! reached counts only if the others have sent to just the waiting rank (a single other one with the tag that
//! is awaited), or if it is the only one of many that was not there.

use super::distance::{OTHER_SENDER, distance};
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{CommIndex, Message, MessageCalls, Need, Peer, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};
use crate::questions::why::{collectives, cycle};
use std::collections::BTreeMap;

/// Maximum number of stuck ranks, and of members of a collective, that are compared.
const MOST_COMPARED: usize = 256;

/// Number of other ranks from which a rank that never reached a line is considered an exception.
const MANY: usize = 3;
/// With at least this many ranks at a line, a message one of them sent there is no mistake. A message from a
/// single rank may be the very one that is waited for.
pub(super) const SEVERAL: usize = 2;

/// What is waited for, and which process must bring it about.
pub(super) struct Missing<'a> {
    pub(super) waits: ProcessIndex,
    pub(super) need: &'a Need,
    pub(super) by: ProcessIndex,
    pub(super) comm: CommIndex,
    /// Whether by sending it; otherwise by receiving it.
    pub(super) sends: bool,
}

/// Number of calls made by each process.
type Counts = Vec<(ProcessIndex, u64)>;

/// A line that a rank has executed less often than others.
struct Skipped<'a> {
    calls: &'a MessageCalls,
    /// How often it was there.
    count: u64,
    /// How often the others were.
    others: u64,
    by: Vec<ProcessIndex>,
    /// The communicator on which it made the call instead.
    elsewhere: Option<CommIndex>,
}

impl Case<'_> {
    /// The skipped call, if exactly one rank skipped one and at least `least` others made it.
    pub(super) fn left_out(&self, found: &Blocked, least: usize) -> Option<Reason> {
        let core = cycle::core(self.snapshot, found);
        let counts = |index: &ProcessIndex| core.get(*index as usize).copied().unwrap_or(false);
        let stuck = found.stuck().filter(counts).take(MOST_COMPARED);
        let mut all = stuck.flat_map(|waits| self.missing(waits)).filter_map(|one| {
            let skipped = self.skipped(&one).filter(|skipped| skipped.by.len() >= least)?;
            Some((one, skipped))
        });
        let (one, skipped) = all.next()?;
        if all.any(|(other, _)| other.by != one.by) || self.has_another_message(&one, &skipped) {
            return None;
        }
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let (kind, what) = match one.need {
            Need::Receiver(message) => {
                let sent = self.words.sent(self.recorded(one.waits, message));
                (Kind::MESSAGE_NEVER_RECEIVED, format!("rank {waits} sent {sent} that is never received"))
            }
            need => {
                let wanted = self.words.need(need);
                (Kind::MESSAGE_NEVER_SENT, format!("rank {waits} waits for {wanted} that was never sent"))
            }
        };
        let (function, place) = (&skipped.calls.function, &skipped.calls.place);
        let others = self.words.members(skipped.by.iter().copied());
        let (who, have) = (ranks(&others), verb(&others, "has", "have"));
        let compared = match (skipped.count, skipped.elsewhere) {
            (0, Some(on)) => format!(
                "rank {by} has called {function} at {place} on {}, but {who} on {}",
                self.words.comm(on),
                self.words.comm(skipped.calls.comm)
            ),
            (0, None) => format!("rank {by} has not called {function} at {place}, but {who} {have}"),
            (count, _) => format!(
                "rank {by} has called {function} at {place} {}, but {who} {}",
                times(count),
                times(skipped.others)
            ),
        };
        let verdict = format!("{what}: {compared}; rank {by} is {}", self.words.activity(one.by));
        let next = "look for the branch of the program in which that rank skips that call";
        let mut reason = Reason::new(kind, verdict, next).blaming(self.culprit(one.by));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    /// Whether the waiting process has just what it waits for, but from another process, which has not sent it at
    /// the line that was skipped.
    fn has_another_message(&self, missing: &Missing<'_>, skipped: &Skipped<'_>) -> bool {
        let Need::Message(receive) = missing.need else { return false };
        let left = self.pairs().left(missing.waits).iter();
        let mut left = left
            .filter(|(sender, message)| !skipped.by.contains(sender) && !self.pairs().is_matched(message));
        left.any(|sent| distance(receive, *sent) == Some(OTHER_SENDER))
    }

    /// Returns the messages a process needs from, or needs received by, another process.
    pub(super) fn missing(&self, waits: ProcessIndex) -> impl Iterator<Item = Missing<'_>> {
        let needs =
            self.process(waits).into_iter().flat_map(Process::calls).flat_map(|call| call.wait.needs());
        needs.filter_map(move |need| {
            let (by, comm, sends) = match need {
                Need::Message(receive) => {
                    let Peer::One(by) = receive.matches.from else { return None };
                    (by, receive.matches.comm, true)
                }
                Need::Receiver(message) => (message.to, message.comm, false),
                _ => return None,
            };
            (by != waits).then_some(Missing { waits, need, by, comm, sends })
        })
    }

    /// Returns the only line that others in the same collective have executed more often.
    fn skipped(&self, missing: &Missing<'_>) -> Option<Skipped<'_>> {
        let process = self.process(missing.by)?;
        let inside = collectives::open(process).next()?;
        let at = (inside.comm, inside.number);
        let there = |process: &Process| collectives::open(process).any(|one| (one.comm, one.number) == at);
        let others = (0..).zip(&self.snapshot.processes);
        let others = others.filter(|(index, _)| *index != missing.by && *index != missing.waits);
        let others: Vec<(ProcessIndex, &Process)> =
            others.filter(|(_, process)| there(process)).take(MOST_COMPARED).collect();
        let wanted = |calls: &&MessageCalls| {
            calls.comm == missing.comm && if missing.sends { calls.sends } else { calls.receives }
        };
        let mut lines: BTreeMap<(&str, &str), (&MessageCalls, Counts)> = BTreeMap::new();
        for (index, process) in &others {
            for calls in process.message_calls().filter(wanted) {
                let line = lines.entry((&calls.place, &calls.function)).or_insert((calls, Vec::new()));
                line.1.push((*index, calls.count));
            }
        }
        let mine = |calls: &MessageCalls| {
            process.message_calls().find(|own| is_same_line(own, calls)).map_or(0, |own| own.count)
        };
        let mut skipped = lines.into_values().filter_map(|(calls, been)| {
            let (often, by) = most_common(&been);
            let count = mine(calls);
            // A single other rank may play another part, unless it is just one ahead.
            let enough = by.len() * 2 > others.len() && (others.len() > 1 || often == count + 1);
            let partner = |index: &ProcessIndex| {
                self.exchanged_messages_with(*index, missing)
                    && (by.len() > 1 || self.exchanged_same_tag(*index, missing))
            };
            // It is the only one of many; the others may have sent to each other, but some of them to the
            // waiting rank.
            let odd = been.len() == others.len() && others.len() >= MANY && by.iter().any(partner);
            let same = |own: &&MessageCalls| {
                own.comm != calls.comm && (&own.place, &own.function) == (&calls.place, &calls.function)
            };
            // It has called it there more often than the others.
            let more = |own: &&MessageCalls| {
                others.iter().all(|(_, other)| {
                    other
                        .message_calls()
                        .find(|one| is_same_line(one, own))
                        .is_none_or(|one| one.count < own.count)
                })
            };
            let elsewhere = process.message_calls().filter(same).find(more).map(|own| own.comm);
            let alike = count > 0 || elsewhere.is_some() || by.iter().all(partner) || odd;
            let found = Skipped { calls, count, others: often, by, elsewhere };
            (enough && count < often && alike).then_some(found)
        });
        let one = skipped.next()?;
        skipped.next().is_none().then_some(one)
    }

    /// Whether the message that is missing has the tag of one that the process has sent or received.
    fn exchanged_same_tag(&self, index: ProcessIndex, missing: &Missing<'_>) -> bool {
        let (receiver, sender, tag) = match missing.need {
            Need::Message(receive) => (missing.waits, index, receive.matches.tag),
            Need::Receiver(message) => (index, missing.waits, Some(message.tag)),
            _ => return false,
        };
        tag.is_none_or(|tag| self.has_sent((sender, receiver), missing.comm, tag))
    }

    /// Whether a process has sent another one a message with this tag, whether or not that has received it.
    pub(super) fn has_sent(
        &self,
        (sender, receiver): (ProcessIndex, ProcessIndex),
        comm: CommIndex,
        tag: i32,
    ) -> bool {
        let is_it = |message: &Message| (message.to, message.comm, message.tag) == (receiver, comm, tag);
        self.process(receiver).is_some_and(|one| one.has_received(comm, sender, tag))
            || self.process(sender).is_some_and(|one| one.sent.iter().any(is_it))
    }

    /// Whether a process has sent to the rank that waits for a message, or received from the rank that waits
    /// for a receiver.
    fn exchanged_messages_with(&self, index: ProcessIndex, missing: &Missing<'_>) -> bool {
        let messaging = self.process(index).and_then(|process| process.messaging.as_ref());
        messaging.is_some_and(|known| {
            let partners = if missing.sends { &known.sent_to } else { &known.received_from };
            partners.iter().any(|(comm, with, _)| (*comm, *with) == (missing.comm, missing.waits))
        })
    }
}

/// Whether both count the calls of a function at a line on a communicator.
fn is_same_line(one: &MessageCalls, other: &MessageCalls) -> bool {
    (one.comm, &one.place, &one.function) == (other.comm, &other.place, &other.function)
}

/// Returns the most frequent count and the processes that have it.
fn most_common(been: &[(ProcessIndex, u64)]) -> (u64, Vec<ProcessIndex>) {
    let mut by_count: BTreeMap<u64, Vec<ProcessIndex>> = BTreeMap::new();
    for (index, count) in been {
        by_count.entry(*count).or_default().push(*index);
    }
    by_count.into_iter().max_by_key(|(_, by)| by.len()).unwrap_or_default()
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}
