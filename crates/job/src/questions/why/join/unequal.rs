//! Partitioned messages whose two ends differ in size (MPI 5.0, chapter "Partitioned Point-to-Point
//! Communication"): the total size must be the same at both ends, whatever the number of partitions.

use super::compared::paired;
use super::{Slot, communicators::Communicators};
use crate::observation::{Observation, Partitioned};
use crate::questions::why::snapshot::{ProcessIndex, Unequal};
use std::sync::Arc;

/// Returns those whose requests are still known, and those in the ledgers of both ends.
pub fn unequal(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<Unequal> {
    let mut found: Vec<Unequal> = Vec::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some(seen) = seen else { continue };
        for send in seen.partitioned.iter().filter(|one| one.sends && one.starts > 0) {
            found.extend(of_requests(slots, communicators, (me, seen), send));
        }
    }
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some(seen) = seen else { continue };
        for receive in seen.partitioned.iter().filter(|one| !one.sends && one.starts > 0) {
            found.extend(of_freed_send(slots, communicators, (me, seen), receive));
        }
    }
    let is_partitioned = |seen: &Option<&Observation>| {
        let ledger = seen.and_then(|seen| seen.ledger.as_ref());
        ledger.is_some_and(|ledger| ledger.sent.lines.iter().any(|line| line.partitioned))
    };
    if slots.iter().any(|(.., seen)| is_partitioned(seen)) {
        let ends = paired(slots, communicators).into_iter().filter(|ends| ends.sent.partitioned);
        for ends in ends.filter(|ends| ends.sent.bytes != ends.received.bytes) {
            let place = |line: &crate::observation::ledger::Line| line.named.place.as_deref().map(Arc::from);
            let one = Unequal {
                comm: ends.comm,
                tag: ends.sent.tag,
                sent: (ends.sender, ends.sent.bytes, place(ends.sent)),
                received: (ends.receiver, ends.received.bytes, place(ends.received)),
            };
            let known = |other: &Unequal| {
                (other.comm, other.tag, other.sent.0, other.received.0)
                    == (one.comm, one.tag, one.sent.0, one.received.0)
            };
            if !found.iter().any(known) {
                found.push(one);
            }
        }
    }
    found
}

/// Compares a receive with the ledger of its sender, which has freed its request.
fn of_freed_send(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (me, seen): (ProcessIndex, &Observation),
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
    let sent = (from, first.bytes, first.named.place.as_deref().map(Arc::from));
    Some(Unequal {
        comm,
        tag: receive.tag,
        sent,
        received: (me, bytes, receive.place.as_deref().map(Arc::from)),
    })
}

/// Compares the requests of both ends, if there is only one pair with that tag.
fn of_requests(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (me, seen): (ProcessIndex, &Observation),
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
    let place = |one: &Partitioned| one.place.as_deref().map(Arc::from);
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
