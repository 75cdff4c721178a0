//! Sets of processes that must act for others, each stored once: if a hundred thousand ranks wait for the
//! same process, or for the same fifty thousand, the snapshot contains one list.

use super::Slot;
use crate::observation::{self, Stage};
use crate::questions::why::snapshot::{PartyIndex, ProcessIndex};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The sets.
#[derive(Default)]
pub struct Parties {
    index: RefCell<HashMap<Arc<[ProcessIndex]>, PartyIndex>>,
    /// By world: the processes that have not called `MPI_Init`.
    not_started: HashMap<usize, PartyIndex>,
}

impl Parties {
    /// Creates the initial sets from the observations.
    pub fn of(slots: &[Slot<'_>]) -> Self {
        let mut worlds: HashMap<usize, Vec<ProcessIndex>> = HashMap::new();
        for (index, (world, _, seen)) in (0..).zip(slots) {
            if !seen.is_some_and(has_started) {
                worlds.entry(*world).or_default().push(index);
            }
        }
        let mut parties = Self::default();
        let not_started = worlds.into_iter().map(|(world, of)| (world, parties.index(of)));
        parties.not_started = not_started.collect();
        parties
    }

    /// Returns the index of a set.
    pub fn index(&self, of: Vec<ProcessIndex>) -> PartyIndex {
        let mut known = self.index.borrow_mut();
        let next = known.len() as PartyIndex;
        *known.entry(of.into()).or_insert(next)
    }

    /// Returns the processes of a world that have not called `MPI_Init`; `None` if all have.
    pub fn not_started(&self, world: usize) -> Option<PartyIndex> {
        self.not_started.get(&world).copied()
    }

    /// Returns the sets in the form used by the snapshot.
    pub fn list(self) -> Vec<Arc<[ProcessIndex]>> {
        let mut sets: Vec<(PartyIndex, Arc<[ProcessIndex]>)> =
            self.index.into_inner().into_iter().map(|(of, index)| (index, of)).collect();
        sets.sort_unstable_by_key(|(index, _)| *index);
        sets.into_iter().map(|(_, of)| of).collect()
    }
}

/// Whether a process is in `MPI_Init` or past it.
fn has_started(seen: &observation::Observation) -> bool {
    let needs = || seen.threads.iter().filter_map(|thread| thread.call.as_ref()).flat_map(|call| &call.needs);
    match seen.stage {
        Stage::Silent => false,
        Stage::Starting => needs().any(|need| *need == observation::Need::Start),
        Stage::Running | Stage::Finalized => true,
    }
}
