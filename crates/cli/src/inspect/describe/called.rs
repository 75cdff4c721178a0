//! Names for objects, the same on all ranks where possible.

use mpiscope_job::base::identity;
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
    /// By identity, with the sizes in parentheses if useful.
    Identity(u64, String),
    /// A datatype, by its constructor.
    Derived(&'static str),
    /// A datatype with unknown constructor.
    SomeDerived,
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
    /// Refers to the object by its name, if it has one.
    pub fn by_name(object: &Reference) -> Option<Self> {
        Name::new(object.name.as_ref(), object.predefined).map(Self::Name)
    }

    /// Refers to an object that cannot be looked up any more.
    pub fn from_afar(object: &Reference) -> Self {
        Self::by_name(object).unwrap_or(match object.kind {
            Kind::Datatype => Self::SomeDerived,
            Kind::Communicator if object.identity.0 != 0 => Self::Identity(object.identity.0, object.sizes()),
            Kind::Communicator => Self::Communicator(object.handle, object.sizes()),
            kind => Self::Handle(kind, object.handle),
        })
    }
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
            Self::Identity(identity, sizes) => write!(f, "{}{sizes}", identity::short(*identity)),
            Self::Derived(combiner) => write!(f, "a {combiner} type"),
            Self::SomeDerived => f.write_str("a derived type"),
            Self::Handle(kind, handle) => write!(f, "{kind} {handle}"),
            Self::Communicator(handle, sizes) => write!(f, "{handle}{sizes}"),
        }
    }
}
