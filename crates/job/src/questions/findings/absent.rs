//! Members that ended without entering a collective that others have entered.

use super::{Finding, Kind};
use crate::questions::why::collectives::parts;
use crate::questions::why::words::ranks;
use crate::questions::why::{Collective, CommIndex, Process, ProcessIndex, Snapshot, Words};
use std::collections::BTreeMap;

/// Returns the first such collective on each communicator, once all processes have finalized and no more can
/// enter it. `differ`: communicators whose members were in different collectives, which explains the rest.
pub fn never_entered(snapshot: &Snapshot, words: &Words<'_>, differ: &[CommIndex]) -> Vec<Finding> {
    let mut last: BTreeMap<CommIndex, &Collective> = BTreeMap::new();
    for collective in snapshot.processes.iter().flat_map(|process| &process.collectives) {
        let known = last.entry(collective.comm).or_insert(collective);
        if collective.number > known.number {
            *known = collective;
        }
    }
    let found = last.into_iter().filter(|(comm, _)| !differ.contains(comm));
    found.filter_map(|(comm, _)| absent(snapshot, words, comm)).collect()
}

fn absent(snapshot: &Snapshot, words: &Words<'_>, comm: CommIndex) -> Option<Finding> {
    let members = &snapshot.communicators.get(comm as usize)?.members;
    let of = |index: ProcessIndex| snapshot.processes.get(index as usize);
    let all: Option<Vec<(ProcessIndex, &Process)>> =
        members.iter().map(|member| Some((*member, of(*member)?))).collect();
    let all = all.filter(|all| all.iter().all(|(_, process)| !process.is_unseen()))?;
    let least = all.iter().map(|(_, process)| process.entered(comm)).min()?;
    // The first one that a member skipped.
    let is_first = |known: &&Collective| known.comm == comm && parts(known.number).0 == least + 1;
    let collective = all.iter().find_map(|(_, process)| process.collectives.iter().find(is_first))?;
    let (absent, there): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, process)| process.entered(comm) == least);
    let (who, others) = (words.members(indices(&absent)), words.members(indices(&there)));
    let at = collective.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    Some(Finding {
        kind: Kind::COLLECTIVE_NOT_ENTERED,
        line: collective.place.as_deref().map(str::to_owned),
        sentence: format!(
            "{} called MPI_Finalize without entering {}, which {} had entered{at}",
            ranks(&who),
            words.collective(collective),
            ranks(&others),
        ),
        ranks: who,
    })
}

fn indices<'a>(of: &'a [&(ProcessIndex, &Process)]) -> impl Iterator<Item = ProcessIndex> + use<'a> {
    of.iter().map(|(index, _)| *index)
}
