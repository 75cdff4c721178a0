//! Predefined handles of one process, by value and by name.

use super::kind::Kind;
use super::process_context::ProcessContext;
use mpi_abi::{AbiKind, PREDEFINED, Predefined};
use std::cell::RefCell;
use std::collections::HashMap;

/// The predefined handles of one process. Those of Open MPI are looked up on demand, kind by kind.
pub struct PredefinedHandles<'a> {
    abi: AbiKind,
    around: &'a dyn ProcessContext,
    by_address: RefCell<HashMap<Kind, HashMap<u64, &'static Predefined>>>,
}

impl<'a> PredefinedHandles<'a> {
    /// Creates the handles of a process with this ABI.
    pub fn new(abi: AbiKind, around: &'a dyn ProcessContext) -> Self {
        Self { abi, around, by_address: RefCell::default() }
    }

    /// Returns the predefined object of this kind with this handle.
    pub fn find(&self, kind: Kind, handle: u64) -> Option<&'static Predefined> {
        let object = kind.object_kind()?;
        if self.abi != AbiKind::OPENMPI {
            return mpi_abi::predefined::name_of(self.abi, object, handle);
        }
        if let Some(symbol) = self.around.exported_at(handle) {
            return mpi_abi::predefined::by_symbol(&symbol).filter(|known| known.kind == object);
        }
        let mut known = self.by_address.borrow_mut();
        known.entry(kind).or_insert_with(|| self.look_up(kind)).get(&handle).copied()
    }

    fn look_up(&self, kind: Kind) -> HashMap<u64, &'static Predefined> {
        self.list(kind).map(|(known, address)| (address, known)).collect()
    }

    /// Returns all known objects of a kind with their handles.
    pub fn list(&self, kind: Kind) -> impl Iterator<Item = (&'static Predefined, u64)> {
        let of_kind = PREDEFINED.iter().filter(move |p| Some(p.kind) == kind.object_kind());
        of_kind.filter_map(|p| Some((p, self.value(p)?)))
    }

    /// Returns the handle of a predefined object in this process.
    pub fn value(&self, known: &Predefined) -> Option<u64> {
        match self.abi {
            AbiKind::OPENMPI => self.around.symbol(known.openmpi?),
            abi => known.value(abi),
        }
    }

    /// Returns the name of a predefined object: `MPI_INT`.
    pub fn name(&self, kind: Kind, handle: u64) -> Option<&'static str> {
        self.find(kind, handle).map(|p| p.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::objects::process_context::ImageOnly;

    struct Symbols;

    impl ProcessContext for Symbols {
        fn symbol(&self, name: &str) -> Option<u64> {
            (name == "ompi_mpi_int").then_some(0x7000)
        }
    }

    #[test]
    fn numeric_handles_are_named_directly_and_addresses_through_symbols() {
        let mpich = PredefinedHandles::new(AbiKind::MPICH, &ImageOnly);
        assert_eq!(mpich.name(Kind::Communicator, 0x4400_0000), Some("MPI_COMM_WORLD"));
        assert_eq!(mpich.name(Kind::Group, 0x4400_0000), None);
        let openmpi = PredefinedHandles::new(AbiKind::OPENMPI, &Symbols);
        assert_eq!(openmpi.name(Kind::Datatype, 0x7000), Some("MPI_INT"));
        assert_eq!(openmpi.name(Kind::Datatype, 0x7001), None);
        assert_eq!(openmpi.name(Kind::Communicator, 0x7000), None);
    }
}
