//! Communicators and files whose members did not agree when they created them.

use super::{Slot, communicators::Communicators};
use crate::observation::Creation;
use crate::questions::why::snapshot::{CommIndex, Passed, ProcessIndex, UnequalCreation};
use std::collections::BTreeMap;

/// Members that passed the same, and where one of them did.
type Alike<'o> = (Vec<ProcessIndex>, Option<&'o str>);

/// Returns them in the order of the communicators.
pub fn unequal(slots: &[Slot<'_>], communicators: &Communicators) -> Vec<UnequalCreation> {
    let mut known: BTreeMap<CommIndex, (&Creation, BTreeMap<&str, Alike<'_>>)> = BTreeMap::new();
    for (me, (_, _, seen)) in (0..).zip(slots) {
        for comm in seen.iter().flat_map(|seen| &seen.communicators) {
            let (Some(made), Some(index)) = (&comm.creation, communicators.index(comm.identity)) else {
                continue;
            };
            let (_, groups) = known.entry(index).or_insert((made, BTreeMap::new()));
            let place = || (Vec::new(), made.place.as_deref());
            groups.entry(&made.passed).or_insert_with(place).0.push(me);
        }
    }
    let differ = known.into_iter().filter(|(_, (_, groups))| groups.len() > 1);
    let differ = differ.map(|(comm, (made, groups))| {
        let passed = |(what, (members, place)): (&str, Alike<'_>)| Passed {
            what: what.into(),
            members,
            place: place.map(Into::into),
        };
        let mut groups: Vec<Passed> = groups.into_iter().map(passed).collect();
        groups.sort_by_key(|one| (usize::MAX - one.members.len(), one.members.first().copied()));
        UnequalCreation {
            comm,
            function: made.function.as_str().into(),
            argument: made.argument.as_str().into(),
            groups,
        }
    });
    differ.collect()
}
