//! The observations of all processes of a job, joined for analyses of the past.

use super::communicators::Communicators;
use super::compared::{Ends, Sent, paired, unreceived};
use super::{Slot, side_by_side};
use crate::observation::Observation;
use crate::questions::why::snapshot::ProcessIndex;

/// The processes of a job.
pub struct Joined<'a> {
    slots: Vec<Slot<'a>>,
    communicators: Communicators,
}

impl<'a> Joined<'a> {
    /// Joins observations.
    #[must_use]
    pub fn of(observations: &'a [Observation]) -> Self {
        // A process without an observation says nothing about the past.
        let (slots, communicators) = side_by_side(observations, 0);
        Self { slots, communicators }
    }

    /// Returns the observed processes: number, world, rank, observation.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessIndex, usize, Option<u32>, &'a Observation)> {
        (0..).zip(&self.slots).filter_map(|(me, (world, rank, seen))| {
            Some((me, *world, Some(*rank).filter(|rank| *rank != u32::MAX), (*seen)?))
        })
    }

    /// Returns the process that `me` calls `rank` in its calls on a communicator.
    #[must_use]
    pub fn partner(&self, me: ProcessIndex, comm: u64, rank: u32) -> Option<ProcessIndex> {
        let (_, _, seen) = self.slots.get(me as usize)?;
        self.communicators.partner(me, (*seen)?, comm, rank)
    }

    /// Returns all messages of which both ends are known.
    #[must_use]
    pub fn messages(&self) -> Vec<Ends<'a>> {
        paired(&self.slots, &self.communicators)
    }

    /// Returns all messages not received, where everything sent and received is known.
    #[must_use]
    pub fn unreceived(&self) -> Vec<Sent<'a>> {
        unreceived(&self.slots, &self.communicators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Communicator;
    use crate::questions::why::snapshot;

    #[test]
    fn worlds_are_numbered_by_their_start_wherever_their_processes_were_found() {
        let one = |world: &str, begin_ns| Observation {
            world: world.to_owned(),
            rank: Some(0),
            size: Some(1),
            begin_ns,
            ..Observation::default()
        };
        // Worlds with an unknown start time, not started yet or saved by an older version, come last.
        let seen = [one("child", 9), one("unknown", 0), one("parent", 7)];
        let joined = Joined::of(&seen);
        let found = joined.processes().map(|(_, world, _, seen)| (world, seen.world.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), [(0, "parent"), (1, "child"), (2, "unknown")]);
    }

    #[test]
    fn sizes_that_an_image_claims_cost_neither_time_nor_memory() {
        let comm = |identity, size| Communicator { identity, size, ..Communicator::default() };
        let claims = |rank, size: u32| Observation {
            world: format!("w{rank}"),
            rank: Some(rank),
            size: Some(size),
            communicators: (0..64).map(|more| comm(1 + u64::from(more), size - more)).collect(),
            ..Observation::default()
        };
        let seen = [claims(0, u32::MAX), claims(7, u32::MAX - 100), claims(u32::MAX - 9, 1 << 23)];
        let joined = Joined::of(&seen);
        assert_eq!((joined.slots.len(), joined.processes().count()), (3, 3));
        assert_eq!(joined.partner(0, 1, 0), Some(0));
        assert_eq!(joined.partner(0, 1, 1 << 22), None);
        // A verdict omits ranks that are too many to list.
        assert!(snapshot(&seen, "nobody").processes.len() <= super::super::MOST_UNSEEN + 3);
    }
}
