//! A collective that one rank called on another communicator.
//!
//! All members but one are in it, and that one has called the same function on a communicator on which none of
//! the others has entered that call.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::collectives;
use crate::questions::why::snapshot::{Collective, ProcessIndex};
use crate::questions::why::verdict::Kind;
use std::collections::HashSet;

impl Case<'_> {
    /// The rank that is missing in a collective and made the same call elsewhere.
    pub(super) fn elsewhere(&self, found: &Blocked) -> Option<Reason> {
        let mut seen = HashSet::new();
        let open = found.stuck().filter_map(|stuck| self.process(stuck)).flat_map(collectives::open);
        let mut open = open.filter(|one| one.number != collectives::FINALIZE);
        open.find_map(|wanted| {
            let new = seen.insert((wanted.comm, wanted.number));
            let (who, made) = if new { self.made_elsewhere(wanted)? } else { return None };
            let inside = self.process(who).is_some_and(|process| {
                collectives::open(process).any(|one| (one.comm, one.number) == (made.comm, made.number))
            });
            let (rank, function) = (self.words.rank(who), &made.signature.function);
            let at = made.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            let instead = format!(
                "called {function}{at} on {} instead of {}",
                self.words.comm(made.comm),
                self.words.comm(wanted.comm)
            );
            let next = "compare the communicators that the ranks pass to that call";
            let mut reason = match self.ring(found).filter(|_| inside) {
                Some(ring) => Reason { verdict: format!("{}; rank {rank} {instead}", ring.verdict), ..ring },
                None => {
                    let verdict = format!(
                        "rank {rank} never entered {}: it {instead}, and is {}",
                        self.words.collective(wanted),
                        self.words.activity(who)
                    );
                    Reason::new(Kind::COLLECTIVE_NOT_ENTERED, verdict, "")
                }
            };
            (reason.culprits, reason.next) = (vec![self.culprit(who)], next.to_owned());
            Some(reason)
        })
    }

    /// Returns the only missing member of a collective, and the same call that it made on another
    /// communicator.
    fn made_elsewhere(&self, wanted: &Collective) -> Option<(ProcessIndex, &Collective)> {
        let missing = collectives::missing(self.snapshot, wanted.comm, wanted.number);
        let [who] = missing.as_slice() else { return None };
        let members = &self.snapshot.communicators.get(wanted.comm as usize)?.members;
        // Of two ranks, either may have the wrong communicator.
        if members.len() < 3 {
            return None;
        }
        let process = self.process(*who)?;
        let unmatched = |made: &&Collective| {
            let same = made.comm != wanted.comm && made.signature.function == wanted.signature.function;
            let there = self.snapshot.communicators.get(made.comm as usize);
            let others = || there.into_iter().flat_map(|comm| comm.members.iter()).filter(|one| *one != who);
            let entered = |one: &ProcessIndex| {
                self.process(*one).is_none_or(|p| collectives::has_entered(p, made.comm, made.number))
            };
            same && others().any(|one| members.contains(one)) && !others().any(entered)
        };
        let made = process.collectives.iter().chain(collectives::open(process)).find(unmatched)?;
        Some((*who, made))
    }
}
