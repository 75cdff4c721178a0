//! How an object is called, by all ranks alike where that is possible.

use mpiscope_job::base::identity;
use mpiscope_job::model::objects::{Common, Hex, Kind, Reference};
use std::fmt;

/// A name and who gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    Standard(String),
    Program(String),
}

/// Another object as all ranks may call it: by its name if it has one, else by what is no handle, if there is such a thing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Called {
    Name(Name),
    /// With the size, if that is of use.
    Identity(u64, Option<u32>),
    /// A datatype by its constructor.
    Derived(&'static str),
    /// A datatype of which not even that is known.
    SomeDerived,
    Handle(Kind, Hex),
    /// A communicator of which nothing but handle and size is known.
    Communicator(Hex, Option<u32>),
}

impl Name {
    /// `MPI_COMM_WORLD`, `"solver"`, or none.
    pub fn of(common: &Common) -> Option<Self> {
        Self::new(common.name.as_ref(), common.predefined)
    }

    fn new(name: Option<&String>, predefined: bool) -> Option<Self> {
        let name = name?.clone();
        Some(if predefined { Self::Standard(name) } else { Self::Program(name) })
    }
}

impl Called {
    /// By its name, if it has one.
    pub fn by_name(object: &Reference) -> Option<Self> {
        Name::new(object.name.as_ref(), object.predefined).map(Self::Name)
    }

    /// Where the object itself is no longer at hand.
    pub fn from_afar(object: &Reference) -> Self {
        let size = object.size.filter(|size| *size > 0);
        Self::by_name(object).unwrap_or(match object.kind {
            Kind::Datatype => Self::SomeDerived,
            Kind::Communicator if object.identity.0 != 0 => Self::Identity(object.identity.0, size),
            Kind::Communicator => Self::Communicator(object.handle, size),
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
        let sized = |size: &Option<u32>| size.map_or_else(String::new, |size| format!(" (size {size})"));
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Identity(identity, size) => write!(f, "{}{}", identity::short(*identity), sized(size)),
            Self::Derived(combiner) => write!(f, "a {combiner} type"),
            Self::SomeDerived => f.write_str("a derived type"),
            Self::Handle(kind, handle) => write!(f, "{kind} {handle}"),
            Self::Communicator(handle, size) => write!(f, "{handle}{}", sized(size)),
        }
    }
}
