//! Partitioned messages that were started at one end at least and are not known to be complete there.

use super::other_sides::other_sides;
use super::{Slot, communicators::Communicators};
use crate::observation::{Observation, Partitioned};
use crate::questions::why::snapshot::{PartitionedEnd, PartitionedMessage, ProcessIndex};
use std::sync::Arc;

/// Returns them by their receives, then those that are not received yet.
pub fn partitioned(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<PartitionedMessage> {
    let mut found = Vec::new();
    for sends in [false, true] {
        for (me, (.., seen)) in (0..).zip(slots) {
            let Some(seen) = *seen else { continue };
            let active = seen.partitioned.iter().filter(|own| own.active && own.sends == sends);
            found.extend(active.filter_map(|own| message(slots, communicators, (me, seen), own)));
        }
    }
    found
}

/// Returns the message of an active end; `None` for a send whose receive was started, which is found by that, and for
/// one whose receiver was not observed.
fn message(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    (me, seen): (ProcessIndex, &Observation),
    own: &Partitioned,
) -> Option<PartitionedMessage> {
    let partner = communicators.partner(me, seen, own.comm, own.peer)?;
    let other = slots.get(partner as usize).and_then(|(.., other)| *other);
    let theirs = other.map_or_else(Vec::new, |other| {
        let is_me = |peer| communicators.partner(partner, other, own.comm, peer) == Some(me);
        other_sides(own, seen, other, is_me)
    });
    let theirs = theirs.into_iter().find(|theirs| theirs.starts >= own.starts);
    if own.sends && (other.is_none() || theirs.is_some()) {
        return None;
    }
    let (sent, received) = if own.sends { (Some(own), None) } else { (theirs, Some(own)) };
    let (sender, receiver) = if own.sends { (me, partner) } else { (partner, me) };
    let end =
        |of: &Partitioned| PartitionedEnd { bytes: of.bytes, place: of.place.as_deref().map(Arc::from) };
    let comm = communicators.index(own.comm)?;
    Some(PartitionedMessage {
        comm,
        tag: own.tag,
        sender,
        receiver,
        sent: sent.map(end),
        received: received.map(end),
    })
}

#[cfg(test)]
mod tests {
    use crate::observation::{Communicator, Observation, Partitioned, Peer};

    /// Two ranks of one world, with one end of a partitioned message at each: how often it was started, and whether it
    /// is under way.
    fn messages(send: Option<(u64, bool)>, receive: Option<(u64, bool)>) -> Vec<(Option<u64>, Option<u64>)> {
        let end = |(starts, active): (u64, bool), sends: bool| {
            let bytes = Some(if sends { 16 } else { 32 });
            let peer = u32::from(sends);
            let (made, ready, place) = (1, None, None);
            Partitioned { comm: 7, peer, tag: 4, sends, made, starts, active, ready, bytes, place }
        };
        let peers = |rank: u32| vec![Peer { rank: 1 - rank, ..Peer::default() }];
        let comm =
            |rank: u32| Communicator { identity: 7, rank, size: 2, peers: peers(rank), ..Default::default() };
        let seen = |rank: u32, end: Option<Partitioned>| Observation {
            rank: Some(rank),
            size: Some(2),
            communicators: vec![comm(rank)],
            partitioned: end.into_iter().collect(),
            ..Observation::default()
        };
        let job =
            [seen(0, send.map(|send| end(send, true))), seen(1, receive.map(|receive| end(receive, false)))];
        let found = super::super::snapshot(&job, "").partitioned;
        assert!(found.iter().all(|one| (one.sender, one.receiver, one.tag) == (0, 1, 4)));
        let bytes = |end: Option<super::PartitionedEnd>| end.and_then(|end| end.bytes);
        found.into_iter().map(|one| (bytes(one.sent), bytes(one.received))).collect()
    }

    #[test]
    fn a_message_is_found_once_until_both_ends_are_complete() {
        assert_eq!(messages(Some((1, true)), Some((1, true))), [(Some(16), Some(32))]);
        assert_eq!(messages(Some((1, true)), Some((0, false))), [(Some(16), None)]);
        assert_eq!(messages(Some((1, true)), None), [(Some(16), None)]);
        assert_eq!(messages(Some((1, false)), Some((2, true))), [(None, Some(32))]);
        assert_eq!(
            messages(Some((2, false)), Some((2, true))),
            [(Some(16), Some(32))],
            "complete at the sender"
        );
        assert_eq!(messages(Some((2, true)), Some((2, false))), [], "received");
        assert_eq!(messages(None, Some((1, true))), [(None, Some(32))]);
        assert_eq!(messages(Some((1, false)), Some((1, false))), []);
    }
}
