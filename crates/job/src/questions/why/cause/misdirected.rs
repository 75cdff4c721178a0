//! A message sent to the wrong rank, where the right one would have released the waiting ranks; or to a rank of
//! another communicator, as by a spawned process that uses its own `MPI_COMM_WORLD` instead of the intercommunicator to
//! its parents.
//!
//! That a message like the awaited one went elsewhere proves nothing: a sender may send similar messages to
//! several ranks. So the message is redirected, in a copy of the snapshot, to the rank that waits for it. It
//! is the reason only if this leaves no process stuck, and if there is just one such message. A ring in which
//! each member has sent to another rank what the next member wants remains a ring: no one of those messages
//! is more at fault than the others.

use super::stuck::MOST_COMPARED;
use super::{Case, Reason};
use crate::questions::why::blocked::{Blocked, blocked};
use crate::questions::why::cycle;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{
    CommIndex, Match, Message, Need, Peer, Process, ProcessIndex, Receive, Wait,
};
use crate::questions::why::verdict::Kind;

/// Where a message is searched that went to the wrong rank.
#[derive(Clone, Copy)]
enum Reach {
    /// On the communicator of the receive.
    SameComm,
    /// On other communicators, with the awaited tag.
    OtherComms,
}

/// A receive, and the matching message that went to another rank.
#[derive(Clone, Copy)]
struct Astray<'a> {
    receiver: ProcessIndex,
    receive: &'a Receive,
    sent: Sent<'a>,
}

impl Astray<'_> {
    /// Equal for messages explained by one mistake: a loop sends the same again.
    fn route(&self) -> (ProcessIndex, ProcessIndex, ProcessIndex) {
        (self.sent.0, self.receiver, self.sent.1.to)
    }
}

impl<'c> Case<'c> {
    /// Stuck ranks that one message would release if it had gone to the rank that waits for it.
    pub(super) fn misdirected(&self, found: &Blocked) -> Option<Reason> {
        self.only_released_by(found, Reach::SameComm)
            .or_else(|| self.only_released_by(found, Reach::OtherComms))
    }

    fn only_released_by(&self, found: &Blocked, reach: Reach) -> Option<Reason> {
        let receives: Vec<_> = self.receives(found).collect();
        // In a ring of senders, the receive is outside.
        let one = self.only_astray(found, &self.that_block_others(found, &receives), reach);
        let one = one.or_else(|| self.only_astray(found, &receives, reach));
        let one = one.filter(|one| self.would_release(found, *one))?;
        let Astray { receiver, receive, sent: (sender, message) } = one;
        let ring = cycle::cycle(self.snapshot, found);
        let held = match ring.as_slice() {
            [] => String::new(),
            ring => format!("; hence {}", self.links(ring)),
        };
        let verdict = format!(
            "rank {} waits for {} that was never sent; rank {} sent {} instead, which nobody receives{held}",
            self.words.rank(receiver),
            self.words.message(&receive.matches),
            self.words.rank(sender),
            self.words.sent(message)
        );
        let next = match reach {
            Reach::SameComm => {
                "check the destination of that send: sent to the rank that waits for it, it would release all waiting ranks"
            }
            Reach::OtherComms => {
                "check the communicator of that send: sent to the rank that waits for it, on the communicator of its \
                 receive, it would release all waiting ranks"
            }
        };
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next);
        let mut reason = reason.blaming(self.culprit(sender)).blaming(self.culprit(receiver));
        reason.cycle = ring;
        Some(reason)
    }

    /// Returns the only message that went to another rank than the one of these that waits for it.
    fn only_astray<'s>(
        &'s self,
        found: &'s Blocked,
        receives: &[(ProcessIndex, &'s Receive)],
        reach: Reach,
    ) -> Option<Astray<'s>> {
        let mut all = receives.iter().take(MOST_COMPARED).flat_map(|(receiver, receive)| {
            self.astray(found, *receiver, receive, reach).map(|sent| Astray {
                receiver: *receiver,
                receive,
                sent,
            })
        });
        let one = all.next()?;
        (!all.any(|other| other.route() != one.route())).then_some(one)
    }

    /// Returns messages a receive wants that were sent to processes which can never receive them.
    fn astray<'s>(
        &'s self,
        found: &'s Blocked,
        receiver: ProcessIndex,
        receive: &Receive,
        reach: Reach,
    ) -> impl Iterator<Item = Sent<'s>> + use<'s, 'c> {
        let envelope = match receive.matches {
            Match { from: Peer::One(from), comm, tag, partitioned: false } => Some((from, comm, tag)),
            _ => None,
        };
        envelope.into_iter().flat_map(move |(from, comm, tag)| {
            let sent = self.process(from).map_or(&[][..], |process| &process.sent);
            let fits = move |message: &Message| tag.is_none_or(|tag| message.tag == tag);
            let reached = move |message: &Message| match reach {
                Reach::SameComm => message.comm == comm,
                Reach::OtherComms => message.comm != comm && tag.is_some(),
            };
            let alike = move |message: &&Message| reached(message) && fits(message);
            let live = |to: ProcessIndex| found.live.get(to as usize).copied().unwrap_or(true);
            let left = |message: &Message| {
                self.pairs().left(message.to).iter().any(|(_, left)| std::ptr::eq(*left, message))
            };
            let lost = move |message: &&Message| message.to != receiver && !live(message.to) && left(message);
            // A message the receiver got with another tag, before any went elsewhere, is closer to what it
            // wants.
            let instead = move |message: &&Message| {
                message.to == receiver && message.comm == comm && !fits(message) && left(message)
            };
            let before = sent.iter().take_while(move |message| !instead(message));
            before.filter(alike).filter(lost).map(move |message| (from, message))
        })
    }

    /// Whether no process remains stuck once the message goes to the rank that waits for it.
    fn would_release(&self, found: &Blocked, one: Astray<'_>) -> bool {
        let Astray { receiver, receive, sent: (sender, message) } = one;
        let comm = receive.matches.comm;
        self.none_would_be_stuck(found, sender, |process| redirect(process, message, (receiver, comm)))
    }

    /// Whether processes are stuck and none would be if one of them had done something else.
    pub(super) fn none_would_be_stuck(
        &self,
        found: &Blocked,
        process: ProcessIndex,
        had: impl FnOnce(&mut Process),
    ) -> bool {
        let mut snapshot = self.snapshot.clone();
        if let Some(process) = snapshot.processes.get_mut(process as usize) {
            had(process);
        }
        found.stuck().next().is_some() && blocked(&snapshot, self.acts, false).stuck().next().is_none()
    }
}

/// Redirects the oldest of these messages to another process on a communicator, and makes calls that wait for
/// its receipt wait for that process.
fn redirect(process: &mut Process, message: &Message, (to, comm): (ProcessIndex, CommIndex)) {
    let same = |known: &Message| (known.to, known.comm, known.tag) == (message.to, message.comm, message.tag);
    if let Some(sent) = process.sent.iter_mut().find(|sent| same(sent)) {
        (sent.to, sent.comm) = (to, comm);
    }
    for need in needs(process) {
        if let Need::Receiver(sent) = need
            && same(sent)
        {
            (sent.to, sent.comm) = (to, comm);
        }
    }
}

/// Returns what the calls of a process wait for.
pub(super) fn needs(process: &mut Process) -> impl Iterator<Item = &mut Need> {
    let calls = process.threads.iter_mut().filter_map(|thread| thread.call.as_mut());
    calls.flat_map(|call| match &mut call.wait {
        Wait::Nothing => &mut [][..],
        Wait::All(needs) | Wait::Any(needs) => needs.as_mut_slice(),
    })
}
