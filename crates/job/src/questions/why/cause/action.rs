//! Something that certain processes must do for another one: in one-sided or partitioned communication, or to meet
//! it in a call.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Need, Process, ProcessIndex, RELEASE};
use crate::questions::why::words::{place, ranks, verb};

/// Advice if ranks that hold locks wait for those of each other.
const IN_ONE_ORDER: &str =
    "request the locks in the same order on all ranks, or release one before requesting the next";

impl Case<'_> {
    /// A stuck process needs one of certain processes to act. What it must do itself explains more than what
    /// others must do, and is examined first.
    pub(super) fn action(&self, found: &Blocked) -> Option<Reason> {
        let needs = |stuck| self.process(stuck).into_iter().flat_map(needs_of).map(move |need| (stuck, need));
        let own = found.stuck().flat_map(needs).find_map(|(stuck, need)| self.own_action(stuck, need));
        own.or_else(|| {
            found.stuck().flat_map(needs).find_map(|(stuck, need)| self.action_of(found, stuck, need))
        })
    }

    fn own_action(&self, stuck: ProcessIndex, need: &Need) -> Option<Reason> {
        let Need::Action { by, kind, what, .. } = need else { return None };
        if self.snapshot.party(*by) != [stuck] {
            return None;
        }
        let call = self.process(stuck).and_then(|process| process.calls().next());
        let inside = call.map_or_else(String::new, |call| format!(", {}", place(call)));
        let verdict = format!("rank {} waits for itself to {what}{inside}", self.words.rank(stuck));
        let next = "it must do that before it waits, or in another thread";
        Some(Reason::new(*kind, verdict, next).blaming(self.culprit(stuck)))
    }

    /// What other processes must do for a stuck one, if this is such a need.
    pub(super) fn action_of(&self, found: &Blocked, stuck: ProcessIndex, need: &Need) -> Option<Reason> {
        let Need::Action { by, kind, .. } = need else { return None };
        let by = self.snapshot.party(*by);
        let first = *by.first()?;
        let same = |process: &Process| needs_of(process).any(|other| is_same_action(other, need));
        let alike = found.stuck().filter(|one| self.process(*one).is_some_and(same));
        let waiting = self.words.members(alike);
        let each_other = by == [first] && self.waits_for_action(first, stuck);
        let ring = cycle::cycle(self.snapshot, found);
        let next = match (by, each_other) {
            _ if ring.len() > 1 && self.all_wait_for_locks(&ring) => IN_ONE_ORDER,
            (_, true) => "compare what these two ranks pass to these calls",
            ([_], _) => "look at what that rank waits for",
            _ => "look at what those ranks wait for",
        };
        let verdict = format!(
            "{} {} for {}; rank {} is {}",
            ranks(&waiting),
            verb(&waiting, "waits", "wait"),
            self.words.need(need),
            self.words.rank(first),
            self.words.activity(first)
        );
        let mut reason = Reason::new(*kind, verdict, next);
        reason.culprits.extend(self.culprits(by.iter().copied()));
        reason.culprits.extend(each_other.then(|| self.culprit(stuck)));
        reason.cycle = ring;
        Some(reason)
    }

    /// Whether each of these processes waits for others to release a lock.
    fn all_wait_for_locks(&self, ring: &[ProcessIndex]) -> bool {
        let lock = |need: &Need| matches!(need, Need::Action { what, .. } if what.starts_with(RELEASE));
        let waits = |one| self.process(one).is_some_and(|process| needs_of(process).any(lock));
        ring.iter().all(|one| waits(*one))
    }

    /// Whether a process waits for a certain other one to act.
    fn waits_for_action(&self, waits: ProcessIndex, by: ProcessIndex) -> bool {
        let it =
            |need: &Need| matches!(need, Need::Action { by: of, .. } if self.snapshot.party(*of) == [by]);
        self.process(waits).is_some_and(|process| needs_of(process).any(it))
    }
}

fn needs_of(process: &Process) -> impl Iterator<Item = &Need> {
    process.calls().flat_map(|call| call.wait.needs())
}

fn is_same_action(one: &Need, other: &Need) -> bool {
    match (one, other) {
        (Need::Action { by: a, what: x, .. }, Need::Action { by: b, what: y, .. }) => (a, x) == (b, y),
        _ => false,
    }
}
