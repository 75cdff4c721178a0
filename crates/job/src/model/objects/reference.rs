//! A reference to another object, the form in which all commands name objects.

use super::kind::{Hex, Kind};
use crate::base::identity;
use serde::{Deserialize, Serialize};

/// A reference to an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// Its kind.
    pub kind: Kind,
    /// Its handle.
    pub handle: Hex,
    /// Its uid; zero if it has no record.
    pub uid: u64,
    /// Equal on all processes that share the object; zero if it is local to this process.
    #[serde(default, skip_serializing_if = "Hex::is_zero")]
    pub identity: Hex,
    /// The standard's name of a predefined object, otherwise the name set by the program, on this rank or on another one
    /// that shares the object; for a file, its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is predefined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub predefined: bool,
    /// The constructor of a derived datatype, such as `contiguous`, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combiner: Option<String>,
    /// Number of processes in the (local) group of a communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// Number of processes in the remote group of an intercommunicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_size: Option<u32>,
}

impl Reference {
    /// Creates a reference to an object of which only the handle is known.
    pub fn unknown(kind: Kind, handle: u64, uid: u64) -> Self {
        Self {
            kind,
            handle: Hex(handle),
            uid,
            identity: Hex(0),
            name: None,
            predefined: false,
            combiner: None,
            size: None,
            remote_size: None,
        }
    }

    /// The name shown to users: the name set by the program; for other communicators, windows and files the
    /// identity, which is equal on all ranks.
    pub fn label(&self) -> String {
        let size = self.sizes();
        match (&self.name, self.kind) {
            (Some(name), _) if self.predefined => name.clone(),
            (Some(name), _) => quoted(name),
            (None, Kind::Communicator) if self.identity.0 != 0 => {
                format!("{}{size}", identity::short(self.identity.0))
            }
            (None, kind) if self.identity.0 != 0 => {
                format!("{} {}", kind.noun(), identity::short(self.identity.0))
            }
            (None, Kind::Communicator) => format!("{}{size}", self.handle),
            (None, Kind::Datatype) => format!("{} {}", self.derived(), self.handle),
            (None, kind) => format!("{} {}", kind.c_type().trim_start_matches("MPI_"), self.handle),
        }
    }

    /// Describes a derived datatype by its constructor, which is the same on all ranks: `contiguous type`.
    pub fn derived(&self) -> String {
        format!("{} type", self.combiner.as_deref().unwrap_or("derived"))
    }

    /// Returns the sizes of a communicator's groups in parentheses, after a space, if known. They are the same on
    /// both sides of an intercommunicator: the smaller one comes first.
    pub fn sizes(&self) -> String {
        match (self.size.unwrap_or(0), self.remote_size.unwrap_or(0)) {
            (0, _) => String::new(),
            (size, 0) => format!(" (size {size})"),
            (local, remote) => format!(" (sizes {} and {})", local.min(remote), local.max(remote)),
        }
    }
}

/// Returns the label of an object with a name that the program chose.
pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Returns the name in a label, if the program chose it.
pub fn unquoted(label: &str) -> Option<&str> {
    label.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_reported_by_its_name_or_else_by_what_all_ranks_share() {
        let mut reference = Reference::unknown(Kind::Communicator, 0x84, 7);
        assert_eq!(reference.label(), "0x84");
        (reference.size, reference.identity) = (Some(4), Hex(0x3f2a_91c0_0000_0000));
        assert_eq!(reference.label(), "id:3f2a91c0 (size 4)");
        reference.remote_size = Some(2);
        assert_eq!(reference.label(), "id:3f2a91c0 (sizes 2 and 4)");
        reference.name = Some("solver".into());
        assert_eq!(reference.label(), "\"solver\"");
        let mut window = Reference::unknown(Kind::Window, 0x9, 0);
        assert_eq!(window.label(), "Win 0x9");
        window.identity = Hex(0x8a24_3f49_0000_0000);
        assert_eq!(window.label(), "window id:8a243f49");
        let mut datatype = Reference::unknown(Kind::Datatype, 0x4c, 0);
        assert_eq!(datatype.label(), "derived type 0x4c");
        datatype.combiner = Some("contiguous".into());
        assert_eq!(datatype.label(), "contiguous type 0x4c");
        let json = serde_json::to_string(&reference).unwrap();
        assert_eq!(serde_json::from_str::<Reference>(&json).unwrap(), reference, "{json}");
    }
}
