//! Cartesian topologies whose members passed different dimensions.

use super::{Slot, communicators::Communicators};
use crate::questions::why::snapshot::{CommIndex, Grids, ProcessIndex};
use std::collections::BTreeMap;

/// Returns them by communicator.
pub fn differing(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<Grids> {
    let mut known: BTreeMap<CommIndex, BTreeMap<&str, Vec<ProcessIndex>>> = BTreeMap::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        for comm in seen.iter().flat_map(|seen| &seen.communicators) {
            let (Some(grid), Some(index)) = (&comm.grid, communicators.index(comm.identity)) else {
                continue;
            };
            known.entry(index).or_default().entry(grid).or_default().push(me);
        }
    }
    let differ = known.into_iter().filter(|(_, grids)| grids.len() > 1);
    let grids = differ.map(|(comm, grids)| {
        let mut groups: Vec<_> = grids.into_iter().map(|(grid, of)| (grid.into(), of)).collect();
        groups.sort_by_key(|(_, of): &(_, Vec<ProcessIndex>)| (usize::MAX - of.len(), of.first().copied()));
        Grids { comm, groups }
    });
    grids.collect()
}
