//! Members of a Cartesian topology that passed different dimensions: each takes other ranks for its neighbors.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{CommIndex, Grids, Need, Process, ProcessIndex};
use crate::questions::why::verdict::{Culprit, Kind};
use crate::questions::why::words::ranks;

impl Case<'_> {
    /// A process is stuck on a communicator whose members do not agree on its dimensions.
    pub(super) fn grids(&self, found: &Blocked) -> Option<Reason> {
        let waits = |grids: &Grids| found.stuck().find(|one| self.waits_on(*one, grids.comm));
        let (grids, stuck) = self.snapshot.grids.iter().find_map(|grids| Some((grids, waits(grids)?)))?;
        let created = |(grid, of): &(std::sync::Arc<str>, Vec<ProcessIndex>)| {
            let members = self.words.members(of.iter().copied());
            format!("{} passed {grid}", ranks(&members))
        };
        let created: Vec<String> = grids.groups.iter().map(created).collect();
        let verdict = format!(
            "collective mismatch (dimensions) on {}: {} to MPI_Cart_create; rank {} is {}",
            self.words.comm(grids.comm),
            created.join(", "),
            self.words.rank(stuck),
            self.words.activity(stuck)
        );
        let next = "all members must pass the same dimensions and periods when they create the topology";
        let mut reason = Reason::new(Kind::COLLECTIVE_MISMATCH, verdict, next);
        let size = |at: usize| grids.groups.get(at).map_or(0, |(_, of)| of.len());
        let suspects = grids.groups.iter().skip(usize::from(size(0) > size(1)));
        reason.culprits.extend(suspects.filter_map(|(_, of)| {
            let members = self.words.members(of.iter().copied());
            Some(Culprit { ranks: members, ..self.culprit(*of.first()?) })
        }));
        reason.about = grids.groups.iter().flat_map(|(_, of)| of).copied().collect();
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
