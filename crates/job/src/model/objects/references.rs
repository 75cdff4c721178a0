//! References from records to other objects, in both directions.

use super::kind::{Hex, Kind};
use super::reader::Reader;
use super::reference::Reference;
use super::scan::{Entry, Field};
use super::shared_names::SharedNames;
use mpiscope_image::layout::Text;
use mpiscope_image::objects::{self, Combiner, Comm, Life, kind_of};
use mpiscope_image::{Error, Record, Source};

impl<S: Source> Reader<'_, S> {
    /// Returns a reference to the object with this uid.
    pub fn reference(&self, uid: u64) -> Option<Reference> {
        let kind = Kind::of_section(kind_of(uid))?;
        let entry = self.entry_of(uid).ok().flatten()?;
        Some(self.refer(kind, entry.handle, uid))
    }

    /// Returns a reference to an object that a record names by handle and uid; `None` if both are
    /// zero.
    pub(super) fn attached(&self, kind: Kind, handle: u64, uid: u64) -> Option<Reference> {
        if uid != 0 {
            return self.reference(uid).or(Some(Reference::unknown(kind, handle, uid)));
        }
        if handle == 0 {
            return None;
        }
        // Named by its handle alone: it is the live object with that handle.
        let entry = self.index(kind).ok().and_then(|index| index.by_handle(handle));
        let alive = entry.filter(|entry| entry.life != Life::FREED.0);
        Some(self.refer(kind, handle, alive.map_or(0, |entry| entry.uid)))
    }

    /// Returns a reference to a predefined object, given its name.
    pub(super) fn known(&self, kind: Kind, name: &str) -> Option<Reference> {
        let handle = self.predefined.value(mpi_abi::predefined::by_name(name)?)?;
        self.attached(kind, handle, 0)
    }

    /// Returns references to all objects of a kind, including freed ones.
    pub fn all_references(&self, kind: Kind) -> Result<Vec<Reference>, Error> {
        let index = self.index(kind)?;
        Ok(index.entries.iter().map(|entry| self.refer(kind, entry.handle, entry.uid)).collect())
    }

    /// Returns the live objects of a kind whose record has `wanted` in this field.
    pub(super) fn referring(&self, kind: Kind, field: usize, wanted: u64) -> Vec<Reference> {
        self.having(kind, (kind.section(), field, 8), wanted)
    }

    /// The same for a 32-bit field.
    pub(super) fn referring_half(&self, kind: Kind, field: usize, wanted: u32) -> Vec<Reference> {
        self.having(kind, (kind.section(), field, 4), u64::from(wanted))
    }

    fn having(&self, kind: Kind, field: Field, wanted: u64) -> Vec<Reference> {
        let alive = self.entries_by(field, wanted).into_iter().filter(|entry| entry.life != Life::FREED.0);
        alive.map(|entry| self.refer(kind, entry.handle, entry.uid)).collect()
    }

    /// Returns a reference to the object of a kind with this handle.
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
        let shared = entry.and_then(|entry| self.shared_name(entry.identity)).map(str::to_owned);
        let given = || entry.and_then(|entry| self.given(kind, entry.index));
        let sizes = entry.filter(|_| kind == Kind::Communicator).and_then(|entry| self.sizes(entry.index));
        Reference {
            identity: Hex(entry.map_or(0, |entry| entry.identity)),
            name: predefined.map(str::to_owned).or(shared).or_else(given),
            combiner: entry.filter(|_| kind == Kind::Datatype).and_then(|entry| self.combiner(entry.index)),
            predefined: predefined.is_some() || entry.is_some_and(|entry| entry.predefined),
            size: sizes.map(|(local, _)| local),
            remote_size: sizes.map(|(_, remote)| remote).filter(|remote| *remote != 0),
            ..Reference::unknown(kind, handle, entry.map_or(0, |entry| entry.uid))
        }
    }

    /// Returns the names that the program gave to communicators and windows that other processes may share.
    pub fn names_of_shared(&self) -> SharedNames {
        let mut names = SharedNames::default();
        for kind in [Kind::Communicator, Kind::Window] {
            let Ok(index) = self.index(kind) else { continue };
            let own = |entry: &&Entry| entry.identity != 0 && !entry.predefined;
            for entry in index.entries.iter().filter(own) {
                if let Some(name) = self.given(kind, entry.index) {
                    names.add(entry.identity, &name);
                }
            }
        }
        names
    }

    /// Returns the name set by the program.
    fn given(&self, kind: Kind, index: u64) -> Option<String> {
        let given = match kind {
            Kind::Communicator => Some(self.record::<Comm>(kind, index).ok()?.value.name.text().into_owned()),
            Kind::Datatype => self.name_of(kind, index, |of: &objects::Datatype| &of.name),
            Kind::Window => self.name_of(kind, index, |of: &objects::Window| &of.name),
            // The process set of a group from a session.
            Kind::Group => self.name_of(kind, index, |of: &objects::Group| &of.name),
            Kind::File => self.name_of(kind, index, |of: &objects::File| &of.name),
            _ => None,
        };
        given.filter(|name| !name.is_empty())
    }

    /// Returns the constructor of a derived datatype.
    fn combiner(&self, index: u64) -> Option<String> {
        let record = self.record::<objects::Datatype>(Kind::Datatype, index).ok()?.value;
        let combiner = Combiner(record.combiner.get());
        let known = ![Combiner::UNKNOWN, Combiner::NAMED].contains(&combiner);
        combiner.name().filter(|_| known).map(str::to_owned)
    }

    /// Returns the numbers of processes in the local and the remote group of a communicator.
    fn sizes(&self, index: u64) -> Option<(u32, u32)> {
        let record = self.record::<Comm>(Kind::Communicator, index).ok()?.value;
        Some((record.size.get(), record.remote_size.get()))
    }

    fn name_of<T: Record>(&self, kind: Kind, index: u64, name: impl Fn(&T) -> &Text) -> Option<String> {
        self.text(name(&self.record::<T>(kind, index).ok()?.value))
    }
}
