//! What the line of an object says, as values: by them objects of several processes are compared, and rendered afterwards.

use super::called::Name;
use super::{
    communicator, datatype, error_handler, group, info, keyval, operation, request, session, window,
};
use mpiscope_job::model::objects::{Common, Kind};
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

impl Summary {
    pub fn new(common: &Common, what: What) -> Self {
        Self { kind: common.kind, name: Name::of(common), what }
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
