//! When a message was sent, from the ledger of its sender.
//!
//! Messages of one sender, tag and length are taken for each other only if receives complete in another order than they
//! were posted in. What was received before anybody asked is left aside.

use crate::tool::bound;
use crate::tool::own::Sent;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A message as its receiver knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Received {
    /// Uid of the communicator.
    pub comm: u64,
    /// Rank of the sender.
    pub from: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
}

/// What is known of the senders so far.
struct Known {
    /// How many messages had been received from a rank of a communicator when it was asked about first.
    before: BTreeMap<(u64, i32), u64>,
    /// Number in its sender's ledger of the last one of a kind that was found.
    after: BTreeMap<Received, u64>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { before: BTreeMap::new(), after: BTreeMap::new() });

/// When a message that has just been received was sent, in ticks; it is the `nth` from its sender.
pub fn sent_at(message: Received, nth: u64) -> Option<u64> {
    let bound = bound::of_uid(message.comm)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = *known.before.entry((message.comm, message.from)).or_insert(nth.saturating_sub(1));
    let after = known.after.entry(message).or_insert(0);
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
