//! Communicators of a job, joined by identity.

use super::{MOST_UNSEEN, Places, Slot};
use crate::observation::{self, Observation};
use crate::questions::why::snapshot::{CommIndex, Communicator, ProcessIndex, Split};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The processes of a group by rank; `None` for an unknown one.
type Group = Arc<[Option<ProcessIndex>]>;

/// All communicators of a job.
#[derive(Debug, Default)]
pub struct Communicators {
    /// In the form used by the snapshot.
    pub list: Vec<Communicator>,
    index: HashMap<u64, CommIndex>,
    /// By index: the group, or both groups of an intercommunicator.
    groups: Vec<Vec<Group>>,
    /// `MPI_COMM_WORLD` and its duplicates share one member list.
    worlds: HashMap<(usize, u32), Group>,
    /// The highest known rank of each world, plus one.
    lengths: HashMap<usize, u32>,
}

impl Communicators {
    /// Joins what all processes know.
    pub fn join(slots: &[Slot<'_>], places: &Places) -> Self {
        let mut found = Self::default();
        for (world, rank, _) in slots.iter().filter(|(_, rank, _)| (*rank as usize) < MOST_UNSEEN) {
            let length = found.lengths.entry(*world).or_default();
            *length = (*length).max(rank.saturating_add(1));
        }
        for (me, (world, _, seen)) in (0..).zip(slots) {
            for comm in seen.iter().flat_map(|seen| &seen.communicators).filter(|comm| comm.identity != 0) {
                found.add(me, comm, &|rank| places.process(*world, rank), *world);
            }
        }
        found.add_splits(slots);
        for (comm, groups) in found.list.iter_mut().zip(&found.groups) {
            let members: BTreeSet<ProcessIndex> =
                groups.iter().flat_map(|group| group.iter().copied().flatten()).collect();
            comm.members = members.into_iter().collect();
        }
        found
    }

    /// Adds how communicators were made, once the communicators that were split are known.
    fn add_splits(&mut self, slots: &[Slot<'_>]) {
        for comm in slots.iter().filter_map(|(.., seen)| *seen).flat_map(|seen| &seen.communicators) {
            let Some(split) = &comm.split else { continue };
            let (Some(at), Some(of)) = (self.index(comm.identity), self.index(split.of)) else { continue };
            if let Some(known) = self.list.get_mut(at as usize)
                && known.split.is_none()
            {
                let place = split.place.as_deref().map(Arc::from);
                known.split = Some(Split { of, color: split.color, place });
            }
        }
    }

    fn add(
        &mut self,
        me: ProcessIndex,
        comm: &observation::Communicator,
        process: &dyn Fn(u32) -> Option<ProcessIndex>,
        world: usize,
    ) {
        let index = *self.index.entry(comm.identity).or_insert_with(|| {
            let name = comm.name.as_str().into();
            let identity = comm.identity;
            self.list.push(Communicator { name, identity, members: Arc::new([]), split: None });
            self.groups.push(Vec::new());
            (self.list.len() - 1) as CommIndex
        });
        let Some(groups) = self.groups.get_mut(index as usize) else { return };
        if !groups.iter().any(|group| is_of(group, me, comm)) {
            // An image may claim any size: there are no processes beyond the last one known.
            let size = comm.size.min(self.lengths.get(&world).copied().unwrap_or(0));
            let whole = || (0..size).map(process).collect();
            groups.push(match &comm.members {
                Some(ranks) => ranks.iter().map(|rank| process(*rank)).collect(),
                None => self.worlds.entry((world, size)).or_insert_with(whole).clone(),
            });
        }
        // Members in another world are known from the observations of that world.
        let remote =
            comm.remote.iter().map(|remote| remote.members.iter().map(|rank| process(*rank)).collect());
        for remote in remote.filter(|group: &Group| group.iter().any(Option::is_some)) {
            if !groups.contains(&remote) {
                groups.push(remote);
            }
        }
    }

    /// Returns the communicator with this identity.
    pub fn index(&self, identity: u64) -> Option<CommIndex> {
        self.index.get(&identity).copied()
    }

    /// Returns the process that `me` calls `rank` in its calls on a communicator: of the remote group, if
    /// there is one.
    pub fn partner(
        &self,
        me: ProcessIndex,
        seen: &Observation,
        identity: u64,
        rank: u32,
    ) -> Option<ProcessIndex> {
        let comm = seen.communicators.iter().find(|comm| comm.identity == identity)?;
        let mut groups = self.groups.get(self.index(identity)? as usize)?.iter();
        let wanted = |group: &&Group| is_of(group, me, comm) != comm.remote.is_some();
        groups.find(wanted)?.get(rank as usize).copied().flatten()
    }
}

/// Whether a process is the group member that it claims to be.
fn is_of(group: &Group, me: ProcessIndex, comm: &observation::Communicator) -> bool {
    group.get(comm.rank as usize) == Some(&Some(me))
}
