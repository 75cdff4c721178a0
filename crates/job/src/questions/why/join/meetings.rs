//! Calls that other processes must make too and that are matched by something other than a number on a
//! communicator: by a tag, or because there is no communicator yet.

use super::{Joiner, Observation, observation, verdict};
use crate::observation::Action;
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

/// Maximum size of a group that is examined for every member, for calls matched by a tag.
const MOST_MET: usize = 1 << 10;

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
        let makes = |seen: &Observation, means: &dyn Fn(&[u32]) -> bool| {
            let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
            calls.flat_map(|call| &call.needs).any(|need| match need {
                observation::Need::Match { function: other, comm, tag, with, .. } => {
                    other == function && (*comm, *tag) == at && means(with)
                }
                _ => false,
            })
        };
        let seen = |index: &ProcessIndex| self.slots.get(*index as usize).and_then(|(_, _, seen)| *seen);
        // Another process's call matches this one if it is for the same group, or involves this process.
        let means = |theirs: &[u32]| match kind {
            Action::Member => theirs == with,
            _ => theirs.contains(&me),
        };
        let absent =
            |index: &ProcessIndex| *index != self.me && !seen(index).is_some_and(|seen| makes(seen, &means));
        let place = |rank: &u32| {
            let at = self.slots.binary_search_by_key(&(world, *rank), |(world, rank, _)| (*world, *rank));
            at.ok().map(|at| at as ProcessIndex)
        };
        let absent: Vec<ProcessIndex> = with.iter().filter_map(place).filter(absent).collect();
        let without = absent.iter().filter_map(seen).any(|seen| makes(seen, &|_| true));
        let same = match (without, kind) {
            (false, _) => "",
            (true, Action::Member) => " for the same group",
            (true, _) => " to meet it",
        };
        let what = format!("call {function} with {tag}{same}");
        // A group is complete only with its last member; for two leaders, one other suffices.
        (!absent.is_empty()).then(|| Need::Action {
            by: self.parties.index(absent),
            every: kind == Action::Member,
            what: what.into(),
            kind: verdict(kind),
        })
    }

    /// All other processes of its world must call `MPI_Init`; `None` if they have.
    pub(super) fn start(&self) -> Option<Need> {
        let by = self.parties.not_started(self.slot.0)?;
        Some(Need::Action { by, every: true, what: "call MPI_Init".into(), kind: Kind::RANK_GONE })
    }
}
