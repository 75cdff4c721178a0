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

/// A receive, and the message that only one other rank than the named one has sent.
struct Misnamed<'a> {
    receiver: ProcessIndex,
    receive: &'a Receive,
    named: ProcessIndex,
    sent: Sent<'a>,
    /// Whether the receiver has received from the sender before.
    known: bool,
    /// Whether the named rank has finished.
    over: bool,
}

impl Case<'_> {
    /// The receive that names another rank than the one that sent its message.
    pub(super) fn wrong_source(&self, found: &Blocked) -> Option<Reason> {
        let receives: Vec<_> = self.receives(found).collect();
        let receives = self.that_block_others(found, &receives);
        let all = receives.into_iter().filter_map(|(receiver, receive)| self.misnamed(receiver, receive));
        let (over, stuck): (Vec<_>, Vec<_>) = all.partition(|one| one.over);
        let one = over.first().or_else(|| match stuck.as_slice() {
            // One mistake: of several, each would leave the others.
            [one] if self.would_match(found, one) => Some(one),
            _ => None,
        })?;
        Some(self.names_another(found, one))
    }

    fn misnamed<'s>(&'s self, receiver: ProcessIndex, receive: &'s Receive) -> Option<Misnamed<'s>> {
        let (comm, Peer::One(named)) = (receive.matches.comm, receive.matches.from) else { return None };
        let (at, by) = (self.process(receiver)?, self.process(named)?);
        let silent = by.messaging.is_some() && !by.sent_to(comm).any(|(to, _)| to == receiver);
        if !silent || by.lost || at.lost || at.messaging.is_none() {
            return None;
        }
        let left = self.pairs().left(receiver).iter().take(MOST_COMPARED);
        let mut left = left.copied().filter(|sent| {
            distance(receive, *sent) == Some(OTHER_SENDER) && !self.pairs().is_matched(sent.1)
        });
        let sent = left.next()?;
        if left.any(|other| other.0 != sent.0) {
            return None;
        }
        let mut before = at.received_from(comm).peekable();
        let first = before.peek().is_none();
        let known = before.any(|(other, _)| other == sent.0);
        let over = by.is_gone() || collectives::is_finalizing(by);
        let meant = known || if over { first } else { named == receiver };
        meant.then_some(Misnamed { receiver, receive, named, sent, known, over })
    }

    /// Whether no process would be stuck if the receive named the sender.
    fn would_match(&self, found: &Blocked, one: &Misnamed<'_>) -> bool {
        let Misnamed { receiver, receive, sent: (sender, _), .. } = *one;
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

    fn names_another(&self, found: &Blocked, one: &Misnamed<'_>) -> Reason {
        let Misnamed { receiver, receive, named, sent: (sender, message), known, .. } = *one;
        let (waits, from) = (self.words.rank(receiver), self.words.rank(named));
        let silent = match named == receiver {
            true => "it has sent itself none there".to_owned(),
            false => format!("rank {from} has sent it none there, and is {}", self.words.activity(named)),
        };
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: {silent}; rank {} sent {}, which nobody receives",
            self.words.message(&receive.matches),
            self.words.rank(sender),
            self.words.sent(message),
        );
        let next = "check the source of that receive: with the rank that sent the message, it would match";
        let other = if known { sender } else { named };
        let mut reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next).blaming(self.culprit(receiver));
        if other != receiver {
            reason = reason.blaming(self.culprit(other));
        }
        reason.cycle = cycle::cycle(self.snapshot, found);
        reason
    }
}
