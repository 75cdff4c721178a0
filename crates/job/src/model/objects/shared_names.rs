//! The names that a program gave to objects which several ranks share.
//!
//! Naming an object is a local call: perhaps only one rank makes it, or ranks choose different names. Views show one
//! name for the object on all its ranks.

use super::reference::Reference;
use std::collections::BTreeMap;

/// The names of shared objects by identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedNames(BTreeMap<u64, String>);

impl SharedNames {
    /// Adds the name that a rank gave to an object. Of several names, the first in alphabetical order is kept: the order
    /// in which ranks are read must not matter.
    pub fn add(&mut self, identity: u64, name: &str) {
        if identity == 0 || name.is_empty() {
            return;
        }
        let known = self.0.entry(identity).or_insert_with(|| name.to_owned());
        if name < known.as_str() {
            name.clone_into(known);
        }
    }

    /// Adds the names known to another rank.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(identity, name)| self.add(*identity, name));
    }

    /// Returns the name of the object with this identity, if a rank has named it.
    pub fn of(&self, identity: u64) -> Option<&str> {
        self.0.get(&identity).map(String::as_str)
    }

    /// Gives the object its shared name.
    pub fn give(&self, object: &mut Reference) {
        if !object.predefined
            && let Some(name) = self.of(object.identity.0)
        {
            object.name = Some(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::{Hex, Kind};
    use super::*;

    #[test]
    fn an_object_has_one_name_on_all_ranks_whichever_of_them_named_it() {
        let mut names = SharedNames::default();
        for (identity, name) in [(7, "solver"), (7, "halo"), (7, "rows"), (0, "local"), (8, "")] {
            names.add(identity, name);
        }
        let mut all = SharedNames::default();
        all.join(&names);
        assert_eq!((all.of(7), all.of(0), all.of(8)), (Some("halo"), None, None));
        let unnamed = Reference { identity: Hex(7), ..Reference::unknown(Kind::Communicator, 0x84, 1) };
        let named = |mut object: Reference| {
            all.give(&mut object);
            object.label()
        };
        assert_eq!(named(unnamed.clone()), "\"halo\"");
        assert_eq!(named(Reference { name: Some("solver".into()), ..unnamed.clone() }), "\"halo\"");
        let predefined = Reference { name: Some("MPI_COMM_WORLD".into()), predefined: true, ..unnamed };
        assert_eq!(named(predefined), "MPI_COMM_WORLD");
        assert_eq!(named(Reference::unknown(Kind::Window, 0x9, 1)), "Win 0x9");
    }
}
