//! Loops that poll for something no other process can bring about.
//!
//! A polling process can act: it may send when its clock says so, or take on work from outside MPI. So it is
//! not proven that all others wait for it. Only a wait for a message from a rank that can no longer send
//! anything is certain; everything else is called a problem only once it has lasted, and much longer than
//! earlier polling loops of these ranks did.

use super::left_out::SEVERAL;
use super::{Case, Reason};
use crate::observation::NOTHING_ACTIVE;
use crate::questions::why::blocked::Blocked;
use crate::questions::why::collectives;
use crate::questions::why::snapshot::{Call, Message, Need, Peer, Process, ProcessIndex, Wait};
use crate::questions::why::verdict::{Culprit, Kind};
use crate::questions::why::words::{ranks, verb};

/// Seconds of polling that make it a problem if all others wait in calls.
const LONG: f64 = 2.0;
/// The same if several poll: each of them may be waiting for its clock.
const LONG_OF_SEVERAL: f64 = 3.0;
/// The same if all poll for whatever anybody may send: programs that are driven by events do so while there are
/// none.
const LONG_OF_IDLE: f64 = 30.0;
/// Multiple of the longest earlier loop that makes it a problem.
const LONGER: f64 = 4.0;

impl Case<'_> {
    /// The reason if processes are stuck once polling is taken for waiting; `live` are those that can act if
    /// it is not.
    pub(super) fn polling(&self, found: &Blocked, live: &[bool]) -> Option<Reason> {
        let polls = |index: &ProcessIndex| self.polls(*index).next().is_some();
        let never = found.stuck().filter(polls).find(|one| self.never_comes(*one, live));
        let poller = never.or_else(|| found.stuck().find(polls))?;
        let who = self.words.members(found.stuck().filter(polls));
        if never.is_none() && !self.lasts(found, who.len()) {
            return Some(self.may_go_on(poller, &ranks(&who), verb(&who, "polls", "poll")));
        }
        let near = self
            .polled_past(found)
            .or_else(|| self.near_miss(found, u8::MAX))
            .or_else(|| self.not_started(found))
            .or_else(|| self.left_out(found, SEVERAL))
            .or_else(|| self.fewer(found))
            .or_else(|| self.left_out(found, 1))
            .or_else(|| self.ring_with_an_odd_one(found));
        // The one that must act is to blame, and not the one that polls for it.
        let owed = if near.is_none() { self.polled_action(found, poller) } else { None };
        let poller_may_err = owed.is_none();
        let near = near.or(owed);
        let (activity, next) = match &near {
            Some(near) => (near.verdict.clone(), near.next.as_str()),
            None => (
                format!(
                    "rank {} is {}{}",
                    self.words.rank(poller),
                    self.words.activity(poller),
                    self.other_side(poller)
                ),
                match self.polls_only_inactive_requests(poller) {
                    true => {
                        "that loop passes only null or inactive requests, so none of them can ever complete: start \
                         them (MPI_Start, MPI_Irecv, ...) or leave the loop"
                    }
                    false => "the other side waits too, or has ended: see the lines above",
                },
            ),
        };
        let nobody = if never.is_some() { "nobody" } else { "nobody else" };
        let verdict = format!(
            "{} {} for something that {nobody} can bring about: {activity}",
            ranks(&who),
            verb(&who, "polls", "poll"),
        );
        let mut reason = Reason::new(Kind::POLLING, verdict, next);
        let absent = self.absent(poller, live);
        let mut all: Vec<Culprit> = near.into_iter().flat_map(|near| near.culprits).collect();
        match absent.is_empty() {
            true if all.is_empty() || (who.len() == 1 && poller_may_err) => all.push(self.culprit(poller)),
            true => {}
            false => all.extend(self.culprits(absent)),
        }
        for culprit in all {
            if !reason.culprits.contains(&culprit) {
                reason.culprits.push(culprit);
            }
        }
        reason.certain = never.is_some();
        Some(reason)
    }

    /// A message whose receipt its sender waits for, while its receiver polls for several things in turn: only the
    /// latest of these is known, but it has asked for all of them since.
    fn polled_past(&self, found: &Blocked) -> Option<Reason> {
        let in_turn = |call: &Call| matches!(&call.wait, Wait::Any(needs) if needs.len() > 1);
        let receivers = found.stuck().filter(|one| self.polls(*one).any(in_turn));
        let mut left = receivers.flat_map(|one| self.pairs().left(one));
        let awaited = |sender: ProcessIndex, message: &Message| {
            let is_it = |need: &Need| {
                matches!(need, Need::Receiver(sent)
                    if (sent.to, sent.comm, sent.tag) == (message.to, message.comm, message.tag))
            };
            let calls = || self.process(sender).into_iter().flat_map(Process::calls);
            calls().any(|call| call.wait.needs().iter().any(is_it))
        };
        let (sender, message) =
            *left.find(|(sender, message)| !self.pairs().is_matched(message) && awaited(*sender, message))?;
        let verdict = format!(
            "rank {} sent {} and waits until it is received, but rank {} polls for something else",
            self.words.rank(sender),
            self.words.sent(message),
            self.words.rank(message.to)
        );
        let next = "compare tag and communicator of that message with those that its receiver polls for";
        let reason = Reason::new(Kind::MESSAGE_NEVER_RECEIVED, verdict, next);
        Some(reason.blaming(self.culprit(sender)).blaming(self.culprit(message.to)))
    }

    /// What another process must do for the poller: complete its side of a partitioned message, for instance.
    fn polled_action(&self, found: &Blocked, poller: ProcessIndex) -> Option<Reason> {
        let of_others = |need: &&Need| matches!(need, Need::Action { by, .. } if !self.snapshot.party(*by).contains(&poller));
        let mut needs = self.polls(poller).flat_map(|call| call.wait.needs()).filter(of_others);
        needs.find_map(|need| self.action_of(found, poller, need))
    }

    /// The calls a process polls with.
    fn polls(&self, index: ProcessIndex) -> impl Iterator<Item = &Call> {
        self.process(index).into_iter().flat_map(Process::calls).filter(|call| call.polling)
    }

    /// Whether a process polls with null or inactive requests only.
    fn polls_only_inactive_requests(&self, poller: ProcessIndex) -> bool {
        let nothing = |need: &Need| matches!(need, Need::Action { what, .. } if **what == *NOTHING_ACTIVE);
        self.polls(poller).flat_map(|call| call.wait.needs()).any(nothing)
    }

    /// Whether it has lasted so long that it will not resolve itself.
    fn lasts(&self, found: &Blocked, pollers: usize) -> bool {
        let calls = || found.stuck().flat_map(|one| self.polls(one));
        let shortest = calls().map(|call| call.age_s.unwrap_or(0.0)).fold(f64::INFINITY, f64::min);
        let before = calls().map(|call| call.polled_before_s).fold(0.0, f64::max);
        let least = match pollers {
            _ if self.is_idle(found) => LONG_OF_IDLE,
            1 => LONG,
            _ => LONG_OF_SEVERAL,
        };
        shortest >= least.max(LONGER * before)
    }

    /// Whether all processes poll for messages from any source, and none has come.
    fn is_idle(&self, found: &Blocked) -> bool {
        let from_any =
            |need: &Need| matches!(need, Need::Message(receive) if receive.matches.from == Peer::Any);
        let only = |call: &Call| call.polling && call.wait.needs().iter().all(from_any);
        found.stuck().all(|one| {
            let process = self.process(one);
            process.is_some_and(|process| process.calls().all(only)) && self.pairs().left(one).is_empty()
        })
    }

    /// Whether not even the poller itself could bring about what it polls for.
    fn never_comes(&self, poller: ProcessIndex, live: &[bool]) -> bool {
        let could_send = |from: ProcessIndex| from == poller || self.could_act(from, live);
        // A process that polls for a message from any source need not know whether there will be one.
        let never = |need: &Need| match need {
            Need::Message(receive) => matches!(receive.matches.from, Peer::One(from) if !could_send(from)),
            Need::Collective(_) => !self.absent_of(need, poller, live).is_empty(),
            _ => false,
        };
        self.polls(poller).any(|call| match &call.wait {
            Wait::Nothing => false,
            Wait::All(needs) => needs.iter().any(never),
            Wait::Any(needs) => needs.len() == 1 && needs.iter().all(never),
        })
    }

    /// Whether a process may still make calls.
    fn could_act(&self, who: ProcessIndex, live: &[bool]) -> bool {
        let acts = live.get(who as usize).copied().unwrap_or(true);
        acts && !self.process(who).is_some_and(collectives::is_finalizing)
    }

    /// Returns members that can no longer enter a collective that is polled for.
    fn absent_of(&self, need: &Need, poller: ProcessIndex, live: &[bool]) -> Vec<ProcessIndex> {
        let Need::Collective(collective) = need else { return Vec::new() };
        let mut missing = collectives::missing(self.snapshot, collective.comm, collective.number);
        missing.retain(|member| *member != poller && !self.could_act(*member, live));
        missing
    }

    fn absent(&self, poller: ProcessIndex, live: &[bool]) -> Vec<ProcessIndex> {
        let needs = self.polls(poller).flat_map(|call| call.wait.needs());
        needs.flat_map(|need| self.absent_of(need, poller, live)).collect()
    }

    /// Formats `; rank 1: in MPI_Finalize at ring.c:31` for the rank a message is expected from, or that is
    /// missing in a collective.
    fn other_side(&self, poller: ProcessIndex) -> String {
        let from = |need: &Need| match need {
            Need::Collective(collective) => {
                let missing = collectives::missing(self.snapshot, collective.comm, collective.number);
                missing.into_iter().find(|member| *member != poller)
            }
            Need::Message(receive) => match receive.matches.from {
                Peer::One(from) if from != poller => Some(from),
                _ => None,
            },
            _ => None,
        };
        let mut needs = self.polls(poller).flat_map(|call| call.wait.needs());
        let said = |from| format!("; rank {}: {}", self.words.rank(from), self.words.activity(from));
        needs.find_map(from).map(said).unwrap_or_default()
    }

    fn may_go_on(&self, poller: ProcessIndex, who: &str, poll: &str) -> Reason {
        let verdict = format!(
            "{who} {poll} for something that has not arrived yet, and may be waiting for a certain time or for \
             something outside of MPI: rank {} is {}",
            self.words.rank(poller),
            self.words.activity(poller)
        );
        let next =
            "look again later: a loop that lasts much longer than any earlier one is reported as polling";
        Reason::new(Kind::SLOW, verdict, next).blaming(self.culprit(poller))
    }
}
