//! How much a message that was sent differs from one that is awaited.

use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Peer, Receive};

/// The distance of a message that differs from the awaited one only in its sender.
pub(super) const OTHER_SENDER: u8 = 3;

/// Returns how much a message differs from what a receive wants; `None` if they are unrelated.
pub(super) fn distance(receive: &Receive, (sender, message): Sent<'_>) -> Option<u8> {
    let wanted = &receive.matches;
    let from = wanted.from == Peer::Any || wanted.from == Peer::One(sender);
    let comm = wanted.comm == message.comm;
    let tag = wanted.tag.is_none_or(|tag| tag == message.tag);
    let same_sort = wanted.partitioned == message.partitioned;
    match (from, comm, tag) {
        // Otherwise it would match, and the receive would have it.
        (true, true, true) if !same_sort => Some(1),
        (true, true, false) => Some(1),
        (true, false, true) => Some(2),
        (false, true, true) => Some(OTHER_SENDER),
        _ => None,
    }
}
