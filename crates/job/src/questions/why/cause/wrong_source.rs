//! A receive that names a rank which has sent nothing and never will, while another rank has sent the message.
//!
//! A rank that takes one message of each of several others in turn also has messages waiting that it has not
//! come to. It has received from others before, though not from the one whose message waits.
//!
//! If the named rank is stuck itself, the receive is the reason only if, in a copy of the snapshot in which it
//! names the sender of that message, no process is stuck.

use super::distance::{OTHER_SENDER, distance};
use super::misdirected::needs;
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Need, Peer, ProcessIndex, Receive};
use crate::questions::why::verdict::Kind;
use crate::questions::why::{collectives, cycle};

/// Maximum number of messages to the receiver that are examined.
const MOST_COMPARED: usize = 256;

impl Case<'_> {
    /// The receive that names another rank than the one that sent its message.
    pub(super) fn wrong_source(&self, found: &Blocked) -> Option<Reason> {
        let receives: Vec<_> = self.receives(found).collect();
        let receives = self.that_block_others(found, &receives);
        receives.into_iter().find_map(|(receiver, receive)| {
            let Peer::One(from) = receive.matches.from else { return None };
            let (sent, known) = self.sent_by_another(found, receiver, from, receive)?;
            Some(self.names_another(found, receiver, from, receive, sent, known))
        })
    }

    /// Returns the message that only one other rank sent, and whether the receiver has received from that rank
    /// before.
    fn sent_by_another(
        &self,
        found: &Blocked,
        receiver: ProcessIndex,
        from: ProcessIndex,
        receive: &Receive,
    ) -> Option<(Sent<'_>, bool)> {
        let comm = receive.matches.comm;
        let (at, named) = (self.process(receiver)?, self.process(from)?);
        let over = named.is_gone() || collectives::is_finalizing(named);
        let silent = named.messaging.is_some() && !named.sent_to(comm).any(|(to, _)| to == receiver);
        if !silent || named.lost || at.lost || at.messaging.is_none() {
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
        let meant = match over {
            true => first || known,
            false => (known || from == receiver) && self.would_match(found, receiver, receive, one.0),
        };
        meant.then_some((one, known))
    }

    /// Whether no process would be stuck if the receive named another sender.
    fn would_match(
        &self,
        found: &Blocked,
        receiver: ProcessIndex,
        receive: &Receive,
        sender: ProcessIndex,
    ) -> bool {
        self.none_would_be_stuck(found, receiver, |process| {
            let posted = process.posted.iter_mut().find(|posted| *posted == receive);
            posted.into_iter().for_each(|one| one.matches.from = Peer::One(sender));
            let awaited = needs(process).find_map(|need| match need {
                Need::Message(one) if one == receive => Some(one),
                _ => None,
            });
            awaited.into_iter().for_each(|one| one.matches.from = Peer::One(sender));
        })
    }

    fn names_another(
        &self,
        found: &Blocked,
        receiver: ProcessIndex,
        from: ProcessIndex,
        receive: &Receive,
        (sender, message): Sent<'_>,
        known: bool,
    ) -> Reason {
        let (waits, named) = (self.words.rank(receiver), self.words.rank(from));
        let silent = match from == receiver {
            true => "it has sent itself none there".to_owned(),
            false => format!("rank {named} has sent it none there, and is {}", self.words.activity(from)),
        };
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: {silent}; rank {} sent {}, which nobody receives",
            self.words.message(&receive.matches),
            self.words.rank(sender),
            self.words.sent(message),
        );
        let next = "check the source of that receive: with the rank that sent the message, it would match";
        let other = if known { sender } else { from };
        let mut reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next).blaming(self.culprit(receiver));
        if other != receiver {
            reason = reason.blaming(self.culprit(other));
        }
        reason.cycle = cycle::cycle(self.snapshot, found);
        reason
    }
}
