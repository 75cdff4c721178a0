//! Topologies that two members know differently: one sends data to a process that does not expect it, or
//! waits for a process that sends none, or fewer than it lists.

use super::{Slot, communicators::Communicators};
use crate::observation::{Communicator, Need, Observation};
use crate::questions::why::snapshot::{OneSided, ProcessIndex};
use std::collections::BTreeMap;

/// Returns neighbors known to only one side, for processes in a collective of their topology.
pub fn one_sided(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<OneSided> {
    let mut found = Vec::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        let Some(seen) = seen else { continue };
        let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
        let comm = calls.flat_map(|call| &call.needs).find_map(|need| match need {
            Need::Neighbors { collective, .. } => Some(collective.comm),
            _ => None,
        });
        let Some(mine) = comm.and_then(|comm| on(seen, comm)) else { continue };
        let Some(comm) = communicators.index(mine.identity) else { continue };
        let mut look =
            |ranks: &Option<Vec<u32>>, theirs: fn(&Communicator) -> &Option<Vec<u32>>, gets: bool| {
                for (rank, times) in counted(ranks.iter().flatten()) {
                    let Some((peer, there)) = other(slots, communicators, (me, seen), (mine.identity, rank))
                    else {
                        continue;
                    };
                    let Some(known) = theirs(there) else { continue };
                    let back = known.iter().filter(|one| **one == mine.rank).count();
                    if back < times {
                        found.push(OneSided { comm, knows: me, of: peer, gets, times, back });
                    }
                }
            };
        look(&mine.sources, |there| &there.destinations, true);
        look(&mine.destinations, |there| &there.sources, false);
    }
    found
}

/// Returns each rank once, with the number of times that it is listed.
fn counted<'r>(ranks: impl Iterator<Item = &'r u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for rank in ranks {
        *counts.entry(*rank).or_default() += 1;
    }
    counts
}

fn on(seen: &Observation, identity: u64) -> Option<&Communicator> {
    seen.communicators.iter().find(|comm| comm.identity == identity)
}

/// Returns a neighbor, and the communicator as it knows it.
fn other<'a>(
    slots: &[Slot<'a>],
    communicators: &Communicators,
    (me, seen): (ProcessIndex, &Observation),
    (identity, rank): (u64, u32),
) -> Option<(ProcessIndex, &'a Communicator)> {
    let peer = communicators.partner(me, seen, identity, rank)?;
    let (_, _, there) = slots.get(peer as usize)?;
    Some((peer, on((*there)?, identity)?))
}
