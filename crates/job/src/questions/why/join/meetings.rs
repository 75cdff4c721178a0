//! Calls that others must make too, found by other things than a number on a communicator: by a tag, or because there is no
//! communicator yet.

use super::{Joiner, Observation, observation, verdict};
use crate::questions::observation::Action;
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

/// Of calls that find each other by a tag, larger groups are not gone through for every member.
const MOST_MET: usize = 1 << 10;

impl Joiner<'_> {
    /// That others make the call that belongs to one; nothing if they do.
    pub(super) fn matched(&self, function: &str, at: (u64, i64), with: &[u32], kind: Action) -> Option<Need> {
        let (world, ..) = *self.slot;
        if with.len() > MOST_MET {
            let what = format!("the others that call {function} with tag {}", at.1).into();
            return Some(Need::Outside { what, kind: verdict(kind) });
        }
        let makes = |seen: &Observation| {
            let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
            calls.flat_map(|call| &call.needs).any(|need| match need {
                observation::Need::Match { function: other, comm, tag, .. } => {
                    other == function && (*comm, *tag) == at
                }
                _ => false,
            })
        };
        let absent = |index: &ProcessIndex| {
            *index != self.me
                && !self.slots.get(*index as usize).and_then(|(_, _, seen)| *seen).is_some_and(makes)
        };
        let place = |rank: &u32| {
            let at = self.slots.binary_search_by_key(&(world, *rank), |(world, rank, _)| (*world, *rank));
            at.ok().map(|at| at as ProcessIndex)
        };
        let with = with.iter().filter_map(place);
        let absent: Vec<ProcessIndex> = with.filter(absent).collect();
        let comm = self.communicators.index(at.0).and_then(|comm| self.communicators.list.get(comm as usize));
        let on = comm.map_or_else(String::new, |comm| format!(" on {}", comm.name));
        let what = format!("call {function} with tag {}{on}", at.1);
        (!absent.is_empty()).then(|| self.action(absent, &what, verdict(kind)))
    }

    /// That all others of its world call `MPI_Init`; nothing if they have.
    pub(super) fn start(&self) -> Option<Need> {
        let by = self.parties.not_started(self.slot.0)?;
        Some(Need::Action { by, every: true, what: "call MPI_Init".into(), kind: Kind::RANK_GONE })
    }
}
