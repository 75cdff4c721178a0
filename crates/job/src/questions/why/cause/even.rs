//! A rank that waits for a message although all that it receives from have sent it equally many.
//!
//! If one of them had left out a send, the numbers would differ. So it is the waiting rank that makes one receive
//! too many, or that has gone ahead of the others. This holds for messages of one kind: the awaited tag must be
//! that of an earlier message.

use super::Case;
use crate::questions::why::snapshot::{Peer, ProcessIndex, Receive};

/// Number of ranks of which none has sent more than another.
const ALIKE: usize = 2;
/// Maximum number of ranks that are compared.
const MOST_COMPARED: usize = 256;

/// Ranks that have each sent the same number of messages to one that has received them all.
pub(super) struct Even {
    count: u64,
    by: Vec<ProcessIndex>,
}

impl Case<'_> {
    /// Returns the ranks that a rank receives from, if all have sent it the same number of messages, among
    /// them the one that it waits for.
    pub(super) fn even(&self, waits: ProcessIndex, receive: &Receive) -> Option<Even> {
        let comm = receive.matches.comm;
        let receiver = self.process(waits).filter(|process| !process.lost)?;
        let received: Vec<(ProcessIndex, u64)> =
            receiver.received_from(comm).filter(|(from, _)| *from != waits).take(MOST_COMPARED).collect();
        let (_, count) = *received.first()?;
        let sent = |from: ProcessIndex| {
            let sender = self.process(from).filter(|process| !process.lost)?;
            sender.sent_to(comm).find(|(to, _)| *to == waits).map(|(_, sent)| sent)
        };
        let even = received.iter().all(|(from, one)| *one == count && sent(*from) == Some(count));
        let by: Vec<ProcessIndex> = received.into_iter().map(|(from, _)| from).collect();
        let among = match receive.matches.from {
            Peer::One(from) => by.contains(&from),
            Peer::Any => self.pairs().left(waits).iter().all(|(_, message)| message.comm != comm),
        };
        // A message with a new tag has no predecessors to compare it with.
        let is_usual = |from: &ProcessIndex| {
            receive.matches.tag.is_none_or(|tag| receiver.has_received(comm, *from, tag))
        };
        let usual = match receive.matches.from {
            Peer::One(from) => is_usual(&from),
            Peer::Any => by.iter().any(is_usual),
        };
        (even && among && usual && (ALIKE..MOST_COMPARED).contains(&by.len())).then_some(Even { count, by })
    }

    /// Formats `ranks [1-3] have each sent 4 messages to rank 0, which has received all of them`.
    pub(super) fn sent_evenly(&self, even: &Even, waits: ProcessIndex) -> String {
        let messages = if even.count == 1 { "1 message" } else { &format!("{} messages", even.count) };
        format!(
            "{} have each sent {messages} to rank {}, which has received all of them",
            self.words.ranks(even.by.iter().copied()),
            self.words.rank(waits)
        )
    }
}
