//! Messages sent and not received, from the records of both sides.
//!
//! Their number between two ranks on a communicator is certain: messages sent and not cancelled, minus those
//! received. [`Outstanding`] determines which ones from the envelopes kept by both sides and the sums of the
//! tags, as it does for `MPI_T_UMQ_LENGTH` inside a process. If it cannot, the sender is marked, and nothing
//! is concluded from what it appears not to have sent. The same applies if the library did not report
//! everything to the receiver, unless that accounts for all missing messages.

use super::partitions::{End, Starts};
use super::{Slot, communicators::Communicators};
use crate::jobs::acquire::ProcessLocation;
use crate::observation::{self, Observation};
use crate::questions::why::snapshot::{Message, Process, ProcessIndex};
use mpiscope_image::derive::unexpected::{self, Outstanding, Posted};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// By communicator and rank of the other side.
type ByPeer<'a> = HashMap<(u64, u32), Vec<&'a observation::Message>>;

/// Adds to every process the messages it has sent that were not received.
pub fn add(slots: &[Slot<'_>], communicators: &Communicators, processes: &mut [Process]) {
    let missing_of = Missing::count(slots, communicators);
    let mut received: HashMap<ProcessIndex, ByPeer<'_>> = HashMap::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some(seen) = seen else { continue };
        let mut sent: Option<ByPeer<'_>> = None;
        // Each with its position among all this process has sent; messages too old to have one come first.
        let (mut left, mut place): (Vec<(usize, Message)>, Option<Order>) = (Vec::new(), None);
        for (comm, peer, to, other) in partners(slots, communicators, me, seen) {
            let taken = taken(other, comm);
            let missing = peer.sent.saturating_sub(taken.received);
            if missing == 0 {
                continue;
            }
            if let Some(untold) = untold(other, comm.identity) {
                let certain = missing_of.on(to, comm.identity) > untold;
                processes.iter_mut().skip(me as usize).take(1).for_each(|process| process.lost |= certain);
                continue;
            }
            let Some(index) = communicators.index(comm.identity) else { continue };
            let sent = sent.get_or_insert_with(|| by_peer(&seen.sent));
            let there = received.entry(to).or_insert_with(|| by_peer(&other.received));
            let mine = sent.get(&(comm.identity, peer.rank)).map_or(&[][..], Vec::as_slice);
            let theirs = there.get(&(comm.identity, comm.rank)).map_or(&[][..], Vec::as_slice);
            let found = outstanding(missing, peer.sent_tags.wrapping_sub(taken.received_tags), mine, theirs);
            let Some(process) = processes.get_mut(me as usize) else { continue };
            process.lost |= (found.len() as u64) < missing;
            let mut partitioned = Starts::of(seen, (comm.identity, peer.rank), other, comm.rank);
            left.extend(found.into_iter().filter_map(|(tag, message)| {
                let at = message
                    .and_then(|message| places(&mut place, seen).get(&std::ptr::from_ref(message)).copied());
                let message = Message {
                    to,
                    comm: index,
                    tag,
                    bytes: message.map_or(0, |message| message.bytes),
                    place: message.and_then(|message| message.place.as_deref().map(Arc::from)),
                    partitioned: match partitioned.take(tag) {
                        Some(End::Made) => return None,
                        end => end.is_some(),
                    },
                };
                Some((at.map_or(0, |at| at + 1), message))
            }));
        }
        left.sort_by_key(|(at, _)| *at);
        if let Some(process) = processes.get_mut(me as usize) {
            process.sent.extend(left.into_iter().map(|(_, message)| message));
        }
    }
}

/// Position of each message among those a process has sent recently.
type Order = HashMap<*const observation::Message, usize>;

fn places<'o>(known: &'o mut Option<Order>, seen: &Observation) -> &'o Order {
    known.get_or_insert_with(|| seen.sent.iter().map(std::ptr::from_ref).zip(0..).collect())
}

/// Messages without a receive on a communicator of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexpected {
    /// The process.
    pub process: ProcessLocation,
    /// Identity of the communicator.
    pub comm: u64,
    /// Number of messages.
    pub count: u64,
}

/// By receiver and communicator: the rank of each sender and its outstanding messages.
type Incoming = BTreeMap<(ProcessIndex, u64), Vec<(u32, Outstanding)>>;

/// Counts them for all processes and communicators on which messages were exchanged.
pub fn unexpected(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<Unexpected> {
    let mut incoming = Incoming::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some(seen) = seen else { continue };
        let sent = by_peer(&seen.sent);
        for (comm, peer, to, other) in partners(slots, communicators, me, seen) {
            let waiting = incoming.entry((to, comm.identity)).or_default();
            let taken = taken(other, comm);
            let missing = peer.sent.saturating_sub(taken.received);
            let found = if untold(other, comm.identity).is_some() {
                Outstanding::unknown(missing)
            } else if missing == 0 {
                continue;
            } else {
                let sum = peer.sent_tags.wrapping_sub(taken.received_tags);
                let there = by_peer(&other.received);
                let mine = sent.get(&(comm.identity, peer.rank)).map_or(&[][..], Vec::as_slice);
                let theirs = there.get(&(comm.identity, comm.rank)).map_or(&[][..], Vec::as_slice);
                find(missing, sum, mine, theirs)
            };
            waiting.push((comm.rank, found));
        }
    }
    let counted = incoming.into_iter().filter_map(|((to, comm), senders)| {
        let receiver = slots.get(to as usize).and_then(|(_, _, seen)| *seen)?;
        let process = ProcessLocation { host: receiver.host.clone(), pid: receiver.pid };
        Some(Unexpected { process, comm, count: left(receiver, comm, senders) })
    });
    counted.collect()
}

/// Returns how many messages of all senders on a communicator remain after the process's receives.
fn left(receiver: &Observation, comm: u64, mut senders: Vec<(u32, Outstanding)>) -> u64 {
    let mut posted = Posted::default();
    for receive in receiver.posted.iter().chain(&receiver.matched).filter(|receive| receive.comm == comm) {
        posted.add(unexpected::Receive::new(
            receive.from,
            receive.tag.map(i32::cast_unsigned),
            Some(receive.order).filter(|order| *order != u64::MAX),
        ));
    }
    let partitioned = receiver.partitioned.iter().filter(|side| !side.sends && side.active);
    for side in partitioned.filter(|side| side.comm == comm) {
        posted.add(unexpected::Receive::new(Some(side.peer), Some(side.tag.cast_unsigned()), None));
    }
    senders.sort_by_key(|(rank, _)| *rank);
    let waiting = senders.iter_mut().fold(0, |sum: u64, (rank, messages)| {
        posted.take_from(*rank, messages);
        sum.saturating_add(messages.len())
    });
    unexpected::left(waiting, untold(receiver, comm))
}

/// Returns all observed processes a process has exchanged messages with: its record of them, their index, and
/// their observation.
pub fn partners<'a>(
    slots: &'a [Slot<'_>],
    communicators: &'a Communicators,
    me: ProcessIndex,
    seen: &'a Observation,
) -> impl Iterator<Item = (&'a observation::Communicator, &'a observation::Peer, ProcessIndex, &'a Observation)>
{
    let peers = seen.communicators.iter().flat_map(|comm| comm.peers.iter().map(move |peer| (comm, peer)));
    peers.filter_map(move |(comm, peer)| {
        let to = communicators.partner(me, seen, comm.identity, peer.rank)?;
        let other = slots.get(to as usize).and_then(|(_, _, seen)| *seen)?;
        Some((comm, peer, to, other))
    })
}

/// Number of messages missing from the records of a receiver's peers, by receiver and communicator; only
/// where some were received from an unknown sender.
struct Missing(HashMap<(ProcessIndex, u64), u64>);

impl Missing {
    fn count(slots: &[Slot<'_>], communicators: &Communicators) -> Self {
        let mut found = HashMap::new();
        for (me, (_, _, seen)) in (0..).zip(slots) {
            let Some(seen) = seen else { continue };
            for (comm, peer, to, other) in partners(slots, communicators, me, seen) {
                if untold(other, comm.identity).is_some() {
                    let missing = peer.sent.saturating_sub(taken(other, comm).received);
                    *found.entry((to, comm.identity)).or_default() += missing;
                }
            }
        }
        Self(found)
    }

    fn on(&self, receiver: ProcessIndex, comm: u64) -> u64 {
        self.0.get(&(receiver, comm)).copied().unwrap_or(0)
    }
}

/// See [`observation::Communicator::untold`].
fn untold(of: &Observation, comm: u64) -> Option<u64> {
    of.communicators.iter().find(|there| there.identity == comm)?.untold
}

/// Returns what `other` has exchanged with this process on a communicator.
pub fn taken(other: &Observation, comm: &observation::Communicator) -> observation::Peer {
    let there = other.communicators.iter().find(|there| there.identity == comm.identity);
    // These are in rank order, and rank 0 of a large job may have as many as there are ranks.
    let peer = there.and_then(|there| {
        let at = there.peers.binary_search_by_key(&comm.rank, |peer| peer.rank).ok()?;
        there.peers.get(at)
    });
    peer.copied().unwrap_or_default()
}

fn by_peer(messages: &[observation::Message]) -> ByPeer<'_> {
    let mut found: ByPeer<'_> = HashMap::new();
    for message in messages {
        found.entry((message.comm, message.peer)).or_default().push(message);
    }
    found
}

/// Determines which messages were not received.
fn find(
    missing: u64,
    sum: u64,
    sent: &[&observation::Message],
    received: &[&observation::Message],
) -> Outstanding {
    let tags = |message: &&observation::Message| message.tag.cast_unsigned();
    let mut found = Outstanding::unknown(missing);
    found.find(sum, sent.iter().rev().map(tags), || received.iter().rev().map(tags));
    found
}

/// Returns the tags of unreceived messages, oldest first, each with its envelope if still recorded.
fn outstanding<'a>(
    missing: u64,
    sum: u64,
    sent: &[&'a observation::Message],
    received: &[&observation::Message],
) -> Vec<(i32, Option<&'a observation::Message>)> {
    let found = find(missing, sum, sent, received);
    let tags: Vec<i32> = found.tags().map(u32::cast_signed).collect();
    let mut envelopes: HashMap<i32, Vec<&observation::Message>> = HashMap::new();
    for message in sent {
        envelopes.entry(message.tag).or_default().push(message);
    }
    // Among messages with the same tag the oldest were received first, so the newest remain.
    let mut newest_first: Vec<_> =
        tags.iter().rev().map(|tag| (*tag, envelopes.get_mut(tag).and_then(Vec::pop))).collect();
    newest_first.reverse();
    newest_first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations of two ranks of one world, one of which has sent messages to the other; for some of these
    /// the receiver did not learn the sender.
    fn job(sent: u64, received: u64, untold: Option<u64>) -> Vec<Observation> {
        let rank = |rank: u32| {
            let peer = observation::Peer {
                rank: 1 - rank,
                sent: if rank == 0 { sent } else { 0 },
                received: if rank == 1 { received } else { 0 },
                ..Default::default()
            };
            let world = observation::Communicator {
                identity: 7,
                rank,
                size: 2,
                peers: vec![peer],
                untold: untold.filter(|_| rank == 1),
                ..Default::default()
            };
            Observation { rank: Some(rank), size: Some(2), communicators: vec![world], ..Default::default() }
        };
        vec![rank(0), rank(1)]
    }

    /// Returns how many messages rank 0 has outstanding, and whether that may be wrong.
    fn seen(sent: u64, received: u64, untold: Option<u64>) -> (usize, bool) {
        let snapshot = super::super::snapshot(&job(sent, received, untold), "");
        let first = snapshot.processes.first().expect("rank 0");
        (first.sent.len(), first.lost)
    }

    #[test]
    fn messages_whose_receiver_did_not_learn_the_sender_are_not_outstanding() {
        assert_eq!(seen(3, 1, None), (2, false));
        assert_eq!(seen(3, 1, Some(2)), (0, false), "all that are missing were received");
        assert_eq!(seen(3, 1, Some(1)), (0, true), "which one is outstanding is not known");
    }

    #[test]
    fn a_partitioned_send_is_shown_to_plain_receives_only_without_a_partitioned_receive() {
        let partitioned = |sends: bool| observation::Partitioned {
            comm: 7,
            peer: u32::from(sends),
            tag: 4,
            sends,
            made: 1,
            starts: 1,
            active: true,
            ready: None,
            bytes: None,
            place: None,
        };
        let sent = |receive: bool| {
            let mut job = job(2, 0, None);
            job[0].communicators[0].peers[0].sent_tags = 9;
            job[0].partitioned = vec![partitioned(true)];
            job[1].partitioned = vec![partitioned(false)].into_iter().filter(|_| receive).collect();
            job[0].sent = messages(&[5, 4]);
            job[0].sent.iter_mut().for_each(|message| (message.comm, message.peer) = (7, 1));
            let process = super::super::snapshot(&job, "").processes.swap_remove(0);
            process.sent.iter().map(|message| (message.tag, message.partitioned)).collect::<Vec<_>>()
        };
        assert_eq!(sent(false), [(5, false), (4, true)]);
        assert_eq!(sent(true), [(5, false)]);
    }

    #[test]
    fn a_message_waits_unless_a_receive_or_a_probe_takes_it() {
        let count = |job: &[Observation]| super::super::unexpected(job).last().map(|found| found.count);
        let mut job = job(2, 0, None);
        job[0].sent = messages(&[4, 5]);
        job[0].communicators[0].peers[0].sent_tags = 9;
        job[0].sent.iter_mut().for_each(|message| (message.comm, message.peer) = (7, 1));
        assert_eq!(count(&job), Some(2));
        let of = |tag| observation::Receive {
            comm: 7,
            from: Some(0),
            tag: Some(tag),
            order: 1,
            ..Default::default()
        };
        job[1].posted = vec![of(5), of(9)];
        assert_eq!(count(&job), Some(1), "a receive of another tag takes none");
        job[1].matched = vec![of(4)];
        assert_eq!(count(&job), Some(0));
    }

    fn messages(tags: &[i32]) -> Vec<observation::Message> {
        let message = |tag: &i32| observation::Message { tag: *tag, bytes: 8, ..Default::default() };
        tags.iter().map(message).collect()
    }

    fn tags(sent: &[i32], received: &[i32], missing: u64, sum: u64) -> Vec<i32> {
        let (sent, received) = (messages(sent), messages(received));
        let (sent, received): (Vec<_>, Vec<_>) = (sent.iter().collect(), received.iter().collect());
        outstanding(missing, sum, &sent, &received).iter().map(|(tag, _)| *tag).collect()
    }

    #[test]
    fn missing_messages_are_named_by_their_tags() {
        assert_eq!(tags(&[7, 7, 7], &[7], 2, 14), [7, 7]);
        assert_eq!(tags(&[1, 2, 3, 1], &[1, 3], 2, 3), [2, 1]);
        assert_eq!(tags(&[41, 43], &[], 2, 84), [41, 43], "and not two of 42, which add up to the same");
    }

    #[test]
    fn overwritten_messages_are_known_only_by_their_sum() {
        assert_eq!(tags(&[], &[], 1, 41), [41]);
        assert_eq!(tags(&[], &[], 2, 41), [0; 0]);
    }
}
