//! Messages whose two ends do not fit, from the ledgers of both sides where they are recorded.
//!
//! Messages from one rank to another with the same tag on the same communicator do not overtake each other:
//! the first one sent goes to the receive posted first. If older entries have been overwritten, pairing
//! starts at the newest, which is right if everything was received, and goes back as long as both ends agree
//! on the number of bytes.

use super::{Slot, all_ranks, communicators::Communicators, unreceived};
use crate::observation::Observation;
use crate::observation::ledger::{Line, Ring};
use crate::questions::why::snapshot::{CommIndex, ProcessIndex};
use std::collections::{BTreeMap, HashMap};

/// The two ends of a message.
#[derive(Debug)]
pub struct Ends<'a> {
    /// The sending process.
    pub sender: ProcessIndex,
    /// The receiving process.
    pub receiver: ProcessIndex,
    /// The communicator.
    pub comm: CommIndex,
    /// The sender's record.
    pub sent: &'a Line,
    /// The receiver's record.
    pub received: &'a Line,
}

/// A message known only from the sender's end: it has not been received.
#[derive(Debug)]
pub struct Sent<'a> {
    /// The sending process.
    pub sender: ProcessIndex,
    /// The receiving process.
    pub receiver: ProcessIndex,
    /// Identity of the communicator.
    pub comm: u64,
    /// The sender's record.
    pub sent: &'a Line,
}

/// Sender, receiver, communicator, tag, whether it is partitioned.
type Way = (ProcessIndex, ProcessIndex, u64, i32, bool);

/// The lines of one route, and whether older ones were overwritten.
#[derive(Default)]
struct End<'a> {
    lines: Vec<&'a Line>,
    wrapped: bool,
}

type Ways<'a> = BTreeMap<Way, (End<'a>, End<'a>)>;

/// Returns all messages whose type signatures differ.
#[must_use]
pub fn differing(observations: &[Observation]) -> Vec<Ends<'_>> {
    let (slots, communicators) = all_ranks(observations);
    let mut ends = paired(&slots, &communicators);
    ends.retain(|ends| differ(ends.sent, ends.received));
    ends
}

/// Returns all messages of which both ends are known.
#[must_use]
pub(super) fn paired<'a>(slots: &[Slot<'a>], communicators: &Communicators) -> Vec<Ends<'a>> {
    let mut found = Vec::new();
    for ((sender, receiver, comm, ..), (sent, received)) in ways(slots, communicators) {
        let Some(index) = communicators.index(comm) else { continue };
        let all = || everything_arrived(slots, communicators, (sender, receiver, comm));
        let pairs = pairs(&sent, &received, all).into_iter();
        found.extend(pairs.map(|(sent, received)| Ends { sender, receiver, comm: index, sent, received }));
    }
    found
}

/// Returns all messages not received, where everything sent and received is known.
#[must_use]
pub(super) fn unreceived<'a>(slots: &[Slot<'a>], communicators: &Communicators) -> Vec<Sent<'a>> {
    let keeps_a_ledger = |process: ProcessIndex| {
        slots.get(process as usize).is_some_and(|(.., seen)| seen.is_some_and(|seen| seen.ledger.is_some()))
    };
    let mut found = Vec::new();
    for ((sender, receiver, comm, ..), (sent, received)) in ways(slots, communicators) {
        if !sent.wrapped && !received.wrapped && keeps_a_ledger(receiver) {
            let left = sent.lines.into_iter().skip(received.lines.len());
            found.extend(left.map(|sent| Sent { sender, receiver, comm, sent }));
        }
    }
    found
}

fn ways<'a>(slots: &[Slot<'a>], communicators: &Communicators) -> Ways<'a> {
    let mut ways = Ways::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some((seen, ledger)) = seen.and_then(|seen| Some((seen, seen.ledger.as_ref()?))) else {
            continue;
        };
        let partner = |line: &Line| communicators.partner(me, seen, line.comm, line.peer);
        for (way, line, wrapped) in by_way(&ledger.sent, |line| Some((me, partner(line)?))) {
            ways.entry(way).or_default().0.add(line, wrapped);
        }
        for (way, line, wrapped) in by_way(&ledger.received, |line| Some((partner(line)?, me))) {
            ways.entry(way).or_default().1.add(line, wrapped);
        }
    }
    ways
}

impl<'a> End<'a> {
    fn add(&mut self, line: &'a Line, wrapped: bool) {
        self.lines.push(line);
        self.wrapped |= wrapped;
    }
}

/// Returns the lines of a ring, each with its route and whether that route's first messages are missing
/// because they were overwritten or precede the ledger.
fn by_way(
    ring: &Ring,
    between: impl Fn(&Line) -> Option<(ProcessIndex, ProcessIndex)>,
) -> impl Iterator<Item = (Way, &Line, bool)> {
    let mut first: HashMap<(u64, u32), u32> = HashMap::new();
    for line in &ring.lines {
        let first = first.entry((line.comm, line.peer)).or_insert(line.nth);
        *first = line.nth.min(*first);
    }
    ring.lines.iter().filter_map(move |line| {
        let (sender, receiver) = between(line)?;
        let wrapped = ring.wrapped || first.get(&(line.comm, line.peer)) != Some(&1);
        Some(((sender, receiver, line.comm, line.tag, line.partitioned), line, wrapped))
    })
}

/// Whether everything the route's sender has sent on its communicator has been received.
fn everything_arrived(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (sender, receiver, comm): (ProcessIndex, ProcessIndex, u64),
) -> bool {
    let Some((_, _, Some(seen))) = slots.get(sender as usize) else { return false };
    unreceived::partners(slots, communicators, sender, seen)
        .filter(|(known, _, to, _)| known.identity == comm && *to == receiver)
        .all(|(known, peer, _, other)| peer.sent == unreceived::taken(other, known).received)
}

fn pairs<'a>(
    sent: &End<'a>,
    received: &End<'a>,
    everything_arrived: impl Fn() -> bool,
) -> Vec<(&'a Line, &'a Line)> {
    let (there, here) = (sent.lines.iter().copied(), received.lines.iter().copied());
    if !sent.wrapped && !received.wrapped {
        return there.zip(here).collect();
    }
    let in_turn = received.lines.is_sorted_by_key(|line| line.nth);
    if !in_turn || !everything_arrived() {
        return Vec::new();
    }
    there.rev().zip(here.rev()).take_while(|(sent, received)| sent.bytes == received.bytes).collect()
}

/// Whether the ends of a message specified different elements. Unknown ones agree with everything.
fn differ(sent: &Line, received: &Line) -> bool {
    // A failed receive did not take the whole message.
    if received.failed {
        return false;
    }
    let whole = |line: &Line| line.named.signature.and_then(|of_type| of_type.repeated(line.named.count));
    let (Some(sent), Some(of_type)) = (whole(sent), received.named.signature) else { return false };
    let fits = of_type.elements() != 0 && sent.elements().is_multiple_of(of_type.elements());
    let times = sent.elements().checked_div(of_type.elements()).filter(|_| fits);
    let read = times.and_then(|times| of_type.repeated(times));
    read.is_some_and(|read| (read.stored(), read.elements()) != (sent.stored(), sent.elements()))
}
