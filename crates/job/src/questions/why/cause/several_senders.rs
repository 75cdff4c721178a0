//! A receive from any rank, while several ranks have sent something else to its rank.
//!
//! What several have sent is no mistake of any of them: they have gone on to the next step of the program, or the
//! receiver asks for the wrong thing. If they are most of the ranks that could send, the others hold it up.

use super::left_out::SEVERAL;
use super::{Case, Reason};
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Peer, ProcessIndex, Receive};
use crate::questions::why::verdict::Kind;
use std::collections::BTreeSet;

impl Case<'_> {
    /// Messages alike in all but their senders, of which none is what the receive wants.
    pub(super) fn several_senders(
        &self,
        receiver: ProcessIndex,
        receive: &Receive,
        (_, message): Sent<'_>,
    ) -> Option<Reason> {
        let envelope = (message.comm, message.tag, message.partitioned);
        let left = self.pairs().left(receiver).iter().filter(|(_, other)| !self.pairs().is_matched(other));
        let alike = left.filter(|(_, other)| (other.comm, other.tag, other.partitioned) == envelope);
        let senders: BTreeSet<ProcessIndex> = alike.map(|(sender, _)| *sender).collect();
        if receive.matches.from != Peer::Any || senders.len() < SEVERAL {
            return None;
        }
        let others = self.others(receiver, receive, &senders);
        // Such a message of theirs may have been received before.
        let sent = |one: &ProcessIndex| {
            self.process(receiver).is_none_or(|at| at.has_received(message.comm, *one, message.tag))
        };
        let held_up = !others.is_empty() && others.len() < senders.len() && !others.iter().any(sent);
        let doing = if held_up { self.did_not(&others) } else { String::new() };
        let verdict = format!(
            "rank {} waits for {} that was never sent; {} each sent {} instead, which nobody receives{doing}",
            self.words.rank(receiver),
            self.words.message(&receive.matches),
            self.words.ranks(senders.iter().copied()),
            self.words.sent(message)
        );
        let (culprits, next) = match held_up {
            true => (others, "see what those that did not send it did instead"),
            false => (
                std::iter::once(receiver).chain(senders).collect(),
                "compare tag and communicator of the receive with those of the sends: it may be one receive too many",
            ),
        };
        let mut reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next);
        reason.culprits.extend(self.culprits(culprits));
        Some(reason)
    }

    /// Formats `; rank 3 did not, and is in MPI_Barrier at a.c:8`.
    fn did_not(&self, these: &[ProcessIndex]) -> String {
        let who = self.words.ranks(these.iter().copied());
        match these {
            [one] => format!("; {who} did not, and is {}", self.words.activity(*one)),
            _ => format!("; {who} did not ({})", self.words.each_doing(&self.words.doings(these))),
        }
    }

    /// Returns the members of the communicator of a receive other than its rank and these.
    fn others(
        &self,
        receiver: ProcessIndex,
        receive: &Receive,
        these: &BTreeSet<ProcessIndex>,
    ) -> Vec<ProcessIndex> {
        let comm = self.snapshot.communicators.get(receive.matches.comm as usize);
        let members = comm.into_iter().flat_map(|comm| comm.members.iter().copied());
        members.filter(|one| *one != receiver && !these.contains(one)).collect()
    }
}
