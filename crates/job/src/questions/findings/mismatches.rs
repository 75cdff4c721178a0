//! Collectives whose members did not agree.

use super::{Finding, Kind};
use crate::questions::why::{CommIndex, FUNCTION, Mismatch, Words};
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

fn finding(mismatch: &Mismatch<'_>, count: usize, words: &Words<'_>) -> Option<Finding> {
    let suspects = mismatch.suspects();
    // Without a majority all are suspects; the line is then where one differs from the first.
    let odd = suspects.get(usize::from(suspects.len() == mismatch.groups.len()))?;
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
