//! Partitioned messages whose two ends differ in size (MPI 5.0, chapter "Partitioned Point-to-Point
//! Communication"): the total size must be the same at both ends, whatever the number of partitions.

use super::compared::paired;
use super::{Slot, communicators::Communicators};
use crate::observation::ledger::Line;
use crate::observation::{Observation, Partitioned};
use crate::questions::why::snapshot::{ProcessIndex, Unequal};
use std::sync::Arc;

/// Returns those whose requests are still known, and those in the ledgers of both ends.
pub fn unequal(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<Unequal> {
    let sends = started(slots, true).filter_map(|(me, send)| of_requests(slots, communicators, me, send));
    let receives =
        started(slots, false).filter_map(|(me, receive)| of_freed_send(slots, communicators, me, receive));
    let mut found: Vec<Unequal> = sends.chain(receives).collect();
    let message = |one: &Unequal| (one.comm, one.tag, one.sent.0, one.received.0);
    for one in of_ledgers(slots, communicators) {
        if found.iter().all(|known| message(known) != message(&one)) {
            found.push(one);
        }
    }
    found
}

/// A process and what was observed of it.
type Own<'a> = (ProcessIndex, &'a Observation);

/// Returns the requests of all processes for one end of partitioned messages, if they were started.
fn started<'a>(slots: &'a [Slot<'_>], sends: bool) -> impl Iterator<Item = (Own<'a>, &'a Partitioned)> {
    let seen = (0..).zip(slots).filter_map(|(me, (.., seen))| Some((me, (*seen)?)));
    seen.flat_map(move |(me, seen)| {
        let own = seen.partitioned.iter().filter(move |one| one.sends == sends && one.starts > 0);
        own.map(move |one| ((me, seen), one))
    })
}

/// Compares the ends of messages that both ledgers have.
fn of_ledgers(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<Unequal> {
    let is_partitioned = |seen: &Observation| {
        let ledger = seen.ledger.as_ref();
        ledger.is_some_and(|ledger| ledger.sent.lines.iter().any(|line| line.partitioned))
    };
    if !slots.iter().filter_map(|(.., seen)| *seen).any(is_partitioned) {
        return Vec::new();
    }
    let end = |who: ProcessIndex, line: &Line| (who, line.bytes, place(line.named.place.as_deref()));
    let ends = paired(slots, communicators).into_iter().filter(|ends| ends.sent.partitioned);
    let unequal = ends.filter(|ends| ends.sent.bytes != ends.received.bytes).map(|ends| Unequal {
        comm: ends.comm,
        tag: ends.sent.tag,
        sent: end(ends.sender, ends.sent),
        received: end(ends.receiver, ends.received),
    });
    unequal.collect()
}

fn place(place: Option<&str>) -> Option<Arc<str>> {
    place.map(Arc::from)
}

/// Compares a receive with the ledger of its sender, which has freed its request.
fn of_freed_send(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (me, seen): Own<'_>,
    receive: &Partitioned,
) -> Option<Unequal> {
    let from = communicators.partner(me, seen, receive.comm, receive.peer)?;
    let other = slots.get(from as usize).and_then(|(.., other)| *other)?;
    let is_mine = |comm, peer| communicators.partner(from, other, comm, peer) == Some(me);
    let same = (receive.comm, receive.tag);
    let held = |one: &Partitioned| one.sends && (one.comm, one.tag) == same && is_mine(one.comm, one.peer);
    if other.partitioned.iter().any(held) {
        return None;
    }
    let sent = &other.ledger.as_ref()?.sent.lines;
    let mut sent = sent
        .iter()
        .filter(|line| line.partitioned && (line.comm, line.tag) == same && is_mine(line.comm, line.peer));
    let (first, bytes) = (sent.next()?, receive.bytes?);
    if first.bytes == bytes || sent.any(|line| line.bytes != first.bytes) {
        return None;
    }
    let comm = communicators.index(receive.comm)?;
    let sent = (from, first.bytes, place(first.named.place.as_deref()));
    Some(Unequal { comm, tag: receive.tag, sent, received: (me, bytes, place(receive.place.as_deref())) })
}

/// Compares the requests of both ends, if there is only one pair with that tag.
fn of_requests(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (me, seen): Own<'_>,
    send: &Partitioned,
) -> Option<Unequal> {
    let to = communicators.partner(me, seen, send.comm, send.peer)?;
    let other = slots.get(to as usize).and_then(|(.., other)| *other)?;
    let alike = seen
        .partitioned
        .iter()
        .filter(|one| one.sends && (one.comm, one.peer, one.tag) == (send.comm, send.peer, send.tag));
    let mut receives = other.partitioned.iter().filter(|one| {
        !one.sends
            && (one.comm, one.tag) == (send.comm, send.tag)
            && communicators.partner(to, other, one.comm, one.peer) == Some(me)
    });
    let receive = receives.next().filter(|receive| receive.starts > 0)?;
    let (sent, received) = (send.bytes?, receive.bytes?);
    let place = |one: &Partitioned| place(one.place.as_deref());
    (sent != received && receives.next().is_none() && alike.count() == 1).then(|| {
        let comm = communicators.index(send.comm)?;
        let (sent, received) = ((me, sent, place(send)), (to, received, place(receive)));
        Some(Unequal { comm, tag: send.tag, sent, received })
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Communicator, Peer};

    fn job(sent: u64, received: u64, receives: usize) -> Vec<Observation> {
        let side = |rank: u32, bytes: u64| Partitioned {
            comm: 7,
            peer: 1 - rank,
            tag: 4,
            sends: rank == 0,
            made: 1,
            starts: 1,
            active: true,
            ready: None,
            bytes: Some(bytes),
            place: Some(format!("p.c:{rank}")),
        };
        let rank = |rank: u32, sides: Vec<Partitioned>| {
            let peers = vec![Peer { rank: 1 - rank, ..Peer::default() }];
            let world = Communicator {
                identity: 7,
                name: "WORLD".into(),
                rank,
                size: 2,
                peers,
                ..Communicator::default()
            };
            let (communicators, partitioned) = (vec![world], sides);
            Observation {
                rank: Some(rank),
                size: Some(2),
                communicators,
                partitioned,
                ..Observation::default()
            }
        };
        vec![rank(0, vec![side(0, sent)]), rank(1, vec![side(1, received); receives])]
    }

    #[test]
    fn both_sizes_of_a_partitioned_message_are_named_if_they_differ() {
        let seen = |job: &[Observation]| super::super::snapshot(job, "").unequal;
        assert_eq!(seen(&job(160, 160, 1)), []);
        assert_eq!(seen(&job(160, 80, 2)), [], "either of two receives may be the right one");
        let found = seen(&job(160, 80, 1));
        let (sent, received) = ((0, 160, Some("p.c:0".into())), (1, 80, Some("p.c:1".into())));
        assert_eq!(found, [Unequal { comm: 0, tag: 4, sent, received }]);
        let findings = crate::questions::findings::findings(&job(160, 80, 1), &[]);
        let said: Vec<_> = findings.iter().map(|one| (one.kind.0, one.sentence.as_str())).collect();
        let wanted = "the two ends of a partitioned message differ in size: rank 0 sends 160 bytes at p.c:0, rank 1 receives \
                      80 bytes at p.c:1 (tag 4 on WORLD)";
        assert_eq!(said, [("truncated", wanted)]);
        let findings = crate::questions::findings::findings(&job(80, 160, 1), &[]);
        assert_eq!(findings.iter().map(|one| one.kind.0).collect::<Vec<_>>(), ["type-mismatch"]);
    }
}
