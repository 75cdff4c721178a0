//! All certain reasons, since several things may be wrong at once.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::parts::parts;
use crate::questions::why::snapshot::{Condition, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;
use std::collections::HashSet;

/// Maximum number of groups of stuck processes examined for separate reasons; the others count as rings.
const MOST_PARTS: usize = 16;

impl Case<'_> {
    /// Returns the most informative reason first, and others only if they share no process with an earlier
    /// one, of which they may be a consequence.
    pub(super) fn certain(&self, found: &Blocked) -> Vec<Reason> {
        if let Some(one) = self.singletons() {
            return vec![one];
        }
        let mut all = self.mismatches(found);
        all.extend(self.creations(found));
        all.extend(self.neighbors());
        let stuck = match all.is_empty() {
            true => self.stuck_for(found),
            false => self.parts_for(&parts(self.snapshot, found), found),
        };
        all.extend(stuck);
        let mut known: HashSet<ProcessIndex> = HashSet::new();
        all.retain(|reason| {
            let new = reason.about.iter().all(|one| !known.contains(one));
            known.extend(reason.about.iter().filter(|_| new));
            new
        });
        all
    }

    /// Why there are stuck processes: a single reason unless they fall into separate parts.
    fn stuck_for(&self, found: &Blocked) -> Vec<Reason> {
        if found.stuck().next().is_none() {
            return Vec::new();
        }
        let ended = |process: &Process| matches!(process.condition, Condition::Ended(_));
        let gone = self.gone(found, ended);
        let parts = parts(self.snapshot, found);
        if parts.len() + usize::from(gone.is_some()) < 2 {
            return self.stuck(found).into_iter().collect();
        }
        gone.into_iter().chain(self.parts_for(&parts, found)).collect()
    }

    /// Returns the reasons of independent parts; those that are nothing but rings are combined.
    fn parts_for(&self, parts: &[Vec<ProcessIndex>], found: &Blocked) -> Vec<Reason> {
        let (mut reasons, mut rings) = (Vec::new(), Vec::new());
        for (at, part) in parts.iter().enumerate() {
            let reason = if at < MOST_PARTS { self.stuck(&found.only(part)) } else { None };
            match reason {
                Some(reason) if reason.kind != Kind::DEADLOCK || reason.cycle.is_empty() => {
                    reasons.push(Reason { about: part.clone(), ..reason });
                }
                _ => rings.extend(part),
            }
        }
        let ring = self.ring(&found.only(&rings)).map(|ring| Reason { about: rings, ..ring });
        reasons.extend(ring);
        reasons
    }
}
