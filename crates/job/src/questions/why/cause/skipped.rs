//! A collective that a rank skipped or made too many long before the hang: see `join::shifted`.

use super::{Case, Reason};
use crate::questions::why::collectives;
use crate::questions::why::snapshot::{ProcessIndex, Shifted};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};

/// Verdicts that may follow from it.
const MAY_FOLLOW: [Kind; 3] = [Kind::COLLECTIVE_MISMATCH, Kind::COLLECTIVE_NOT_ENTERED, Kind::DEADLOCK];

impl Case<'_> {
    /// Adds what went wrong before, and names who did it.
    pub(super) fn with_skipped(&self, reason: Reason) -> Reason {
        // A ring of messages does not follow from collectives.
        let follows = |one: &&Shifted| {
            let waits = |rank: &ProcessIndex| {
                self.process(*rank)
                    .is_some_and(|p| collectives::open(p).any(|inside| inside.comm == one.comm))
            };
            MAY_FOLLOW.contains(&reason.kind) && (reason.cycle.is_empty() || reason.cycle.iter().any(waits))
        };
        let all: Vec<&Shifted> = self.snapshot.shifted.iter().filter(follows).collect();
        if all.is_empty() {
            return reason;
        }
        let mut groups: Vec<(&Shifted, Vec<ProcessIndex>)> = Vec::new();
        for &one in &all {
            let same = |(known, _): &&mut (&Shifted, _)| is_same(known, one);
            match groups.iter_mut().find(same) {
                Some((_, members)) => members.push(one.process),
                None => groups.push((one, vec![one.process])),
            }
        }
        let said: String =
            groups.iter().map(|(one, of)| format!("; {}", self.skipped_before(one, of))).collect();
        let next = match all.iter().all(|one| one.skipped > 0) {
            true => "look for the branch of the program in which that rank skips that call",
            false => {
                "look for the branch of the program in which that rank makes another number of collectives"
            }
        };
        Reason {
            verdict: format!("{}{said}", reason.verdict),
            culprits: self.culprits(all.iter().map(|one| one.process)),
            next: next.to_owned(),
            ..reason
        }
    }

    /// Formats `rank 3 skipped a collective on MPI_COMM_WORLD: number 12, MPI_Bcast at a.c:5 with root 1, and has been
    /// ahead of the others since`.
    fn skipped_before(&self, one: &Shifted, of: &[ProcessIndex]) -> String {
        let who = self.words.members(of.iter().copied());
        let (have, comm) = (verb(&who, "has", "have"), self.words.comm(one.comm));
        let number = one.since;
        let many = match one.skipped.unsigned_abs() {
            1 => "a collective".to_owned(),
            many => format!("{many} collectives"),
        };
        let (did, position) = if one.skipped > 0 { ("skipped", "ahead of") } else { ("made", "behind") };
        let more = if one.skipped > 0 { "" } else { " more" };
        let what = match one.earlier {
            true => format!("{many}{more} on {comm} before collective {number}, the oldest one remembered"),
            false => format!("{many}{more} on {comm}: number {number}, {}", call(one)),
        };
        format!("{} {did} {what}, and {have} been {position} the others since", ranks(&who))
    }
}

fn call(one: &Shifted) -> String {
    let at = one.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let root = one.root.map_or_else(String::new, |root| format!(" with root {root}"));
    format!("{}{at}{root}", one.function)
}

fn is_same(one: &Shifted, other: &Shifted) -> bool {
    (one.comm, one.since, one.earlier, one.skipped) == (other.comm, other.since, other.earlier, other.skipped)
        && (&one.function, one.root, &one.place) == (&other.function, other.root, &other.place)
}
