//! Members that have made the same collectives as the others since some point, but under other numbers.
//!
//! A member that skips a collective takes part in the next one of the others with its own one after that. If the
//! library lets it pass, the hang comes much later, at a call that is not wrong. What shows where it happened is that
//! the remembered calls of that member are those of the majority, one number earlier.

use super::remembered::Awaited;
use super::{Communicators, Slot, Texts};
use crate::observation::{self, History};
use crate::questions::why::snapshot::{ProcessIndex, Shifted};
use std::collections::HashMap;

/// Minimum number of members of which a majority is known to be right.
const LEAST_MEMBERS: usize = 3;
/// Maximum number of collectives that a member may have skipped, or made too many.
const MOST_SHIFT: u64 = 4;
/// Maximum number of members reported for a communicator.
const MOST_MEMBERS: usize = 16;

/// What distinguishes collectives: their position in a list of distinct calls.
type Kind = usize;

/// What one member remembers.
struct Member<'a> {
    process: ProcessIndex,
    history: &'a History,
    /// By position in the list of distinct calls of the history.
    kinds: Box<[Kind]>,
}

impl Member<'_> {
    /// Returns its calls by number, oldest first.
    fn made(&self) -> impl Iterator<Item = (u64, Kind)> {
        let entries = self.history.entries.iter();
        entries.filter_map(|(number, kind)| Some((*number, *self.kinds.get(*kind as usize)?)))
    }
}

/// The remembered collectives of one communicator.
struct Numbered<'a> {
    members: Vec<Member<'a>>,
    calls: Vec<&'a observation::Collective>,
    /// By number: the call that most members have made.
    most: HashMap<u64, Kind>,
}

/// A member, and how its collectives differ: since which number, whether that is the oldest one remembered, how many
/// it skipped, and the first of these.
type Shift<'a> = (ProcessIndex, u64, bool, i64, &'a observation::Collective);

/// Returns such members of communicators in which a process waits.
pub(super) fn shifted(
    slots: &[Slot<'_>],
    communicators: &Communicators,
    texts: &Texts,
    awaited: &Awaited,
) -> Vec<Shifted> {
    let mut by_comm: HashMap<u64, Vec<(ProcessIndex, &History)>> = HashMap::new();
    for (member, (.., seen)) in (0..).zip(slots) {
        let histories = seen.iter().flat_map(|seen| &seen.history);
        for history in histories.filter(|history| awaited.contains_key(&history.comm)) {
            by_comm.entry(history.comm).or_default().push((member, history));
        }
    }
    let mut found = Vec::new();
    for (identity, histories) in by_comm.into_iter().filter(|(_, all)| all.len() >= LEAST_MEMBERS) {
        let Some(comm) = communicators.index(identity) else { continue };
        let shifts = Numbered::of(&histories).shifts().into_iter();
        found.extend(shifts.map(|(process, since, earlier, skipped, call)| Shifted {
            comm,
            process,
            since,
            earlier,
            skipped,
            function: texts.of(&call.function),
            root: call.root,
            place: texts.known(&call.place),
        }));
    }
    found.sort_unstable_by_key(|shifted| (shifted.comm, shifted.process));
    found
}

impl<'a> Numbered<'a> {
    fn of(histories: &[(ProcessIndex, &'a History)]) -> Self {
        let mut known: HashMap<(&str, Option<&str>, Option<i64>), Kind> = HashMap::new();
        let (mut calls, mut members) = (Vec::new(), Vec::new());
        let mut counts: HashMap<u64, HashMap<Kind, usize>> = HashMap::new();
        for (member, history) in histories {
            let kind = |call: &'a observation::Collective| {
                *known.entry((&call.function, call.place.as_deref(), call.root)).or_insert_with(|| {
                    calls.push(call);
                    calls.len() - 1
                })
            };
            let member =
                Member { process: *member, history, kinds: history.kinds.iter().map(kind).collect() };
            for (number, kind) in member.made() {
                *counts.entry(number).or_default().entry(kind).or_default() += 1;
            }
            members.push(member);
        }
        let most = |of: HashMap<Kind, usize>| {
            let all: usize = of.values().sum();
            of.into_iter().find(|(_, count)| count * 2 > all).map(|(kind, _)| kind)
        };
        let most = counts.into_iter().filter_map(|(number, of)| Some((number, most(of)?))).collect();
        Self { members, calls, most }
    }

    fn shifts(&self) -> Vec<Shift<'a>> {
        let found = self.members.iter().filter_map(|member| self.shift(member));
        let found: Vec<Shift<'a>> = found.take(MOST_MEMBERS + 1).collect();
        let few = found.len() <= MOST_MEMBERS && found.len() * 2 < self.members.len();
        if few { found } else { Vec::new() }
    }

    /// Compares the calls of one member with those of most, from the first one that differs.
    fn shift(&self, member: &Member<'a>) -> Option<Shift<'a>> {
        let differs = |(number, kind): &(u64, Kind)| self.most.get(number).is_some_and(|most| most != kind);
        let (at, (number, own)) = member.made().enumerate().find(|(_, made)| differs(made))?;
        let since = || member.made().skip(at);
        let forward = (1..=MOST_SHIFT).find(|by| self.explains(since(), |number| Some(number + by)));
        let back = || (1..=MOST_SHIFT).find(|by| self.explains(since(), |number| number.checked_sub(*by)));
        let (skipped, call) = match forward {
            Some(by) => (by.cast_signed(), *self.most.get(&number)?),
            None => (-back()?.cast_signed(), own),
        };
        Some((member.process, number, at == 0 && number > 1, skipped, *self.calls.get(call)?))
    }

    /// Whether most members have made these calls under another number each, as far as they have got; at least one
    /// that differs from that of the same number, other than the first.
    fn explains(&self, made: impl Iterator<Item = (u64, Kind)>, other: impl Fn(u64) -> Option<u64>) -> bool {
        let most = |number: u64| self.most.get(&number).copied();
        let (mut alike, mut told_apart) = (true, 0);
        for (number, kind) in made {
            let Some(there) = other(number).and_then(most) else { continue };
            alike &= there == kind;
            told_apart += usize::from(there == kind && most(number).is_some_and(|same| same != kind));
        }
        alike && told_apart > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 0;
    const B: u32 = 1;
    const C: u32 = 2;

    /// A member that remembers these collectives, the first of which has this number.
    fn member(first: u64, calls: &[u32]) -> History {
        let call = |line: u32| observation::Collective {
            function: "MPI_Allreduce".to_owned(),
            place: Some(format!("a.c:{line}")),
            ..Default::default()
        };
        History {
            comm: 7,
            newest: first + calls.len() as u64 - 1,
            entries: (first..).zip(calls.iter().copied()).collect(),
            kinds: [A, B, C].map(call).into(),
            completed: Vec::new(),
            times: Vec::new(),
        }
    }

    /// By member: the number since which it differs, whether it may have begun earlier, how many it skipped, and the line
    /// of the first of these.
    fn found(members: &[History]) -> Vec<(ProcessIndex, u64, bool, i64, String)> {
        let histories: Vec<(ProcessIndex, &History)> = (0..).zip(members).collect();
        let shifts = Numbered::of(&histories).shifts().into_iter();
        shifts
            .map(|(member, since, earlier, by, call)| {
                (member, since, earlier, by, call.place.clone().unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn a_member_that_skipped_a_collective_has_made_those_of_the_others_one_number_earlier() {
        let others = member(1, &[A, B, C, A, B, C, A]);
        let odd = |calls: &[u32]| found(&[others.clone(), member(1, calls), others.clone()]);
        assert_eq!(odd(&[A, B, C, A, C, A]), [(1, 5, false, 1, "a.c:1".to_owned())]);
        assert_eq!(odd(&[A, B, A, B, C, A]), [(1, 3, false, 1, "a.c:2".to_owned())]);
        assert_eq!(odd(&[A, B, C, C, A]), [(1, 4, false, 2, "a.c:0".to_owned())]);
        assert_eq!(odd(&[A, B, C, A, B, B, C, A]), [(1, 6, false, -1, "a.c:1".to_owned())]);
        assert_eq!(odd(&[A, B, C, A, B, C, A]), [], "it is in step");
        assert_eq!(odd(&[A, B, C, A, C]), [], "a single call proves nothing");
        assert_eq!(odd(&[A, C, C, A, B, C]), [], "it has made other calls, not fewer");
    }

    #[test]
    fn of_two_members_neither_is_out_of_step_and_forgotten_collectives_may_be_the_first_that_differ() {
        let others = member(9, &[A, B, C, A, B, C]);
        let odd = member(8, &[A, B, C, A, B, C]);
        assert_eq!(found(&[others.clone(), odd.clone()]), []);
        assert_eq!(found(&[others.clone(), others, odd]), [(2, 9, false, 1, "a.c:0".to_owned())]);
        let others = member(9, &[A, B, C, A, B, C]);
        let odd = member(9, &[B, C, A, B, C]);
        assert_eq!(found(&[others.clone(), others, odd]), [(2, 9, true, 1, "a.c:0".to_owned())]);
    }

    #[test]
    fn half_of_the_members_are_not_called_odd() {
        let (one, other) = (member(1, &[A, B, C, A, B, C]), member(1, &[A, C, A, B, C]));
        assert_eq!(found(&[one.clone(), one, other.clone(), other]), []);
    }
}
