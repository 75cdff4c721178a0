//! Messages whose two ends do not fit, from the ledgers of both sides where they are recorded.
//!
//! Messages from one rank to another with the same tag on the same communicator do not overtake each other:
//! the first one sent goes to the receive posted first. If older entries have been overwritten, pairing
//! starts at the newest, which is right if everything was received, and goes back as long as both ends agree
//! on the number of bytes.
//!
//! A receive that the library did not report, as `MPI_Isendrecv` in MPICH, takes its turn if it specified source and
//! tag. Otherwise, and if it is unknown whether a message arrives, nothing on its route is paired. So does a
//! receive that is still incomplete, or that the program never completes, if a later one on its route is
//! complete: the first message went to it.

use super::{Slot, all_ranks, communicators::Communicators, unreceived};
use crate::observation::ledger::{Ledger, Line, Ring};
use crate::observation::{Observation, Receive};
use crate::questions::why::snapshot::{CommIndex, ProcessIndex};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Takes the turn of a receive that is not complete: which message it got is unknown.
static INCOMPLETE: LazyLock<Line> = LazyLock::new(|| Line { flags: EntryFlag::UNTOLD.0, ..Line::default() });

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
    /// Whether it is unknown which lines these are.
    unknown: bool,
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
        let pairs = pairs.filter(|(_, received)| !received.is(EntryFlag::UNTOLD));
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
        let known = !sent.wrapped && !received.wrapped && !sent.unknown && !received.unknown;
        if known && keeps_a_ledger(receiver) {
            let left = sent.lines.into_iter().skip(received.lines.len());
            found.extend(left.map(|sent| Sent { sender, receiver, comm, sent }));
        }
    }
    found
}

fn ways<'a>(slots: &[Slot<'a>], communicators: &Communicators) -> Ways<'a> {
    let mut ways = Ways::new();
    let kept = (0..).zip(slots).filter_map(|(me, (_, _, seen))| {
        let seen = (*seen)?;
        Some((me, seen, seen.ledger.as_deref()?))
    });
    for (me, seen, ledger) in kept.clone() {
        let partner = |line: &Line| communicators.partner(me, seen, line.comm, line.peer);
        for (way, line, wrapped) in by_way(&ledger.sent, |line| Some((me, partner(line)?))) {
            ways.entry(way).or_default().0.add(line, wrapped);
        }
        for (way, line, wrapped) in by_way(&ledger.received, |line| Some((partner(line)?, me))) {
            ways.entry(way).or_default().1.add(line, wrapped);
        }
    }
    for (me, seen, ledger) in kept {
        untold(&mut ways, me, ledger, |line| communicators.partner(me, seen, line.comm, line.peer));
        incomplete(&mut ways, me, &seen.posted, |comm, rank| communicators.partner(me, seen, comm, rank));
    }
    ways
}

/// Marks the turns of receives that are not complete although later ones are.
fn incomplete(
    ways: &mut Ways<'_>,
    me: ProcessIndex,
    posted: &[Receive],
    partner: impl Fn(u64, u32) -> Option<ProcessIndex>,
) {
    for receive in posted {
        let from = receive.from.map(|rank| partner(receive.comm, rank));
        let known = receive.from.is_some() && receive.tag.is_some();
        let routes = ways.iter_mut().filter(|((sender, to, comm, tag, partitioned), _)| {
            (*to, *comm, *partitioned) == (me, receive.comm, false)
                && receive.tag.is_none_or(|wanted| wanted == *tag)
                && from.is_none_or(|from| from == Some(*sender))
        });
        for (_, (_, received)) in routes {
            let later =
                |line: &&Line| !std::ptr::eq(*line, &raw const *INCOMPLETE) && line.order > receive.order;
            match received.lines.iter().position(later) {
                Some(at) if known => received.lines.insert(at, &INCOMPLETE),
                Some(_) => received.unknown = true,
                None => {}
            }
        }
    }
}

/// Marks the routes of messages that the library did not report.
fn untold<'a>(
    ways: &mut Ways<'a>,
    me: ProcessIndex,
    ledger: &'a Ledger,
    partner: impl Fn(&Line) -> Option<ProcessIndex>,
) {
    for line in &ledger.sent.untold {
        let Some(receiver) = partner(line) else { continue };
        ways.entry((me, receiver, line.comm, line.tag, line.partitioned)).or_default().0.unknown = true;
    }
    for line in &ledger.received.untold {
        let sender = if line.peer.cast_signed() < 0 { None } else { partner(line) };
        if let Some(sender) = sender.filter(|_| line.tag >= 0) {
            let end = &mut ways.entry((sender, me, line.comm, line.tag, line.partitioned)).or_default().1;
            let at = end.lines.partition_point(|known| known.order <= line.order);
            end.lines.insert(at, line);
            continue;
        }
        let mine = ways.iter_mut().filter(|((from, to, comm, ..), _)| {
            *to == me && *comm == line.comm && sender.is_none_or(|sender| sender == *from)
        });
        mine.for_each(|(_, (_, received))| received.unknown = true);
    }
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
    for line in ring.lines.iter().chain(&ring.untold) {
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
    if sent.unknown || received.unknown {
        return Vec::new();
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_that_was_not_reported_takes_its_turn_or_nothing_is_paired() {
        const WAY: Way = (0, 1, 7, 5, false);
        let line = |order: u64, peer: i32, tag: i32, flags: u32| {
            let peer = peer.cast_unsigned();
            Line { order, nth: order as u32, comm: 7, peer, tag, flags, ..Line::default() }
        };
        let sent = [line(1, 1, 5, 0), line(2, 1, 5, 0)];
        let received = line(2, 0, 5, 0);
        let orders = |peer: i32, tag: i32| {
            let untold_one = line(1, peer, tag, EntryFlag::UNTOLD.0);
            let received_by_it = Ring { untold: vec![untold_one], ..Ring::default() };
            let ledger = Ledger { received: received_by_it, ..Ledger::default() };
            let mut ways = Ways::new();
            let way = ways.entry(WAY).or_default();
            sent.iter().for_each(|line| way.0.add(line, false));
            way.1.add(&received, false);
            untold(&mut ways, 1, &ledger, |_| Some(0));
            let (sent, received) = ways.get(&WAY).unwrap();
            let pairs = pairs(sent, received, || false).into_iter();
            pairs.map(|(sent, received)| (sent.order, received.order)).collect::<Vec<_>>()
        };
        assert_eq!(orders(0, 5), [(1, 1), (2, 2)]);
        assert_eq!(orders(0, 6), [(1, 2)], "it was another message");
        assert!(orders(-1, 5).is_empty(), "from any source");
        assert!(orders(0, -1).is_empty(), "with any tag");
    }

    #[test]
    fn an_incomplete_receive_takes_its_turn_if_a_later_one_is_complete() {
        const WAY: Way = (0, 1, 7, 5, false);
        let line = |order: u64| Line { order, nth: order as u32, comm: 7, tag: 5, ..Line::default() };
        let (sent, received) = ([line(1), line(2), line(3)], [line(1), line(3)]);
        let orders = |order: u64, tag: Option<i32>| {
            let posted = Receive { comm: 7, from: Some(0), tag, order, ..Receive::default() };
            let mut ways = Ways::new();
            let way = ways.entry(WAY).or_default();
            sent.iter().for_each(|line| way.0.add(line, false));
            received.iter().for_each(|line| way.1.add(line, false));
            incomplete(&mut ways, 1, &[posted], |_, _| Some(0));
            let (sent, received) = ways.get(&WAY).unwrap();
            let told = pairs(sent, received, || false).into_iter();
            let told = told.filter(|(_, received)| !received.is(EntryFlag::UNTOLD));
            told.map(|(sent, received)| (sent.order, received.order)).collect::<Vec<_>>()
        };
        assert_eq!(orders(2, Some(5)), [(1, 1), (3, 3)]);
        assert_eq!(orders(4, Some(5)), [(1, 1), (2, 3)], "it still waits for its message");
        assert_eq!(orders(2, Some(6)), [(1, 1), (2, 3)], "it wants another message");
        assert!(orders(2, None).is_empty(), "it may have got any message");
    }
}
