//! A sender that waits for the receipt of a message while the receiver waits for another one of it.
//!
//! The awaited message may well follow: the sender has not got there. The fault lies in the message before it,
//! which the receiver does not receive, unless all earlier messages had the awaited tag.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Message, Need, Peer, Process, ProcessIndex, Receive};
use crate::questions::why::verdict::Kind;

impl Case<'_> {
    /// The message that its sender waits to be received first.
    pub(super) fn unreceived_first(
        &self,
        found: &Blocked,
        (receiver, receive): (ProcessIndex, &Receive),
        (sender, message): Sent<'_>,
    ) -> Option<Reason> {
        let wanted = receive.matches;
        let from_it = wanted.from == Peer::Any || wanted.from == Peer::One(sender);
        let alike = (wanted.comm, wanted.partitioned) == (message.comm, message.partitioned);
        let at = self.process(receiver)?;
        let usual = wanted.tag.is_some_and(|tag| at.has_received(wanted.comm, sender, tag));
        let odd = usual && !at.has_received(message.comm, sender, message.tag);
        if message.to != receiver || !from_it || !alike || odd || !self.awaits_receipt(sender, message) {
            return None;
        }
        let (waits, other) = (self.words.rank(receiver), self.words.rank(sender));
        let verdict = format!(
            "rank {other} sent {} that is never received, and goes on only when it is; rank {waits} waits for {} instead, in {}",
            self.words.sent(message),
            self.words.message(&wanted),
            self.inside(receiver),
        );
        let next = "receive that message first, or send it without waiting (MPI_Isend); if it was meant for this \
                    receive, compare the tags of both";
        let reason = Reason::new(Kind::MESSAGE_NEVER_RECEIVED, verdict, next);
        let mut reason = reason.blaming(self.culprit(receiver)).blaming(self.culprit(sender));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    /// Whether a call of the sender waits for receipt of a message with this envelope, and for no message: with
    /// `MPI_Sendrecv`, the two halves do not depend on each other, and no order is wrong.
    fn awaits_receipt(&self, sender: ProcessIndex, message: &Message) -> bool {
        let is_it = |need: &Need| {
            let Need::Receiver(sent) = need else { return false };
            (sent.to, sent.comm, sent.tag) == (message.to, message.comm, message.tag)
        };
        let sends = |need: &Need| matches!(need, Need::Receiver(_));
        let mut calls = self.process(sender).into_iter().flat_map(Process::calls);
        calls.any(|call| call.wait.needs().iter().any(is_it) && call.wait.needs().iter().all(sends))
    }

    /// Formats the call that a process is in, with its line.
    fn inside(&self, index: ProcessIndex) -> String {
        let call = self.process(index).and_then(|process| process.calls().next());
        call.map_or_else(String::new, |call| {
            let at = call.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            format!("{}{at}", call.function)
        })
    }
}
