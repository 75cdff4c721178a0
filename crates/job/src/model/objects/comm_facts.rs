//! Communicators as calls need them: translates their ranks to ranks of the world.

use super::kind::Kind;
use super::reader::Reader;
use mpiscope_image::Source;
use mpiscope_image::derive::members;
use mpiscope_image::objects::Comm;

/// Longer member lists are not read.
const MOST_MEMBERS: usize = 1 << 20;

/// What calls need to know of a communicator.
#[derive(Debug, Clone)]
pub struct CommFacts {
    /// Unique id within its process.
    pub uid: u64,
    /// Its name, or empty.
    pub name: String,
    /// Size of the local group.
    pub size: u32,
    /// Equal on all processes that share the communicator; zero if unknown.
    pub identity: u64,
    /// Number of collectives that this process has entered on it.
    pub collectives: u64,
    /// Size of the group whose ranks calls name: for an intercommunicator the remote one.
    pub named: u32,
    /// Ranks in `MPI_COMM_WORLD` of that group, `u64::MAX` for a process outside of it; empty if they equal
    /// the ranks of the world.
    members: Vec<u64>,
}

impl CommFacts {
    /// Whether the communicator's ranks differ from those of the world.
    pub fn renumbers(&self) -> bool {
        !self.members.is_empty()
    }

    /// Translates a rank of the communicator to a rank of the world.
    pub fn world_rank(&self, rank: i64) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|rank| *rank < self.named)?;
        match self.members.get(rank as usize) {
            Some(world) => u32::try_from(*world).ok(),
            None if self.renumbers() => None,
            None => Some(rank),
        }
    }

    /// All members that belong to the world, as its ranks.
    pub fn world_ranks(&self) -> impl Iterator<Item = u32> {
        (0..i64::from(self.named)).filter_map(|rank| self.world_rank(rank))
    }
}

impl<S: Source> Reader<'_, S> {
    /// Returns the communicator with this handle: the live one, otherwise one that MPI still uses, otherwise
    /// the one freed last.
    pub fn comm(&self, handle: u64) -> Option<CommFacts> {
        let entry = self.index(Kind::Communicator).ok()?.by_handle(handle)?;
        let record = self.record::<Comm>(Kind::Communicator, entry.index).ok()?.value;
        if record.head.handle.get() != handle {
            return None;
        }
        let named = members::named(&record);
        Some(CommFacts {
            uid: record.head.uid.get(),
            name: record.name.text().into_owned(),
            size: record.size.get(),
            identity: record.head.identity.get(),
            collectives: record.collectives.get(),
            named: named.size,
            members: self.image().words(named.members, MOST_MEMBERS).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comm(named: u32, members: &[u64]) -> CommFacts {
        CommFacts {
            uid: 1,
            name: String::new(),
            size: 2,
            identity: 0,
            collectives: 0,
            named,
            members: members.to_vec(),
        }
    }

    #[test]
    fn a_member_outside_the_world_has_no_rank_in_it() {
        let remote = comm(2, &[u64::MAX, 5]);
        assert_eq!((remote.world_rank(0), remote.world_rank(1), remote.world_rank(2)), (None, Some(5), None));
        assert_eq!(remote.world_ranks().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn without_a_list_the_members_are_those_of_the_world() {
        let world = comm(3, &[]);
        assert_eq!((world.world_rank(2), world.world_rank(3), world.world_rank(-1)), (Some(2), None, None));
        assert!(!world.renumbers());
    }
}
