//! Which processes ranks refer to: the process's own rank, and those of a communicator.

use crate::layout::{Process, Words};
use crate::objects::{Comm, Flag};

/// A group of a communicator, as stored in its record.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Number of processes.
    pub size: u32,
    /// Their ranks in the world; empty if the group is that of the world, in its order.
    pub members: &'a Words,
}

/// The process's rank in `MPI_COMM_WORLD`; `None` while unknown. A launcher that reports no rank reports no
/// size either.
pub fn own_rank(process: &Process) -> Option<u32> {
    let (rank, size) = (process.rank.get(), process.size.get());
    Some(rank).filter(|rank| *rank != u32::MAX && (size != 0 || *rank != 0))
}

/// Whether this is an intercommunicator.
pub fn is_inter(comm: &Comm) -> bool {
    comm.head.flags.get() & Flag::INTER.0 != 0
}

/// The group that ranks in calls refer to: the remote one of an intercommunicator.
pub fn named(comm: &Comm) -> Group<'_> {
    if is_inter(comm) {
        Group { size: comm.remote_size.get(), members: &comm.remote }
    } else {
        Group { size: comm.size.get(), members: &comm.members }
    }
}

impl Group<'_> {
    /// The rank in the world of a member; `None` if there is no such rank, or its process is not in the
    /// world. `word` reads the array.
    pub fn world_rank(&self, rank: u32, word: impl FnOnce(&Words, u32) -> Option<u64>) -> Option<u32> {
        if rank >= self.size {
            return None;
        }
        if self.members.offset.get() == 0 {
            return Some(rank);
        }
        // −1 means outside of the world.
        word(self.members, rank)
            .and_then(|world| u32::try_from(world).ok())
            .filter(|world| *world != u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_of_an_intercommunicator_are_those_of_the_remote_group() {
        let comm = Comm::default();
        comm.size.set(2);
        comm.remote_size.set(3);
        assert_eq!(named(&comm).size, 2);
        comm.head.flags.set(Flag::INTER.0);
        assert_eq!(named(&comm).size, 3);
    }

    #[test]
    fn a_member_has_a_rank_in_the_world_or_none() {
        let words = Words::default();
        let group = Group { size: 3, members: &words };
        let array = |_: &Words, rank: u32| [4, u64::MAX, 9].get(rank as usize).copied();
        assert_eq!(group.world_rank(2, array), Some(2), "the world's own order has no array");
        assert_eq!(group.world_rank(3, array), None);
        words.offset.set(4096);
        let ranks: Vec<_> = (0..4).map(|rank| group.world_rank(rank, array)).collect();
        assert_eq!(ranks, [Some(4), None, Some(9), None]);
    }
}
