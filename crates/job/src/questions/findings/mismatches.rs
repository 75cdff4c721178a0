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
    // Without a majority all are suspects; the line is then where one differs from the first.
    let odd = suspects.get(usize::from(suspects.len() == mismatch.groups.len())).or(suspects.first())?;
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
