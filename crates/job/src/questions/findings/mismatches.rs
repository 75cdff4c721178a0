//! Collectives whose members did not agree.

use super::{Finding, Kind};
use crate::base::waiting_functions::is_collective_that_waits;
use crate::jobs::worlds::Members;
use crate::observation::Raised;
use crate::questions::why::{CommIndex, FUNCTION, Mismatch, Words};
use mpi_abi::{FunctionId, Waits};
use std::collections::{HashMap, HashSet};

/// Equal for mismatches of the same kind: the communicator, what differs, and where the members entered.
type Alike<'a> = (CommIndex, &'static str, Vec<Option<&'a str>>);

/// Returns the mismatches of each communicator up to the first in which its members were in different
/// functions, which may explain the rest. Mismatches at the same lines, as in a loop, are merged.
pub fn mismatches(all: &[Mismatch<'_>], words: &Words<'_>) -> Vec<Finding> {
    let mut apart = HashSet::new();
    let mut known: HashMap<Alike<'_>, usize> = HashMap::new();
    let mut found: Vec<(&Mismatch<'_>, usize)> = Vec::new();
    for mismatch in all {
        let Some((first, _)) = mismatch.groups.first().filter(|(first, _)| !apart.contains(&first.comm))
        else {
            continue;
        };
        if mismatch.difference == FUNCTION {
            apart.insert(first.comm);
        }
        let mut places: Vec<Option<&str>> =
            mismatch.groups.iter().map(|(collective, _)| collective.place.as_deref()).collect();
        places.sort_unstable();
        let at = *known.entry((first.comm, mismatch.difference, places)).or_insert(found.len());
        match found.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => found.push((mismatch, 1)),
        }
    }
    found.into_iter().filter_map(|(mismatch, count)| finding(mismatch, count, words)).collect()
}

/// Whether an error in a call of `who` may follow from a mismatch: the call is the collective itself, or completes
/// a non-blocking one. Its members may get data of another length than they expect.
pub fn explain(all: &[Mismatch<'_>], words: &Words<'_>, who: &Members, raised: &Raised) -> bool {
    let function = FunctionId::from_name(&raised.function);
    let completes = function.is_some_and(|function| function.properties().waits == Waits::REQUESTS);
    let groups = all.iter().flat_map(|mismatch| &mismatch.groups);
    let mut possible = groups.filter(|(one, _)| {
        let function = &one.signature.function;
        let itself = **function == *raised.function && one.place.as_deref() == raised.place.as_deref();
        itself || completes && !is_collective_that_waits(function)
    });
    possible.any(|(_, members)| members.iter().any(|member| words.members([*member]) == *who))
}

fn finding(mismatch: &Mismatch<'_>, count: usize, words: &Words<'_>) -> Option<Finding> {
    let suspects = mismatch.suspects();
    // Without a majority all are suspects; the line is then where one differs from the first, if any does.
    let differs = suspects.get(usize::from(suspects.len() == mismatch.groups.len()));
    let odd = differs.or_else(|| suspects.first())?;
    let more = match count - 1 {
        0 => String::new(),
        more => format!("; and {more} more at the same lines"),
    };
    Some(Finding {
        kind: Kind::COLLECTIVE_MISMATCH,
        ranks: words.members(suspects.iter().flat_map(|(_, ranks)| ranks).copied()),
        line: odd.0.place.as_deref().map(str::to_owned),
        sentence: format!("{}{more}", words.mismatch(mismatch)?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, findings};
    use crate::observation::{Collective, Communicator, History, Observation, Stage};

    /// A rank of two that has freed a duplicate of the world, after it was in these collectives on it.
    fn rank(rank: u32, before: &[&str]) -> Observation {
        let comm = |identity, collectives, freed| Communicator {
            identity,
            name: format!("comm {identity}"),
            rank,
            size: 2,
            collectives,
            freed,
            ..Default::default()
        };
        let freeing = before.len() as u64 + 1;
        let kind = |name: &&str| Collective {
            comm: 5,
            function: (*name).into(),
            place: Some("a.c:7".into()),
            ..Default::default()
        };
        let history = History {
            comm: 5,
            newest: freeing,
            entries: (1..=freeing).zip(0..).collect(),
            kinds: before.iter().chain(&["MPI_Comm_free"]).map(kind).collect(),
            ..Default::default()
        };
        Observation {
            world: "w".into(),
            rank: Some(rank),
            size: Some(2),
            stage: Stage::Finalized,
            communicators: vec![comm(9, 0, false), comm(5, freeing, true)],
            // The only collective on a communicator is not remembered if it frees it.
            history: if before.is_empty() { Vec::new() } else { vec![history] },
            ..Default::default()
        }
    }

    #[test]
    fn a_rank_that_freed_a_communicator_instead_of_using_it_is_named_after_the_end() {
        let found = findings(&[rank(0, &["MPI_Gather", "MPI_Bcast"]), rank(1, &[])], &[]);
        let [one] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(one.kind, Kind::COLLECTIVE_MISMATCH);
        let wanted = "collective mismatch (freed) on comm 5, collective 1: rank 0 was in MPI_Gather at a.c:7, rank 1 has \
                      freed it in collective 1";
        assert_eq!(one.sentence, wanted);
        assert_eq!(findings(&[rank(0, &["MPI_Gather"]), rank(1, &["MPI_Gather"])], &[]), []);
        assert_eq!(findings(&[rank(0, &[]), rank(1, &[])], &[]), []);
    }

    /// One of three ranks in a gather to rank 0, which expects 4 bytes from each.
    fn gathers(rank: u32, bytes: u64) -> Observation {
        let sent = Collective {
            comm: 9,
            function: "MPI_Gather".into(),
            root: Some(0),
            bytes: (rank != 0).then_some(bytes),
            totals: Some((bytes, if rank == 0 { 12 } else { 0 })),
            place: Some(format!("a.c:{rank}")),
            ..Default::default()
        };
        let mut seen = self::rank(rank, &[]);
        let world = Communicator { identity: 9, rank, size: 3, collectives: 1, ..Default::default() };
        (seen.size, seen.communicators) = (Some(3), vec![world]);
        let entries = vec![(1, 0)];
        seen.history = vec![History { comm: 9, newest: 1, entries, kinds: vec![sent], ..Default::default() }];
        seen
    }

    #[test]
    fn the_root_tells_which_of_two_members_sent_too_much() {
        let job = |bytes: [u64; 3]| {
            let found = findings(&[0, 1, 2].map(|me| gathers(me, bytes[me as usize])), &[]);
            found.iter().map(|one| (one.ranks.to_string(), one.line.clone())).collect::<Vec<_>>()
        };
        assert_eq!(job([4, 8, 4]), [("1".to_owned(), Some("a.c:1".to_owned()))]);
        assert_eq!(job([4, 4, 8]), [("2".to_owned(), Some("a.c:2".to_owned()))]);
        assert_eq!(job([4, 8, 16]), [("[1-2]".to_owned(), Some("a.c:2".to_owned()))], "with neither");
        assert_eq!(job([4, 4, 4]), []);
    }
}
