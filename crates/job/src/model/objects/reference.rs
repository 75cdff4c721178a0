//! Another object as a value: the one form in which every command names an object.

use super::kind::{Hex, Kind};
use super::reader::{Build, Reader};
use super::scan::Entry;
use super::{Datatype, File, Group, Window};
use crate::base::identity;
use mpiscope_image::Source;
use mpiscope_image::derive::members;
use mpiscope_image::objects::Comm;
use serde::{Deserialize, Serialize};

/// More members than this are not read.
const MOST_MEMBERS: usize = 1 << 20;

/// Another object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// Its kind.
    pub kind: Kind,
    /// Its handle.
    pub handle: Hex,
    /// Its uid; zero if it has no record.
    pub uid: u64,
    /// The same on all processes that share the object; zero if it is this process's own.
    #[serde(default, skip_serializing_if = "Hex::is_zero")]
    pub identity: Hex,
    /// The standard's name of a predefined object, else the one that the program gave; of a file its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is predefined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub predefined: bool,
    /// Processes in the (local) group of a communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

impl Reference {
    /// An object of which nothing but the handle is known.
    pub fn unknown(kind: Kind, handle: u64, uid: u64) -> Self {
        Self { kind, handle: Hex(handle), uid, identity: Hex(0), name: None, predefined: false, size: None }
    }

    /// For people. A communicator that the program named has that name, another one its identity, which is equal on all ranks.
    pub fn label(&self) -> String {
        let size =
            self.size.filter(|size| *size > 0).map_or_else(String::new, |size| format!(" (size {size})"));
        match (&self.name, self.kind) {
            (Some(name), _) if self.predefined => name.clone(),
            (Some(name), _) => format!("\"{name}\""),
            (None, Kind::Communicator) if self.identity.0 != 0 => {
                format!("{}{size}", identity::short(self.identity.0))
            }
            (None, Kind::Communicator) => format!("{}{size}", self.handle),
            (None, Kind::Datatype) => format!("derived {}", self.handle),
            (None, kind) => format!("{} {}", kind.c_type().trim_start_matches("MPI_"), self.handle),
        }
    }
}

/// A communicator, as far as calls on it need it.
#[derive(Debug, Clone)]
pub struct CommFacts {
    /// Names it within its process.
    pub uid: u64,
    /// Its name, or empty.
    pub name: String,
    /// Size of the local group.
    pub size: u32,
    /// The same on all processes that share the communicator; zero if not known.
    pub identity: u64,
    /// Collectives that this process has entered on it.
    pub collectives: u64,
    /// Size of the group whose ranks calls name: the remote one of an intercommunicator.
    pub named: u32,
    /// Ranks in `MPI_COMM_WORLD` of that group, `u64::MAX` for a process outside of it; empty if they are those of the world.
    members: Vec<u64>,
}

impl CommFacts {
    /// Whether the ranks of the communicator are other ones than those of the world.
    pub fn renumbers(&self) -> bool {
        !self.members.is_empty()
    }

    /// The rank in the world that a rank of the communicator stands for.
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
    /// The communicator that a handle stands for: the living one, else one that MPI still works on, else the one freed last.
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

    /// The object of a kind with this handle, as others refer to it.
    pub fn refer_to(&self, kind: Kind, handle: u64) -> Reference {
        let entry = self.index(kind).ok().and_then(|index| index.by_handle(handle));
        self.refer_by(kind, handle, entry)
    }

    pub(super) fn refer(&self, kind: Kind, handle: u64, uid: u64) -> Reference {
        let entry = self.entry_of(uid).ok().flatten();
        Reference { uid, ..self.refer_by(kind, handle, entry) }
    }

    fn refer_by(&self, kind: Kind, handle: u64, entry: Option<Entry>) -> Reference {
        let predefined = self.predefined().name(kind, handle);
        let (given, size) = entry.map_or((None, None), |entry| self.given(kind, entry.index));
        Reference {
            identity: Hex(entry.map_or(0, |entry| entry.identity)),
            name: predefined.map(str::to_owned).or(given.filter(|name| !name.is_empty())),
            predefined: predefined.is_some() || entry.is_some_and(|entry| entry.predefined),
            size,
            ..Reference::unknown(kind, handle, entry.map_or(0, |entry| entry.uid))
        }
    }

    /// The name that the program gave, and the size of a communicator.
    fn given(&self, kind: Kind, index: u64) -> (Option<String>, Option<u32>) {
        match kind {
            Kind::Communicator => {
                let record = self.record::<Comm>(kind, index).ok();
                let record = record.as_ref().map(|record| &record.value);
                (record.map(|comm| comm.name.text().into_owned()), record.map(|comm| comm.size.get()))
            }
            Kind::Datatype => (self.name_of::<Datatype>(index), None),
            Kind::Window => (self.name_of::<Window>(index), None),
            // The process set of a session's group.
            Kind::Group => (self.name_of::<Group>(index), None),
            Kind::File => {
                let record = self.record::<<File as Build>::Record>(kind, index).ok();
                (record.and_then(|record| self.text(&record.value.name)), None)
            }
            _ => (None, None),
        }
    }

    fn name_of<B: Build>(&self, index: u64) -> Option<String> {
        B::name(self, &self.record::<B::Record>(B::KIND, index).ok()?.value)
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
    fn a_member_outside_of_the_world_has_no_rank_there() {
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

    #[test]
    fn a_reference_is_reported_by_its_name_else_by_what_is_equal_on_all_ranks() {
        let mut reference = Reference::unknown(Kind::Communicator, 0x84, 7);
        assert_eq!(reference.label(), "0x84");
        (reference.size, reference.identity) = (Some(4), Hex(0x3f2a_91c0_0000_0000));
        assert_eq!(reference.label(), "id:3f2a91c0 (size 4)");
        reference.name = Some("solver".into());
        assert_eq!(reference.label(), "\"solver\"");
        assert_eq!(Reference::unknown(Kind::Window, 0x9, 0).label(), "Win 0x9");
        let json = serde_json::to_string(&reference).unwrap();
        assert_eq!(serde_json::from_str::<Reference>(&json).unwrap(), reference, "{json}");
    }
}
