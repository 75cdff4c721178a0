//! Some processes can never go on.

use super::distance::{OTHER_SENDER, distance};
use super::left_out::SEVERAL;
use super::{Case, Reason, WHY_GONE};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{
    Call, Collective, CommIndex, Condition, Match, Message, Need, Peer, Process, ProcessIndex, Receive, Wait,
};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};
use crate::questions::why::{collectives, cycle};
use std::collections::HashSet;

/// Maximum number of messages to one receiver compared with what it wants.
pub(super) const MOST_COMPARED: usize = 256;
/// A message that differs by at most this much from the awaited one was meant for it: it comes from the
/// awaited sender, and only the tag or the communicator differs.
pub(super) const MEANT_FOR_IT: u8 = 2;

/// Advice if a rank is in `MPI_Finalize` or past it.
const LEFT_EARLY: &str =
    "look for the branch of the program in which that rank leaves earlier than the others";

/// Advice if few ranks are in a collective and most are in `MPI_Finalize`.
const CALLED_TOO_OFTEN: &str = "look for the branch of the program in which only that rank makes that call, or makes it once more than the others";

/// A stuck receive, and a message to its rank that nobody receives and that it may have been meant to take.
struct Miss<'a> {
    receiver: ProcessIndex,
    receive: &'a Receive,
    sent: Sent<'a>,
}

impl Case<'_> {
    /// The reason why processes can never go on.
    pub(super) fn stuck(&self, found: &Blocked) -> Option<Reason> {
        found.stuck().next()?;
        let ended = |process: &Process| matches!(process.condition, Condition::Ended(_));
        let finalized = |process: &Process| process.condition == Condition::Finalized;
        self.gone(found, ended)
            .or_else(|| self.misdirected(found))
            .or_else(|| self.taken_by_probe(found))
            .or_else(|| self.near_miss(found, MEANT_FOR_IT))
            .or_else(|| self.not_started(found))
            .or_else(|| self.wrong_group(found))
            .or_else(|| self.elsewhere(found))
            .or_else(|| self.wrong_source(found))
            .or_else(|| self.gone(found, finalized))
            .or_else(|| self.buffered(found))
            .or_else(|| self.finalizing(found))
            .or_else(|| self.action(found))
            .or_else(|| self.left_out(found, SEVERAL))
            .or_else(|| self.fewer(found))
            .or_else(|| self.ring_of_messages(found))
            .or_else(|| self.near_miss(found, u8::MAX))
            .or_else(|| self.left_out(found, 1))
            .or_else(|| self.ring(found))
            .or_else(|| self.nobody_left(found))
    }

    /// A process waits for one that is gone.
    pub(super) fn gone(&self, found: &Blocked, gone: impl Fn(&Process) -> bool) -> Option<Reason> {
        let mut missed = cycle::waited_for(self.snapshot, found.stuck());
        missed.retain(|peer| self.process(*peer).is_some_and(&gone));
        let one = *missed.first()?;
        let waiting = self.words.members(found.stuck());
        let how = match self.words.doings(&missed).as_slice() {
            [_] => format!(", which {}", self.words.activity_of(one, missed.len())),
            several => format!(" ({})", self.words.each_doing(several)),
        };
        let gone = self.words.ranks(missed.iter().copied());
        let verdict = format!("{} {} for {gone}{how}", ranks(&waiting), verb(&waiting, "waits", "wait"));
        let finalized = missed.iter().filter_map(|peer| self.process(*peer));
        let next = match finalized.into_iter().all(|peer| peer.condition == Condition::Finalized) {
            true => LEFT_EARLY,
            false => WHY_GONE,
        };
        let mut reason = Reason::new(Kind::RANK_GONE, verdict, next);
        let misses = |one: &ProcessIndex| {
            cycle::waited_for(self.snapshot, [*one]).iter().any(|peer| missed.contains(peer))
        };
        reason.about = found.stuck().filter(misses).collect();
        reason.culprits.extend(self.culprits(missed));
        Some(reason)
    }

    /// Returns the unmet receives of stuck processes.
    pub(super) fn receives(&self, found: &Blocked) -> impl Iterator<Item = (ProcessIndex, &Receive)> {
        let stuck: Vec<ProcessIndex> = found.stuck().collect();
        stuck.into_iter().filter_map(|index| Some((index, self.process(index)?))).flat_map(
            |(index, process)| {
                let needs = process.calls().flat_map(|call| call.wait.needs());
                needs.filter_map(move |need| match need {
                    Need::Message(receive) => Some((index, receive)),
                    _ => None,
                })
            },
        )
    }

    /// If there are rings, restricts these to the receives that hold up the others: meeting any other would
    /// change nothing.
    pub(super) fn that_block_others<'r>(
        &self,
        found: &Blocked,
        receives: &[(ProcessIndex, &'r Receive)],
    ) -> Vec<(ProcessIndex, &'r Receive)> {
        let core = cycle::core(self.snapshot, found);
        let any = core.contains(&true);
        let counts = |index: ProcessIndex| !any || core.get(index as usize).copied().unwrap_or(false);
        receives.iter().copied().filter(|(index, _)| counts(*index)).collect()
    }

    /// A stuck receive, and a message that differs from what it wants in one respect.
    pub(super) fn near_miss(&self, found: &Blocked, most: u8) -> Option<Reason> {
        let Miss { receiver, receive, sent } = self.nearest_miss(found, most)?;
        let other = self.unreceived_first(found, (receiver, receive), sent);
        if let Some(reason) = other.or_else(|| self.several_senders(receiver, receive, sent)) {
            return Some(reason);
        }
        if self.is_ahead(receiver, receive, sent.0) {
            return None;
        }
        let (sender, message) = sent;
        let alike = self.so_did(receiver, receive, sent);
        let (waits, wanted) = (self.words.rank(receiver), self.words.message(&receive.matches));
        let (other, left) = (self.words.rank(sender), self.words.sent(message));
        let (verdict, next) = match &receive.got {
            // The message may have been sent and taken by a receive it was not meant for.
            Some(at) if receive.matches.from != Peer::One(sender) => (
                format!(
                    "rank {waits} waits for {wanted}, having received one earlier at {at}; rank {other} sent {left}, which \
                     nobody receives"
                ),
                "if the earlier receive accepts any rank, name the rank there; mpiscope run --check reports each \
                 receive that could have taken another message",
            ),
            got => {
                let before = got.as_ref().map_or_else(String::new, |at| {
                    format!("; one like it was received earlier, at {at}, and may have been meant for this receive")
                });
                let so_did = match alike.as_slice() {
                    [] => String::new(),
                    others => format!("; so did {}", self.words.ranks(others.iter().copied())),
                };
                (
                    format!(
                        "rank {waits} waits for {wanted} that was never sent; rank {other} sent {left} instead, which nobody \
                         receives{so_did}{before}"
                    ),
                    what_to_compare(message, &receive.matches),
                )
            }
        };
        let odd = self.at_odds_with_two(found, (receiver, sender));
        let verdict = odd.as_ref().map_or(verdict.clone(), |(_, also)| format!("{verdict}{also}"));
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, next);
        if let Some((odd, _)) = odd {
            let cycle = cycle::cycle(self.snapshot, found);
            return Some(Reason { cycle, ..reason.blaming(self.culprit(odd)) });
        }
        // If the message came from another sender, the named one is the least suspect.
        let two = match receive.matches.from {
            Peer::One(from) if from != sender => [receiver, sender],
            _ if self.is_odd(receiver, sent, receive) => [receiver, sender],
            _ => [sender, receiver],
        };
        let mut reason = reason.blaming(self.culprit(two[0])).blaming(self.culprit(two[1]));
        reason.culprits.extend(self.culprits(alike));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    /// Whether a sender has already sent what is awaited from any rank, and another one has not.
    fn is_ahead(&self, receiver: ProcessIndex, receive: &Receive, sender: ProcessIndex) -> bool {
        let Match { from: Peer::Any, comm, tag: Some(tag), .. } = receive.matches else { return false };
        let members = self.snapshot.communicators.get(comm as usize).map_or(&[][..], |comm| &comm.members);
        let mut others = members.iter().filter(|one| **one != receiver).take(MOST_COMPARED);
        let has_sent = |one: ProcessIndex| self.has_sent((one, receiver), comm, tag);
        has_sent(sender) && others.any(|one| !has_sent(*one))
    }

    /// Returns other ranks from which the same rank awaits the same, and that have sent it the same message instead.
    fn so_did(
        &self,
        receiver: ProcessIndex,
        receive: &Receive,
        (sender, sent): Sent<'_>,
    ) -> Vec<ProcessIndex> {
        let left = self.pairs().left(receiver).iter().take(MOST_COMPARED);
        let alike = left.filter(|(from, message)| {
            *from != sender
                && (message.comm, message.tag, message.partitioned) == (sent.comm, sent.tag, sent.partitioned)
                && !self.pairs().is_matched(message)
        });
        let senders: HashSet<ProcessIndex> = alike.map(|(from, _)| *from).collect();
        if receive.matches.from != Peer::One(sender) || senders.is_empty() {
            return Vec::new();
        }
        let needs =
            self.process(receiver).into_iter().flat_map(Process::calls).flat_map(|call| call.wait.needs());
        let awaited = needs.filter_map(|need| match need {
            Need::Message(Receive { matches: Match { from: Peer::One(from), comm, tag, .. }, .. }) => {
                ((*comm, *tag) == (receive.matches.comm, receive.matches.tag)).then_some(*from)
            }
            _ => None,
        });
        let mut found: Vec<ProcessIndex> = awaited.filter(|from| senders.contains(from)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the stuck receive, and the message left over at its rank, that differ least, in at most `most`.
    fn nearest_miss(&self, found: &Blocked, most: u8) -> Option<Miss<'_>> {
        let receives: Vec<(ProcessIndex, &Receive)> = self.receives(found).collect();
        let mut best: Option<(u8, Miss<'_>)> = None;
        for (receiver, receive) in self.that_block_others(found, &receives) {
            let all = self.pairs().left(receiver).iter();
            let left = all.filter(|(_, message)| !self.pairs().is_matched(message));
            for sent in left.take(MOST_COMPARED) {
                let distance = distance(receive, *sent).filter(|distance| *distance <= most);
                // What keeps the named sender from sending explains more than what another one sent.
                let explained = |from: ProcessIndex| self.held_up(from, receiver);
                let distance = distance.filter(|distance| {
                    *distance < OTHER_SENDER
                        || !matches!(receive.matches.from, Peer::One(from) if explained(from))
                });
                if let Some(distance) = distance
                    && best.as_ref().is_none_or(|(least, _)| distance < *least)
                {
                    best = Some((distance, Miss { receiver, receive, sent: *sent }));
                }
            }
        }
        let (_, Miss { receiver, receive, sent }) = best?;
        // If another receive wants exactly this message, it went to the wrong rank, and the one awaited here
        // comes later.
        let (sender, Message { comm, tag, partitioned, .. }) = sent;
        let envelope =
            Match { from: Peer::One(sender), comm: *comm, tag: Some(*tag), partitioned: *partitioned };
        let exactly = receives.into_iter().rfind(|(_, receive)| receive.matches == envelope);
        let (receiver, receive) = exactly.unwrap_or((receiver, receive));
        Some(Miss { receiver, receive, sent })
    }

    /// Whether it is the receiver that uses another communicator: further ranks have exchanged messages with
    /// these two on that of the message, and on that of the receive at most fewer.
    fn is_odd(&self, receiver: ProcessIndex, (sender, message): Sent<'_>, receive: &Receive) -> bool {
        let two = [sender, receiver];
        let others_on = |comm: CommIndex| {
            let others = (0..).zip(&self.snapshot.processes).filter(|(other, _)| !two.contains(other));
            let with = |process: &Process| {
                let known = process.messaging.iter();
                let mut partners = known.flat_map(|known| known.sent_to.iter().chain(&known.received_from));
                partners.any(|(on, with, _)| *on == comm && two.contains(with))
            };
            others.filter(|(_, process)| with(process)).count()
        };
        message.comm != receive.matches.comm && others_on(message.comm) > others_on(receive.matches.comm)
    }

    /// A process waits for one that is in `MPI_Finalize` and will do nothing else.
    pub(super) fn finalizing(&self, found: &Blocked) -> Option<Reason> {
        let over = |index: ProcessIndex| self.process(index).is_some_and(collectives::is_finalizing);
        let mut seen = HashSet::new();
        // A library may have kept a copy of what a call sends that also receives.
        let may_be_over = |call: &Call, need: &Need| {
            let receives = |need: &Need| matches!(need, Need::Message(_));
            matches!(need, Need::Receiver(_)) && call.wait.needs().iter().any(receives)
        };
        let waits = || found.stuck().filter(|stuck| !over(*stuck)).flat_map(|stuck| self.musts(stuck));
        let (last, first): (Vec<_>, Vec<_>) = waits().partition(|(_, call, need)| may_be_over(call, need));
        first.into_iter().chain(last).find_map(|(stuck, _, need)| {
            // All processes in the same collective miss the same members.
            let new = !matches!(need, Need::Collective(c) if !seen.insert((c.comm, c.number)));
            if new { self.too_late(stuck, need, &over) } else { None }
        })
    }

    /// Returns what a process cannot do without: any one of a single need is that need.
    fn musts(&self, stuck: ProcessIndex) -> impl Iterator<Item = (ProcessIndex, &Call, &Need)> {
        let must = self.process(stuck).into_iter().flat_map(Process::calls).filter(|call| match &call.wait {
            Wait::All(_) => true,
            Wait::Any(needs) => needs.len() == 1,
            Wait::Nothing => false,
        });
        must.flat_map(move |call| call.wait.needs().iter().map(move |need| (stuck, call, need)))
    }

    fn too_late(
        &self,
        stuck: ProcessIndex,
        need: &Need,
        over: &dyn Fn(ProcessIndex) -> bool,
    ) -> Option<Reason> {
        let rank = self.words.rank(stuck);
        let (kind, culprits, verdict) = match need {
            Need::Message(receive) if receive.matches.from == Peer::Any => {
                self.nobody_sends(stuck, receive, over)?
            }
            Need::Message(receive) => {
                let Peer::One(from) = receive.matches.from else { return None };
                if !over(from) {
                    return None;
                }
                let (from_said, wanted) = (self.words.rank(from), self.words.message(&receive.matches));
                let taken = match (self.taken_before(stuck, receive), &receive.got) {
                    (Some(taken), _) => format!("; the message that it sent went to {}", taken.by()),
                    (None, Some(at)) => format!("; one that it sent was received earlier, at {at}"),
                    (None, None) => String::new(),
                };
                let verdict = format!(
                    "rank {rank} waits for {wanted} that was never sent: rank {from_said} is in MPI_Finalize{taken}"
                );
                (Kind::MESSAGE_NEVER_SENT, vec![from], verdict)
            }
            Need::Receiver(message) if !over(message.to) => return None,
            Need::Receiver(message) => {
                let (to, sent) =
                    (self.words.rank(message.to), self.words.sent(self.recorded(stuck, message)));
                let verdict =
                    format!("rank {rank} sent {sent} that is never received: rank {to} is in MPI_Finalize");
                (Kind::MESSAGE_NEVER_RECEIVED, vec![message.to], verdict)
            }
            Need::Collective(collective) => return self.entered_too_late(collective, over),
            Need::Action { .. } | Need::Outside { .. } => return None,
        };
        if !culprits.iter().any(|culprit| over(*culprit)) {
            return None;
        }
        let mut reason = Reason::new(kind, verdict, LEFT_EARLY);
        reason.culprits.extend(self.culprits(culprits));
        Some(reason)
    }

    /// A collective that members can no longer enter. If they outnumber those that have, these should not have.
    fn entered_too_late(
        &self,
        collective: &Collective,
        over: &dyn Fn(ProcessIndex) -> bool,
    ) -> Option<Reason> {
        let all = &self.snapshot.communicators.get(collective.comm as usize)?.members;
        let missing = collectives::missing(self.snapshot, collective.comm, collective.number);
        let known: HashSet<ProcessIndex> = missing.iter().copied().collect();
        let inside: Vec<ProcessIndex> = all.iter().copied().filter(|one| !known.contains(one)).collect();
        let missing: Vec<ProcessIndex> = missing.into_iter().filter(|rank| over(*rank)).collect();
        if missing.is_empty() {
            return None;
        }
        let members = self.words.members(missing.iter().copied());
        let verdict = format!(
            "{} never entered {}: {} in MPI_Finalize",
            ranks(&members),
            self.words.collective(collective),
            verb(&members, "it is", "they are")
        );
        if missing.len() <= inside.len() {
            let mut reason = Reason::new(Kind::COLLECTIVE_NOT_ENTERED, verdict, LEFT_EARLY);
            reason.culprits.extend(self.culprits(missing));
            return Some(reason);
        }
        let verdict = format!("{verdict}; only {} called it", self.words.ranks(inside.iter().copied()));
        let mut reason = Reason::new(Kind::COLLECTIVE_NOT_ENTERED, verdict, CALLED_TOO_OFTEN);
        reason.culprits.extend(self.culprits(inside));
        Some(reason)
    }

    /// A receive from any source while all other processes are in `MPI_Finalize` or past it.
    fn nobody_sends(
        &self,
        stuck: ProcessIndex,
        receive: &Receive,
        over: &dyn Fn(ProcessIndex) -> bool,
    ) -> Option<(Kind, Vec<ProcessIndex>, String)> {
        let comm = self.snapshot.communicators.get(receive.matches.comm as usize)?;
        let others = || comm.members.iter().copied().filter(|one| *one != stuck);
        let gone = |one: ProcessIndex| self.process(one).is_some_and(Process::is_gone);
        // Checked before they are collected: many ranks may wait for many others.
        if !others().all(|other| over(other) || gone(other)) {
            return None;
        }
        let others: Vec<ProcessIndex> = others().collect();
        let least = self.least(stuck, receive);
        let even = self.even(stuck, receive);
        let fewer = least.as_ref().map(|least| self.sent_least(least, stuck) + "; ");
        let compared = fewer.or_else(|| even.as_ref().map(|even| self.sent_evenly(even, stuck) + "; "));
        let compared = compared.unwrap_or_default();
        let verdict = format!(
            "rank {} waits for {} that was never sent, and no rank is left that could send it: {compared}{}",
            self.words.rank(stuck),
            self.words.message(&receive.matches),
            self.words.each_doing(&self.words.doings(&others)),
        );
        let culprits = match least.filter(|least| over(least.by)) {
            Some(least) => vec![least.by],
            None => even.map(|_| stuck).into_iter().chain(others).collect(),
        };
        Some((Kind::MESSAGE_NEVER_SENT, culprits, verdict))
    }

    /// Returns the message as recorded by the sender, with its size.
    pub(super) fn recorded<'m>(&'m self, sender: ProcessIndex, message: &'m Message) -> &'m Message {
        let sent = self.process(sender).map_or(&[][..], |process| &process.sent);
        let same = |m: &&Message| (m.to, m.comm, m.tag) == (message.to, message.comm, message.tag);
        sent.iter().rev().find(same).unwrap_or(message)
    }
}

fn what_to_compare(sent: &Message, wanted: &Match) -> &'static str {
    match (sent.partitioned, wanted.partitioned) {
        (true, false) => "only a partitioned receive (MPI_Precv_init) can receive a partitioned message",
        (false, true) => {
            "a partitioned receive can only receive a message of a partitioned send (MPI_Psend_init)"
        }
        _ => "compare source, tag and communicator of the receive with those of the send",
    }
}
