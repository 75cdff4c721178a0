//! What a process waiting in a collective has sent and received.

use super::Joiner;
use crate::observation::Observation;
use crate::questions::why::snapshot::{MessageCalls, Messaging};

/// Returns `None` for a process without such calls.
pub(super) fn of(joiner: &Joiner<'_>, seen: &Observation) -> Option<Box<Messaging>> {
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
    if calls.is_empty() {
        return None;
    }
    let mut found = Messaging { calls, ..Messaging::default() };
    for one in &seen.communicators {
        let Some(on) = comm(one.identity) else { continue };
        for peer in &one.peers {
            let Some(process) = joiner.partner(seen, one.identity, peer.rank) else { continue };
            found.sent_to.extend((peer.sent > 0).then_some((on, process)));
            found.received_from.extend((peer.received > 0).then_some((on, process)));
        }
    }
    Some(Box::new(found))
}
