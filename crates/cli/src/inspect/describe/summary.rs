//! What the line of an object says, as values: by them objects of several processes are compared, and rendered afterwards.

use super::{
    communicator, datatype, error_handler, group, info, keyval, operation, request, session, window,
};
use mpiscope_job::base::identity;
use mpiscope_job::model::objects::{Common, Hex, Kind, Reference};
use std::fmt;

/// What a line says of an object, equal on all ranks that share the object where that is possible.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    kind: Kind,
    /// The standard's or the program's.
    name: Option<Name>,
    what: What,
}

/// What it says about objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    Communicator(communicator::Summary),
    Group(group::Summary),
    Datatype(datatype::Summary),
    Request(Option<request::Summary>),
    Message(request::MessageSummary),
    Op(operation::Summary),
    Errhandler(error_handler::Summary),
    Info(info::Summary),
    File(Option<window::FileSummary>),
    Window(window::Summary),
    Session(session::Summary),
    Keyval(keyval::Summary),
}

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

impl Summary {
    pub fn new(common: &Common, what: What) -> Self {
        Self { kind: common.kind, name: Name::of(common), what }
    }
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

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Communicator(what) => what.fmt(f),
            Self::Group(what) => what.fmt(f),
            Self::Datatype(what) => what.fmt(f),
            Self::Request(what) => what.as_ref().map_or(Ok(()), |what| what.fmt(f)),
            Self::Message(what) => what.fmt(f),
            Self::Op(what) => what.fmt(f),
            Self::Errhandler(what) => what.fmt(f),
            Self::Info(what) => what.fmt(f),
            Self::File(what) => what.as_ref().map_or(Ok(()), |what| what.fmt(f)),
            Self::Window(what) => what.fmt(f),
            Self::Session(what) => what.fmt(f),
            Self::Keyval(what) => what.fmt(f),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what.to_string();
        match (&self.name, what.is_empty()) {
            (Some(name), true) => name.fmt(f),
            (Some(name), false) => write!(f, "{name}: {what}"),
            (None, _) => f.write_str(&what),
        }
    }
}
