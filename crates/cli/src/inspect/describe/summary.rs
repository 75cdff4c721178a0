//! The contents of an object's line as values, which allows objects of several processes to be compared
//! before rendering.

use super::called::Name;
use super::{
    communicator, datatype, error_handler, group, info, keyval, operation, request, session, window,
};
use mpiscope_job::model::objects::{Common, Kind};
use std::fmt;

/// The contents of a line, equal on all ranks that share the object where possible.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    kind: Kind,
    /// The name given by the standard or the program.
    name: Option<Name>,
    what: What,
}

/// The part specific to each kind of object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    /// No object, so nothing but the name of the null handle.
    Null,
    Communicator(communicator::Summary),
    Group(group::Summary),
    Datatype(datatype::Summary),
    Request(request::Summary),
    Message(request::MessageSummary),
    Op(operation::Summary),
    Errhandler(error_handler::Summary),
    Info(info::Summary),
    File(window::FileSummary),
    Window(window::Summary),
    Session(session::Summary),
    Keyval(keyval::Summary),
}

impl Summary {
    pub fn new(common: &Common, what: What) -> Self {
        Self { kind: common.kind, name: Name::of(common), what }
    }

    /// Whether other commands name such an object by its identity (`Reference::label`).
    pub fn is_called_by_identity(&self) -> bool {
        self.name.is_none() && matches!(self.kind, Kind::Communicator | Kind::Window)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Communicator(what) => what.fmt(f),
            Self::Group(what) => what.fmt(f),
            Self::Datatype(what) => what.fmt(f),
            Self::Request(what) => what.fmt(f),
            Self::Message(what) => what.fmt(f),
            Self::Op(what) => what.fmt(f),
            Self::Errhandler(what) => what.fmt(f),
            Self::Info(what) => what.fmt(f),
            Self::File(what) => what.fmt(f),
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
