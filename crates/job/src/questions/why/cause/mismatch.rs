//! Members of a communicator that are in different collectives under one number.

use super::{Case, Reason};
use crate::questions::why::blocked::{Blocked, Endless};
use crate::questions::why::collectives::{self, Mismatch};
use crate::questions::why::snapshot::{Collective, FUNCTION, ProcessIndex, Snapshot};
use crate::questions::why::verdict::{Culprit, Kind};
use crate::questions::why::words::{ranks, verb};
use std::collections::{HashMap, HashSet};

/// Maximum number of members that are asked for whom they wait.
const MOST_COMPARED: usize = 256;

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
        let mut suspects: Vec<_> = match self.is_freed_at_the_end(mismatch) {
            true => mismatch.freeing(),
            false => mismatch.suspects().iter().collect(),
        };
        if let Some((left, waiting)) =
            self.left_others(mismatch).filter(|_| mismatch.difference == FUNCTION && suspects.len() > 1)
        {
            let (waiting, one) = (self.words.members(waiting), self.words.ranks(left.1.iter().copied()));
            let wait = verb(&waiting, "waits", "wait");
            reason.verdict = format!("{}; {} {wait} for messages of {one}", reason.verdict, ranks(&waiting));
            suspects = vec![left];
        }
        for (_, ranks) in suspects {
            let Some(one) = ranks.first() else { continue };
            let ranks = self.words.members(ranks.iter().copied());
            reason.culprits.push(Culprit { ranks, ..self.culprit(*one) });
        }
        reason.about = mismatch.groups.iter().flat_map(|(_, ranks)| ranks).copied().collect();
        Some(reason)
    }

    /// The only group for which members wait that have not entered the collective, and these: it has left them behind.
    fn left_others<'m>(&self, mismatch: &'m Mismatch<'_>) -> Option<(&'m Group<'m>, Vec<ProcessIndex>)> {
        let (first, _) = mismatch.groups.first()?;
        let missing = collectives::missing(self.snapshot, first.comm, first.number);
        let members = |group: &'m Group<'m>| group.1.iter().map(move |rank| (*rank, group));
        let groups: HashMap<ProcessIndex, &Group<'m>> = mismatch.groups.iter().flat_map(members).collect();
        let mut left: Option<&Group<'m>> = None;
        let mut waiting = Vec::new();
        for member in missing.into_iter().take(MOST_COMPARED) {
            for one in self.missing(member).filter(|one| one.sends) {
                let Some(group) = groups.get(&one.by) else { continue };
                if left.is_some_and(|left| !std::ptr::eq(left, *group)) {
                    return None;
                }
                left = Some(group);
                waiting.push(member);
            }
        }
        waiting.dedup();
        left.map(|left| (left, waiting))
    }
}

/// Members with equal arguments, and these.
type Group<'a> = (&'a Collective, Vec<ProcessIndex>);

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
