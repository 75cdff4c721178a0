//! What a process that waits, or has finalized MPI, has sent and received.

use super::Joiner;
use crate::observation::{Observation, Stage};
use crate::questions::why::snapshot::{MessageCalls, Messaging};

/// Maximum number of partners on a communicator, if nothing but the number of messages is known of them.
const MOST_PARTNERS: usize = 64;

/// Returns `None` for a process that may go on.
pub(super) fn of(joiner: &Joiner<'_>, seen: &Observation) -> Option<Box<Messaging>> {
    let waits = seen.threads.iter().any(|thread| thread.call.as_ref().is_some_and(|c| !c.needs.is_empty()));
    if !waits && seen.stage != Stage::Finalized && seen.message_calls.is_empty() {
        return None;
    }
    let comm = |identity: u64| joiner.communicators.index(identity);
    let calls: Vec<MessageCalls> = seen
        .message_calls
        .iter()
        .filter_map(|calls| {
            Some(MessageCalls {
                comm: comm(calls.comm)?,
                function: joiner.texts.of(&calls.function),
                place: joiner.texts.of(&calls.place),
                count: calls.count,
                sends: calls.sends,
                receives: calls.receives,
            })
        })
        .collect();
    let all = !calls.is_empty();
    let mut found = Messaging { calls, ..Messaging::default() };
    for one in seen.communicators.iter().filter(|one| all || one.peers.len() <= MOST_PARTNERS) {
        let Some(on) = comm(one.identity) else { continue };
        for peer in &one.peers {
            let Some(process) = joiner.partner(seen, one.identity, peer.rank) else { continue };
            found.sent_to.extend((peer.sent > 0).then_some((on, process, peer.sent)));
            found.received_from.extend((peer.received > 0).then_some((on, process, peer.received)));
        }
    }
    let before = seen.received.iter().filter_map(|message| {
        let from = joiner.partner(seen, message.comm, message.peer)?;
        Some((comm(message.comm)?, from, message.tag))
    });
    found.tags.extend(before);
    found.sent_to.shrink_to_fit();
    found.received_from.shrink_to_fit();
    Some(Box::new(found))
}

#[cfg(test)]
mod tests {
    use crate::observation::faults::{Fault, Kind};
    use crate::observation::{self, Observation};
    use crate::questions::why::snapshot::{Need, Outcome, Process};

    /// Rank 1, which received a message of rank 0 with tag 2 at a.c:5 and waits for one in `MPI_Recv` at `place`.
    fn receiver(place: &str) -> Process {
        let rank = |rank: u32| {
            let peers = vec![observation::Peer { rank: 1 - rank, ..Default::default() }];
            let world = observation::Communicator { identity: 7, rank, size: 2, peers, ..Default::default() };
            Observation { rank: Some(rank), size: Some(2), communicators: vec![world], ..Default::default() }
        };
        let mut seen = rank(1);
        let received = observation::Message { comm: 7, peer: 0, tag: 2, ..Default::default() };
        seen.received = vec![observation::Message { place: Some("a.c:5".to_owned()), ..received }];
        // The line of a blocking receive is that of its call.
        let wanted = observation::Receive { comm: 7, from: Some(0), tag: Some(2), ..Default::default() };
        let call = observation::Call {
            function: "MPI_Recv".to_owned(),
            place: Some(place.to_owned()),
            needs: vec![observation::Need::Message(wanted)],
            ..Default::default()
        };
        seen.threads = vec![observation::Thread { call: Some(call), ..Default::default() }];
        seen.faults = vec![Fault {
            kind: Kind::Truncated,
            function: "MPI_Recv".to_owned(),
            place: Some("a.c:3".to_owned()),
            comm: 7,
            peer: 0,
            tag: 2,
            room: None,
            bytes: 8,
            error: None,
            times: 1,
        }];
        let snapshot = crate::questions::why::snapshot(&[rank(0), seen], "");
        snapshot.processes.into_iter().nth(1).expect("rank 1")
    }

    #[test]
    fn a_message_received_earlier_at_the_same_line_was_not_meant_for_this_receive() {
        let got = |place: &str| {
            let process = receiver(place);
            let needs = process.calls().flat_map(|call| call.wait.needs());
            needs.into_iter().find_map(|need| match need {
                Need::Message(receive) => receive.got.as_deref().map(str::to_owned),
                _ => None,
            })
        };
        assert_eq!(got("a.c:9").as_deref(), Some("a.c:5"));
        assert_eq!(got("a.c:5"), None, "in a loop");
    }

    #[test]
    fn the_tags_of_earlier_messages_and_receives_that_were_too_short_are_known() {
        let process = receiver("a.c:9");
        assert!(process.has_received(0, 0, 2) && !process.has_received(0, 0, 3));
        let short = process.failed.first().expect("a call that failed");
        assert_eq!((short.place.as_deref(), &short.outcome), (Some("a.c:3"), &Outcome::Short));
    }
}
