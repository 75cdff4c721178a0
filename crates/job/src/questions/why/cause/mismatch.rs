//! Members of a communicator that are in different collectives under one number.

use super::{Case, Reason};
use crate::questions::why::blocked::{Blocked, Endless};
use crate::questions::why::collectives::{self, Mismatch};
use crate::questions::why::snapshot::{ProcessIndex, Snapshot};
use crate::questions::why::verdict::{Culprit, Kind};
use std::collections::HashSet;

impl Case<'_> {
    /// Returns the first mismatch on each communicator whose members include one that makes no progress.
    pub(super) fn mismatches(&self, found: &Blocked) -> Vec<Reason> {
        let mut known = HashSet::new();
        let mut all = standing(self.snapshot, self.acts);
        all.retain(|mismatch| !self.follows_from_leaving(mismatch, found));
        all.retain(|mismatch| mismatch.groups.first().is_some_and(|(first, _)| known.insert(first.comm)));
        all.iter().filter_map(|mismatch| self.mismatch(mismatch)).collect()
    }

    /// Whether others wait for messages from the ranks that have freed an object at the end: what holds them up is
    /// that these ranks have left.
    fn follows_from_leaving(&self, mismatch: &Mismatch<'_>, found: &Blocked) -> bool {
        let left = || self.finalizing(found).is_some_and(|reason| reason.kind == Kind::MESSAGE_NEVER_SENT);
        self.is_freed_at_the_end(mismatch) && left()
    }

    /// Whether ranks have freed the object in `MPI_Finalize`, or are in it or have ended since. A library frees its
    /// own objects there.
    fn is_freed_at_the_end(&self, mismatch: &Mismatch<'_>) -> bool {
        let over = |one: &ProcessIndex| {
            self.process(*one).is_some_and(|process| process.is_gone() || collectives::is_finalizing(process))
        };
        let freeing = mismatch.freeing();
        !freeing.is_empty() && freeing.iter().flat_map(|(_, ranks)| ranks).all(over)
    }

    fn mismatch(&self, mismatch: &Mismatch<'_>) -> Option<Reason> {
        let verdict = self.words.mismatch(mismatch)?;
        let first = mismatch.groups.first().and_then(|(collective, _)| collective.signature.between);
        let next = match first.filter(|_| mismatch.difference == "root") {
            Some(_) => {
                "in one of the two groups, one member must pass MPI_ROOT and the others MPI_PROC_NULL; all members of \
                 the other group must pass its rank"
            }
            None => {
                "every member of a communicator must make the same collective calls in the same order: compare the lines above"
            }
        };
        let mut reason = Reason::new(Kind::COLLECTIVE_MISMATCH, verdict, next);
        let suspects = match self.is_freed_at_the_end(mismatch) {
            true => mismatch.freeing(),
            false => mismatch.suspects().iter().collect(),
        };
        for (_, ranks) in suspects {
            let Some(one) = ranks.first() else { continue };
            let ranks = self.words.members(ranks.iter().copied());
            reason.culprits.push(Culprit { ranks, ..self.culprit(*one) });
        }
        reason.about = mismatch.groups.iter().flat_map(|(_, ranks)| ranks).copied().collect();
        Some(reason)
    }
}

/// Returns collectives whose members do not agree and in which a process waits.
pub fn endless(snapshot: &Snapshot, acts: &[bool]) -> Endless {
    let all = standing(snapshot, acts);
    let firsts = all.iter().filter_map(|mismatch| Some(mismatch.groups.first()?.0));
    firsts.map(|first| (first.comm, collectives::parts(first.number).0)).collect()
}

fn standing<'s>(snapshot: &'s Snapshot, acts: &[bool]) -> Vec<Mismatch<'s>> {
    let stands = |mismatch: &Mismatch<'_>| {
        let inside = mismatch.groups.iter().flat_map(|(_, ranks)| ranks);
        inside.into_iter().any(|rank| !acts.get(*rank as usize).copied().unwrap_or(true))
    };
    let mut all = collectives::mismatches(snapshot);
    all.retain(stands);
    all
}
