//! Names for objects, the same on all ranks where possible.

use mpiscope_job::model::objects::{Common, Hex, Kind, Reference};
use std::fmt;

/// A name, and whether the standard or the program gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    Standard(String),
    Program(String),
}

/// A way to refer to an object that is the same on all ranks: by name, or else by a property other than its
/// handle if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Called {
    Name(Name),
    /// By a property that all ranks share: its identity, or a datatype's constructor.
    Shared(String),
    Handle(Kind, Hex),
    /// A communicator of which only handle and sizes are known.
    Communicator(Hex, String),
}

impl Name {
    /// Returns `MPI_COMM_WORLD`, `"solver"`, or `None`.
    pub fn of(common: &Common) -> Option<Self> {
        Self::new(common.name.as_ref(), common.predefined)
    }

    fn new(name: Option<&String>, predefined: bool) -> Option<Self> {
        let name = name?.clone();
        Some(if predefined { Self::Standard(name) } else { Self::Program(name) })
    }
}

impl Called {
    /// Refers to an object.
    pub fn of(object: &Reference) -> Self {
        if let Some(name) = Name::new(object.name.as_ref(), object.predefined) {
            return Self::Name(name);
        }
        match object.kind {
            Kind::Datatype => Self::Shared(with_article(&object.derived())),
            _ if object.identity.0 != 0 => Self::Shared(object.label()),
            Kind::Communicator => Self::Communicator(object.handle, object.sizes()),
            kind => Self::Handle(kind, object.handle),
        }
    }
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(name) => f.write_str(name),
            Self::Program(name) => write!(f, "\"{name}\""),
        }
    }
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Shared(property) => f.write_str(property),
            Self::Handle(kind, handle) => write!(f, "{kind} {handle}"),
            Self::Communicator(handle, sizes) => write!(f, "{handle}{sizes}"),
        }
    }
}
