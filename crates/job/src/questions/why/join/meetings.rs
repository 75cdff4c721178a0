//! Calls that other processes must make too and that are matched by something other than a number on a
//! communicator: by a tag, or because there is no communicator yet.

use super::{Joiner, Observation, observation, verdict};
use crate::observation::{Action, Call};
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

/// Maximum size of a group that is examined for every member, for calls matched by a tag.
const MOST_MET: usize = 1 << 10;
/// Seconds that a launcher may take to start processes before these are said to be missing.
const STARTING: f64 = 10.0;

impl Joiner<'_> {
    /// Others must make the matching call; `None` if they do.
    pub(super) fn matched(&self, function: &str, at: (u64, i64), with: &[u32], kind: Action) -> Option<Need> {
        let (world, ..) = *self.slot;
        let comm = self.communicators.index(at.0).and_then(|comm| self.communicators.list.get(comm as usize));
        let on = comm.map_or_else(String::new, |comm| format!(" on {}", comm.name));
        let tag = match at {
            (0, _) => "the same string as tag".to_owned(),
            (_, tag) => format!("tag {tag}{on}"),
        };
        if with.len() > MOST_MET {
            let what = format!("the others that call {function} with {tag}").into();
            return Some(Need::Outside { what, kind: verdict(kind) });
        }
        let (_, me, _) = *self.slot;
        let seen = |index: &ProcessIndex| self.slots.get(*index as usize).and_then(|(_, _, seen)| *seen);
        // Another process's call matches this one if it is for the same group, or involves this process.
        let means = |theirs: &[u32]| match kind {
            Action::Member => theirs == with,
            _ => theirs.contains(&me),
        };
        let theirs = |index: &ProcessIndex| seen(index).into_iter().flat_map(|seen| meets(seen, function));
        let makes = |index: &ProcessIndex| theirs(index).any(|(their_at, of)| their_at == at && means(of));
        let absent = |index: &ProcessIndex| *index != self.me && !makes(index);
        let place = |rank: &u32| {
            let at = self.slots.binary_search_by_key(&(world, *rank), |(world, rank, _)| (*world, *rank));
            at.ok().map(|at| at as ProcessIndex)
        };
        let absent: Vec<ProcessIndex> = with.iter().filter_map(place).filter(absent).collect();
        let for_others = absent.iter().flat_map(&theirs).any(|(their_at, _)| their_at == at);
        let passed =
            |index: &ProcessIndex| theirs(index).find(|(_, of)| means(of)).map(|(their_at, _)| their_at);
        // What all of them passed instead, if each makes the call.
        let other: Option<Vec<(u64, i64)>> = absent.iter().map(passed).collect();
        let other = other.filter(|other| !other.is_empty());
        let same = match (for_others, kind, other.as_deref()) {
            (true, Action::Member, _) => " for the same group".to_owned(),
            (true, ..) => " to meet it".to_owned(),
            (false, _, Some([(comm, tag), rest @ ..])) if rest.iter().all(|one| *one == (*comm, *tag)) => {
                match (*comm == at.0, *comm) {
                    (true, 0) => ", not with another one".to_owned(),
                    (true, _) => format!(", not with tag {tag}"),
                    (false, _) => ", not on another communicator".to_owned(),
                }
            }
            (false, _, Some(_)) => ", not with other tags".to_owned(),
            (false, ..) => String::new(),
        };
        let all_make_it = !absent.is_empty() && absent.iter().all(|index| theirs(index).next().is_some());
        let kind_of_verdict = match kind {
            Action::Member if all_make_it => Kind::COLLECTIVE_MISMATCH,
            _ => verdict(kind),
        };
        let what = format!("call {function} with {tag}{same}");
        // A group is complete only with its last member; for two leaders, one other suffices, and then all members
        // of its group.
        if absent.is_empty() && kind != Action::Member {
            return self.group_of(function, with.iter().filter_map(place), &tag, kind);
        }
        (!absent.is_empty()).then(|| Need::Action {
            by: self.parties.index(absent),
            every: kind == Action::Member,
            what: what.into(),
            kind: kind_of_verdict,
        })
    }

    /// The members of the other leader's group must make the call; `None` if they do.
    fn group_of(
        &self,
        function: &str,
        leaders: impl Iterator<Item = ProcessIndex>,
        tag: &str,
        kind: Action,
    ) -> Option<Need> {
        let seen = |index: ProcessIndex| self.slots.get(index as usize).and_then(|(_, _, seen)| *seen);
        let entered = |index: ProcessIndex, comm: u64, number: u64| {
            let on = seen(index).and_then(|seen| seen.communicators.iter().find(|on| on.identity == comm));
            on.is_some_and(|on| on.collectives >= number)
        };
        let inside =
            leaders.filter_map(seen).flat_map(|seen| &seen.threads).filter_map(|one| one.call.as_ref());
        let collectives = inside.flat_map(|call| &call.needs).filter_map(|need| match need {
            observation::Need::Collective(inside) if inside.function == function => Some(inside),
            _ => None,
        });
        let mut absent: Vec<ProcessIndex> = Vec::new();
        for inside in collectives {
            let group = self.communicators.index(inside.comm);
            let group = group.and_then(|at| self.communicators.list.get(at as usize));
            let members = group.map_or(&[][..], |group| &group.members);
            absent.extend(members.iter().filter(|one| !entered(**one, inside.comm, inside.number)));
        }
        let what = format!("call {function} with {tag}").into();
        (!absent.is_empty()).then(|| Need::Action {
            by: self.parties.index(absent),
            every: true,
            what,
            kind: verdict(kind),
        })
    }

    /// All other processes of its world must call `MPI_Init`; `None` if they have.
    pub(super) fn start(&self) -> Option<Need> {
        let by = self.parties.not_started(self.slot.0)?;
        Some(Need::Action { by, every: true, what: "call MPI_Init".into(), kind: Kind::RANK_GONE })
    }
}

/// What a call needs from processes that are not observed.
pub(super) fn outside(call: &Call, what: &str, kind: Action) -> Need {
    let starting = kind == Action::Start && call.age_s.is_none_or(|age_s| age_s < STARTING);
    Need::Outside { what: what.into(), kind: if starting { Kind::RUNNING } else { verdict(kind) } }
}

/// Returns how the open calls of a function are met by others: communicator and tag, and the other callers.
fn meets<'o>(seen: &'o Observation, function: &'o str) -> impl Iterator<Item = ((u64, i64), &'o [u32])> {
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    calls.flat_map(|call| &call.needs).filter_map(move |need| match need {
        observation::Need::Match { function: other, comm, tag, with, .. } if other == function => {
            Some(((*comm, *tag), with.as_slice()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spawned_processes_are_missing_only_once_a_launcher_had_time_to_start_them() {
        let kind = |age_s, action| {
            let call = Call { age_s: Some(age_s), ..Call::default() };
            let Need::Outside { kind, .. } = outside(&call, "others", action) else { panic!("another need") };
            kind
        };
        assert_eq!(kind(STARTING / 2.0, Action::Start), Kind::RUNNING);
        assert_eq!(kind(STARTING * 2.0, Action::Start), Kind::NO_PARTNER);
        assert_eq!(kind(STARTING / 2.0, Action::Partner), Kind::NO_PARTNER);
    }
}
