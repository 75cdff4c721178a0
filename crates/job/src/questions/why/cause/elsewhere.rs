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

const WHICH: &str = "compare the communicators that the ranks pass to that call";
const SKIPPED: &str = "look for the branch of the program in which that rank skips a collective, or makes one that the others skip";

/// A call that was made on another communicator than it should have been.
struct Elsewhere<'a> {
    by: Vec<ProcessIndex>,
    made: &'a Collective,
    instead: &'a Collective,
    /// Whether it is the call of another line.
    other_line: bool,
}

impl Case<'_> {
    /// The rank that is missing in a collective and made the same call elsewhere.
    pub(super) fn elsewhere(&self, found: &Blocked) -> Option<Reason> {
        let mut seen = HashSet::new();
        let open = found.stuck().filter_map(|stuck| self.process(stuck)).flat_map(collectives::open);
        let mut open = open.filter(|one| one.number != collectives::FINALIZE);
        open.find_map(|wanted| {
            let new = seen.insert((wanted.comm, wanted.number));
            let (who, made) = if new { self.made_elsewhere(wanted)? } else { return None };
            Some(self.made_instead(found, &self.wrong_side(who, made, wanted)?))
        })
    }

    /// The members in the collective may be at the line of the call that was made elsewhere, at another one, or some
    /// of them at that line: then these are ahead of the others, and it is they who passed the wrong communicator.
    fn wrong_side<'a>(
        &'a self,
        who: ProcessIndex,
        made: &'a Collective,
        wanted: &'a Collective,
    ) -> Option<Elsewhere<'a>> {
        let missing = Elsewhere { by: vec![who], made, instead: wanted, other_line: false };
        let Some(line) = made.place.as_deref() else { return Some(missing) };
        let members = &self.snapshot.communicators.get(wanted.comm as usize)?.members;
        let (mut there, mut apart) = (Vec::new(), Vec::new());
        for member in members.iter().copied().filter(|one| *one != who) {
            let entered = self.entered_as(member, wanted);
            match entered.and_then(|one| one.place.as_deref()) {
                Some(at) if at == line => there.push(member),
                Some(_) => apart.push(member),
                None => {}
            }
        }
        if apart.is_empty() || there.len() > apart.len() {
            return Some(missing);
        }
        if there.is_empty() {
            let instead = apart.first().and_then(|one| self.entered_as(*one, wanted)).unwrap_or(wanted);
            return Some(Elsewhere { instead, other_line: true, ..missing });
        }
        let meant = &self.snapshot.communicators.get(made.comm as usize)?.members;
        let near: HashSet<ProcessIndex> = there.iter().copied().chain([who]).collect();
        let meant = meant.iter().all(|one| near.contains(one));
        let ahead = there.first().and_then(|one| self.entered_as(*one, wanted))?;
        (meant && there.len() < apart.len()).then_some(Elsewhere {
            by: there,
            made: ahead,
            instead: made,
            other_line: false,
        })
    }

    /// Returns a collective as a member entered it, if that is known.
    fn entered_as(&self, member: ProcessIndex, wanted: &Collective) -> Option<&Collective> {
        let process = self.process(member)?;
        let mut known = process.collectives.iter().chain(collectives::open(process));
        known.find(|one| (one.comm, one.number) == (wanted.comm, wanted.number))
    }

    fn made_instead(&self, found: &Blocked, one: &Elsewhere<'_>) -> Reason {
        let Elsewhere { by, made, instead: wanted, other_line } = one;
        let is_in = |process| {
            collectives::open(process).any(|open| (open.comm, open.number) == (made.comm, made.number))
        };
        let inside = by.iter().all(|one| self.process(*one).is_some_and(is_in));
        let said = |one: &Collective| {
            let at = one.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            format!("{}{at} on ", one.signature.function)
        };
        let that = if *other_line { said(wanted) } else { String::new() };
        let (here, there) = (self.words.comm(made.comm), self.words.comm(wanted.comm));
        let instead = format!("called {}{here} instead of {that}{there}", said(made));
        let who = self.words.ranks(by.iter().copied());
        let mut reason = match (self.ring(found).filter(|_| inside), by.first()) {
            (Some(ring), _) => Reason { verdict: format!("{}; {who} {instead}", ring.verdict), ..ring },
            (None, first) => {
                let doing = first.map_or_else(String::new, |first| self.words.activity(*first));
                let (it, is) = if by.len() == 1 { ("it", "is") } else { ("they", "are") };
                let verdict = format!(
                    "{who} never entered {}: {it} {instead}, and {is} {doing}",
                    self.words.collective(wanted)
                );
                Reason::new(Kind::COLLECTIVE_NOT_ENTERED, verdict, "")
            }
        };
        reason.culprits = self.culprits(by.iter().copied());
        reason.next = if *other_line { SKIPPED } else { WHICH }.to_owned();
        reason
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
