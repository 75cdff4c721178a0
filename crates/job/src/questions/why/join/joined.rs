//! What was observed of the processes of a job, side by side: for those who ask about the past.

use super::communicators::Communicators;
use super::compared::{Ends, paired};
use super::{Slot, joined};
use crate::questions::observation::Observation;
use crate::questions::why::snapshot::ProcessIndex;

/// The processes of a job.
pub struct Joined<'a> {
    slots: Vec<Slot<'a>>,
    communicators: Communicators,
}

impl<'a> Joined<'a> {
    /// Joins what was observed.
    #[must_use]
    pub fn of(observations: &'a [Observation]) -> Self {
        let (slots, communicators) = joined(observations);
        Self { slots, communicators }
    }

    /// The processes that were observed: number, world, rank.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessIndex, usize, Option<u32>, &'a Observation)> {
        (0..).zip(&self.slots).filter_map(|(me, (world, rank, seen))| {
            Some((me, *world, Some(*rank).filter(|rank| *rank != u32::MAX), (*seen)?))
        })
    }

    /// The process that another calls `rank` in its calls on a communicator.
    #[must_use]
    pub fn partner(&self, me: ProcessIndex, comm: u64, rank: u32) -> Option<ProcessIndex> {
        let (_, _, seen) = self.slots.get(me as usize)?;
        self.communicators.partner(me, (*seen)?, comm, rank)
    }

    /// All messages of which both ends are known.
    #[must_use]
    pub fn messages(&self) -> Vec<Ends<'a>> {
        paired(&self.slots, &self.communicators)
    }
}
