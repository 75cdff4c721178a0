//! A rank that waits in a collective on a communicator to which it was assigned by mistake.
//!
//! If a rank passes the wrong color to `MPI_Comm_split`, it is the only one of its group that makes the calls
//! of another group. The others of its group never enter them, but it is not they who are wrong: the ranks of
//! the other group have all made the same call at the same line, each on the communicator it was given. If
//! one of them has not, the groups may be right and their calls in the wrong order. The mistake shows early:
//! ranks that have entered many collectives of a group together belong to it.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::collectives;
use crate::questions::why::snapshot::{Collective, CommIndex, Process, ProcessIndex, Split};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};
use std::collections::HashSet;

/// Maximum number of collectives that a rank may have entered together with the others of a group and still
/// be considered wrong in it.
const MOST_TOGETHER: u64 = 8;

impl Case<'_> {
    /// The collective of a rank that passed the wrong color.
    pub(super) fn wrong_group(&self, found: &Blocked) -> Option<Reason> {
        let mut seen = HashSet::new();
        let mut open = found.stuck().flat_map(|stuck| {
            let inside = self.process(stuck).into_iter().flat_map(collectives::open);
            inside.map(move |collective| (stuck, collective))
        });
        open.find_map(|(stuck, collective)| {
            let new = seen.insert((collective.comm, collective.number));
            if new { self.in_wrong_group(stuck, collective) } else { None }
        })
    }

    fn in_wrong_group(&self, stuck: ProcessIndex, collective: &Collective) -> Option<Reason> {
        let comm = self.snapshot.communicators.get(collective.comm as usize)?;
        let split = comm.split.as_ref()?;
        let missing = collectives::missing(self.snapshot, collective.comm, collective.number);
        let at = self.at(stuck, collective)?;
        // They wait for it, in a collective of their own group or of all; otherwise something else keeps them.
        let waits_for_it = |other: &Collective| {
            let missing = collectives::missing(self.snapshot, other.comm, other.number);
            other.comm != collective.comm && (missing.is_empty() || missing.contains(&stuck))
        };
        let elsewhere = |one: &ProcessIndex| {
            self.process(*one)
                .is_some_and(|process| process.is_gone() || collectives::open(process).any(waits_for_it))
        };
        let alone = comm.members.len() == missing.len() + 1 && !missing.is_empty();
        let together = collectives::parts(collective.number).0.saturating_sub(1);
        // They make the same calls as it does, so it belongs to them.
        let was_there = |one: &ProcessIndex| {
            let before = self.process(*one).and_then(|process| entered(process, collective.comm, together));
            before.is_some_and(|before| before.place.as_deref() == Some(at))
        };
        if !alone
            || together > MOST_TOGETHER
            || missing.iter().any(was_there)
            || !missing.iter().all(elsewhere)
        {
            return None;
        }
        let (color, same) = self.other_group(collective, split, at)?;
        let (who, missed) = (self.words.rank(stuck), self.words.members(missing.iter().copied()));
        let same = self.words.members(same);
        let made = split.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let verdict = format!(
            "{}, which {} {} not entered ({}); {}, which called it at the same line on another communicator of \
             the same MPI_Comm_split{made}, passed color {color} there, and rank {who} color {}",
            self.words.within(collective, &[stuck]),
            ranks(&missed),
            verb(&missed, "has", "have"),
            self.words.each_doing(&self.words.doings(&missing)),
            ranks(&same),
            split.color
        );
        let next =
            "compare the colors that the ranks pass to MPI_Comm_split: that rank may be in the wrong group";
        let mut reason =
            Reason::new(Kind::COLLECTIVE_NOT_ENTERED, verdict, next).blaming(self.culprit(stuck));
        // With a single other member, either of the two may be wrong.
        if let [one] = missing.as_slice() {
            reason.culprits.push(self.culprit(*one));
        }
        Some(reason)
    }

    /// Returns the line at which a process called a collective.
    fn at<'s>(&'s self, process: ProcessIndex, collective: &'s Collective) -> Option<&'s str> {
        let process = self.process(process)?;
        let known = entered(process, collective.comm, collective.number);
        let place = known.and_then(|known| known.place.as_deref()).or(collective.place.as_deref());
        place.or_else(|| process.calls().find_map(|call| call.place.as_deref()))
    }

    /// Returns the color of another group made by the same call whose members made this call at this line, and
    /// those members.
    fn other_group(
        &self,
        collective: &Collective,
        split: &Split,
        at: &str,
    ) -> Option<(i64, Vec<ProcessIndex>)> {
        let others = (0..).zip(&self.snapshot.communicators).filter_map(|(index, comm)| {
            let other = comm.split.as_ref()?;
            let same = (other.of, &other.place) == (split.of, &split.place) && other.color != split.color;
            same.then_some((index, other.color, comm))
        });
        others.into_iter().find_map(|(index, color, comm): (CommIndex, _, _)| {
            let called = |one: &ProcessIndex| {
                let known = self.process(*one).and_then(|process| entered(process, index, collective.number));
                known.is_some_and(|known| {
                    known.place.as_deref() == Some(at)
                        && known.signature.function == collective.signature.function
                })
            };
            let number = collectives::parts(collective.number).0;
            let has_entered = |one: &ProcessIndex| {
                self.process(*one).is_some_and(|process| process.entered(index) >= number)
            };
            let same: Vec<ProcessIndex> = comm.members.iter().copied().filter(called).collect();
            (!same.is_empty() && comm.members.iter().all(has_entered)).then_some((color, same))
        })
    }
}

/// Returns a collective that a process has entered.
fn entered(process: &Process, comm: CommIndex, number: u64) -> Option<&Collective> {
    let number = collectives::parts(number).0;
    process
        .collectives
        .iter()
        .find(|known| (known.comm, collectives::parts(known.number).0) == (comm, number))
}
