//! Determines whether a message was late or unexpected, from the send time in its sender's ledger.
//!
//! Messages with the same sender, tag and length can only be confused if receives complete in a different
//! order than they were posted. Messages received before the first registration are not considered.

use crate::events::types::{ReceiveLate, ReceiveUnexpected};
use crate::events::{self, Received, Sides};
use crate::mpi_t::bound;
use crate::mpi_t::node_images::Sent;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Messages that cannot be distinguished: those with the same communicator, sender, tag and length.
type Alike = (u64, i32, i32, u64);

/// What has been found out about senders so far.
struct Known {
    /// Number of messages that had been received from a rank of a communicator at the first query.
    before: BTreeMap<(u64, i32), u64>,
    /// Number, in its sender's ledger, of the last message found among indistinguishable ones.
    after: BTreeMap<Alike, u64>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { before: BTreeMap::new(), after: BTreeMap::new() });

/// Raises the event for a received message: unexpected if it was sent before its receive was posted, late
/// otherwise.
#[cold]
pub fn compare(message: &Received) {
    let Received { comm, from: peer, tag, bytes, posted, at, sides, .. } = *message;
    let Sides { comm_id, id, world_peer, partitions } = sides;
    let wanted = events::is_wanted::<ReceiveUnexpected>(comm) || events::is_wanted::<ReceiveLate>(comm);
    if posted == 0 || !wanted {
        return;
    }
    let Some(sent) = sent_at(message) else { return };
    if sent < posted {
        events::raise(comm, at, || ReceiveUnexpected {
            peer,
            tag,
            bytes,
            sent,
            posted,
            comm_id,
            id,
            world_peer,
            partitions,
        });
    } else {
        events::raise(comm, at, || ReceiveLate {
            peer,
            tag,
            bytes,
            sent,
            posted,
            comm_id,
            id,
            world_peer,
            partitions,
        });
    }
}

/// Returns when a message that has just been received was sent, in ticks.
fn sent_at(message: &Received) -> Option<u64> {
    let bound = bound::of_uid(message.comm)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = *known.before.entry((message.comm, message.from)).or_insert(message.nth.saturating_sub(1));
    let after = known.after.entry((message.comm, message.from, message.tag, message.bytes)).or_insert(0);
    let sent = Sent {
        identity: bound.identity(),
        to: u32::try_from(bound.rank).ok()?,
        before,
        after: *after,
        tag: message.tag.cast_unsigned(),
        bytes: message.bytes,
    };
    let (number, at) = bound.others.find_sent(usize::try_from(message.from).ok()?, &sent)?;
    *after = number;
    (at != 0).then_some(at)
}
