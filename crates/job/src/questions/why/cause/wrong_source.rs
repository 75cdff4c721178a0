//! A receive that names a rank which has sent nothing and never will, while another rank has sent the message.
//!
//! A rank that takes one message of each of several others in turn also has messages waiting that it has not
//! come to. It has received from others before, though not from the one whose message waits.

use super::distance::{OTHER_SENDER, distance};
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::collectives;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Peer, ProcessIndex, Receive};
use crate::questions::why::verdict::Kind;

/// Maximum number of messages to the receiver that are examined.
const MOST_COMPARED: usize = 256;

impl Case<'_> {
    /// The receive that names another rank than the one that sent its message.
    pub(super) fn wrong_source(&self, found: &Blocked) -> Option<Reason> {
        let receives: Vec<_> = self.receives(found).collect();
        let receives = self.that_block_others(found, &receives);
        receives.into_iter().find_map(|(receiver, receive)| {
            let Peer::One(from) = receive.matches.from else { return None };
            let (sent, known) = self.sent_by_another(receiver, from, receive)?;
            Some(self.names_another(receiver, from, receive, sent, known))
        })
    }

    /// Returns the message that only one other rank sent, and whether the receiver has received from that rank
    /// before.
    fn sent_by_another(
        &self,
        receiver: ProcessIndex,
        from: ProcessIndex,
        receive: &Receive,
    ) -> Option<(Sent<'_>, bool)> {
        let comm = receive.matches.comm;
        let (at, named) = (self.process(receiver)?, self.process(from)?);
        let over = named.is_gone() || collectives::is_finalizing(named);
        let silent = named.messaging.is_some() && !named.sent_to(comm).any(|(to, _)| to == receiver);
        if !over || !silent || named.lost || at.lost || at.messaging.is_none() {
            return None;
        }
        let left = self.pairs().left(receiver).iter().take(MOST_COMPARED);
        let mut left = left.copied().filter(|sent| {
            distance(receive, *sent) == Some(OTHER_SENDER) && !self.pairs().is_matched(sent.1)
        });
        let one = left.next()?;
        if left.any(|other| other.0 != one.0) {
            return None;
        }
        let mut before = at.received_from(comm).peekable();
        let first = before.peek().is_none();
        let known = before.any(|(other, _)| other == one.0);
        (first || known).then_some((one, known))
    }

    fn names_another(
        &self,
        receiver: ProcessIndex,
        from: ProcessIndex,
        receive: &Receive,
        (sender, message): Sent<'_>,
        known: bool,
    ) -> Reason {
        let (waits, named) = (self.words.rank(receiver), self.words.rank(from));
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: rank {named} has sent it none there, and is {}; rank {} sent {}, \
             which nobody receives",
            self.words.message(&receive.matches),
            self.words.activity(from),
            self.words.rank(sender),
            self.words.sent(message),
        );
        let next = "check the source of that receive: with the rank that sent the message, it would match";
        let other = if known { sender } else { from };
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next);
        reason.blaming(self.culprit(receiver)).blaming(self.culprit(other))
    }
}
