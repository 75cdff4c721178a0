//! Members of a communicator or file that did not agree when they created it. In a Cartesian topology with
//! different dimensions, each takes other ranks for its neighbors.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{CommIndex, Need, Process, ProcessIndex, UnequalCreation};
use crate::questions::why::verdict::{Culprit, Kind};

impl Case<'_> {
    /// A process is stuck on such an object.
    pub(super) fn creations(&self, found: &Blocked) -> Option<Reason> {
        let waits = |one: &UnequalCreation| found.stuck().find(|stuck| self.waits_on(*stuck, one.comm));
        let (one, stuck) = self.snapshot.creations.iter().find_map(|one| Some((one, waits(one)?)))?;
        let verdict = format!(
            "{}; rank {} is {}",
            self.words.creation(one),
            self.words.rank(stuck),
            self.words.activity(stuck)
        );
        let next = format!("all members must pass the same {} to {}", one.argument, one.function);
        let mut reason = Reason::new(Kind::COLLECTIVE_MISMATCH, verdict, &next);
        reason.culprits.extend(one.suspects().iter().filter_map(|passed| {
            let members = self.words.members(passed.members.iter().copied());
            Some(Culprit { ranks: members, ..self.culprit(*passed.members.first()?) })
        }));
        reason.about = one.groups.iter().flat_map(|passed| &passed.members).copied().collect();
        Some(reason)
    }

    /// Whether a process waits for something on this communicator.
    fn waits_on(&self, process: ProcessIndex, comm: CommIndex) -> bool {
        let calls = self.process(process).into_iter().flat_map(Process::calls);
        calls.flat_map(|call| call.wait.needs()).any(|need| match need {
            Need::Message(receive) => receive.matches.comm == comm,
            Need::Receiver(message) => message.comm == comm,
            Need::Collective(collective) => collective.comm == comm,
            Need::Action { .. } | Need::Outside { .. } => false,
        })
    }
}
