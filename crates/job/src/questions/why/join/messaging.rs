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
                function: calls.function.as_str().into(),
                place: calls.place.as_str().into(),
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
    Some(Box::new(found))
}
