//! Groups, operations, error handlers, infos, sessions.

use super::common::{Common, Reference};
use super::communicator;
use super::kind::{Hex, Kind};
use super::ongoing::{self, Ongoing};
use super::reader::{Build, Reader};
use super::request;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, ErrhandlerKind, Flag, Head};
use serde::Serialize;
use std::mem::offset_of;

/// A group.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// This process's rank in it; none if it is not a member.
    pub rank: Option<u32>,
    /// Its members.
    pub size: u32,
    /// Ranks in `MPI_COMM_WORLD`, in order; −1 for a process outside of it.
    pub members: Option<Vec<i64>>,
    /// The second group of a union, intersection or difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_parent: Option<Reference>,
    /// Handles of it that the program has to free.
    pub handles: u32,
    /// Communicators made from it.
    pub communicators: Vec<Reference>,
}

impl Build for Group {
    type Record = objects::Group;
    const KIND: Kind = Kind::Group;

    fn head(record: &objects::Group) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Group) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Group>) -> Self {
        let null = common.standing == super::common::Standing::Null;
        let Some(record) = record else {
            let members = (!null).then(Vec::new);
            return Self {
                common,
                rank: None,
                size: 0,
                members,
                other_parent: None,
                handles: 0,
                communicators: Vec::new(),
            };
        };
        let communicators = communicators_of(reader, &common);
        Self {
            rank: Some(record.rank.get()).filter(|rank| *rank != u32::MAX),
            size: record.size.get(),
            members: communicator::members(reader, &record.members, record.size.get()),
            other_parent: reader.reference(record.other_parent.get()),
            handles: record.handles.get(),
            communicators,
            common,
        }
    }
}

/// The communicator that a group was got from, and those that were made from it.
fn communicators_of<S: Source>(reader: &Reader<'_, S>, common: &Common) -> Vec<Reference> {
    let mut found = reader.referring(Kind::Communicator, offset_of!(objects::Comm, other_parent), common.uid);
    for child in reader.referring(Kind::Communicator, offset_of!(Head, parent), common.uid) {
        if !found.contains(&child) {
            found.push(child);
        }
    }
    found.extend(common.parent.clone().filter(|parent| parent.kind == Kind::Communicator));
    found
}

/// A reduction operation.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Op {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Address of the program's function; zero for a predefined operation.
    pub function: Hex,
    /// Whether it is commutative; none if that is not known.
    pub commutative: Option<bool>,
    /// Whether the function is Fortran's.
    pub fortran_function: bool,
    /// Requests of collective and one-sided operations with it that are not gone.
    pub requests: Vec<Reference>,
    /// Calls with it that threads are in.
    pub calls: Vec<Ongoing>,
}

impl Build for Op {
    type Record = objects::Op;
    const KIND: Kind = Kind::Op;

    fn head(record: &objects::Op) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Op) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Op>) -> Self {
        // Of the predefined operations only these two depend on the order of their operands.
        let predefined = common.name.as_deref().filter(|_| common.predefined);
        let commutative = match predefined {
            Some("MPI_OP_NULL") => None,
            Some(name) => Some(!matches!(name, "MPI_REPLACE" | "MPI_NO_OP")),
            None => Some(common.has(Flag::COMMUTATIVE)),
        };
        Self {
            function: Hex(record.map_or(0, |record| record.function.get())),
            commutative,
            fortran_function: common.has(Flag::FORTRAN),
            requests: request::with_operation(reader, common.handle),
            calls: ongoing::about(reader, Kind::Op, common.handle),
            common,
        }
    }
}

/// An error handler.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Errhandler {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// What it may be attached to; none if that is anything.
    pub of: Option<Kind>,
    /// Address of the program's function; zero for a predefined one.
    pub function: Hex,
    /// Whether the function is Fortran's.
    pub fortran_function: bool,
    /// Handles of it that the program has to free.
    pub handles: u32,
    /// What it is attached to.
    pub attached: Vec<Reference>,
}

impl Build for Errhandler {
    type Record = objects::Errhandler;
    const KIND: Kind = Kind::Errhandler;

    fn head(record: &objects::Errhandler) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Errhandler) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(
        reader: &Reader<'_, S>,
        common: Common,
        record: Option<&objects::Errhandler>,
    ) -> Self {
        let of = record.and_then(|record| match ErrhandlerKind(record.kind.get()) {
            ErrhandlerKind::COMM => Some(Kind::Communicator),
            ErrhandlerKind::FILE => Some(Kind::File),
            ErrhandlerKind::WINDOW => Some(Kind::Window),
            ErrhandlerKind::SESSION => Some(Kind::Session),
            _ => None,
        });
        let places = [
            (
                Kind::Communicator,
                offset_of!(objects::Comm, errhandler),
                offset_of!(objects::Comm, errhandler_uid),
            ),
            (Kind::File, offset_of!(objects::File, errhandler), offset_of!(objects::File, errhandler_uid)),
            (
                Kind::Window,
                offset_of!(objects::Window, errhandler),
                offset_of!(objects::Window, errhandler_uid),
            ),
            (
                Kind::Session,
                offset_of!(objects::Session, errhandler),
                offset_of!(objects::Session, errhandler_uid),
            ),
        ];
        let attached = users(reader, &common, &places);
        Self {
            of,
            function: Hex(record.map_or(0, |record| record.function.get())),
            fortran_function: common.has(Flag::FORTRAN),
            handles: record.map_or(0, |record| record.handles.get()),
            attached,
            common,
        }
    }
}

/// Objects whose records name this one: by uid, or by handle while it has no uid.
fn users<S: Source>(
    reader: &Reader<'_, S>,
    common: &Common,
    places: &[(Kind, usize, usize)],
) -> Vec<Reference> {
    let null = common.standing == super::common::Standing::Null;
    let all = places.iter().flat_map(|(kind, handle, uid)| {
        // What is predefined may be named by its handle alone, whether or not it has a record.
        let by_handle = if common.predefined && !null {
            reader.referring(*kind, *handle, common.handle.0)
        } else {
            Vec::new()
        };
        let by_uid = if common.uid == 0 { Vec::new() } else { reader.referring(*kind, *uid, common.uid) };
        by_handle.into_iter().chain(by_uid)
    });
    let mut found: Vec<Reference> = Vec::new();
    for user in all {
        if !found.contains(&user) {
            found.push(user);
        }
    }
    found
}

/// An info object.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Info {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Keys and values, in order.
    pub pairs: Vec<(String, String)>,
    /// Pairs that the image had no room for.
    pub lost: u64,
    /// Where it was given and is in use.
    pub used_by: Vec<Reference>,
}

impl Build for Info {
    type Record = objects::Info;
    const KIND: Kind = Kind::Info;

    fn head(record: &objects::Info) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Info) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Info>) -> Self {
        let pairs = record.map(|record| pairs(reader, record)).unwrap_or_default();
        let places = [
            (Kind::Communicator, offset_of!(objects::Comm, info), offset_of!(objects::Comm, info_uid)),
            (Kind::File, offset_of!(objects::File, info), offset_of!(objects::File, info_uid)),
            (Kind::Window, offset_of!(objects::Window, info), offset_of!(objects::Window, info_uid)),
            (Kind::Session, offset_of!(objects::Session, info), offset_of!(objects::Session, info_uid)),
        ];
        let used_by = users(reader, &common, &places);
        Self { pairs, lost: record.map_or(0, |record| record.lost.get()), used_by, common }
    }
}

fn pairs<S: Source>(reader: &Reader<'_, S>, record: &objects::Info) -> Vec<(String, String)> {
    let mut pairs = reader.hints(&record.pairs);
    pairs.truncate(usize::try_from(record.count.get()).unwrap_or(usize::MAX));
    pairs
}

/// A session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The info given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// Its pairs, as they were then.
    pub hints: Vec<(String, String)>,
    /// The error handler last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// Groups made from it.
    pub groups: Vec<Reference>,
}

impl Build for Session {
    type Record = objects::Session;
    const KIND: Kind = Kind::Session;

    fn head(record: &objects::Session) -> &Head {
        &record.head
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Session>) -> Self {
        let Some(record) = record else {
            return Self { common, info: None, hints: Vec::new(), errhandler: None, groups: Vec::new() };
        };
        Self {
            info: reader.attached(Kind::Info, record.info.get(), record.info_uid.get()),
            hints: reader.hints(&record.hints),
            errhandler: reader.attached(
                Kind::Errhandler,
                record.errhandler.get(),
                record.errhandler_uid.get(),
            ),
            groups: reader.referring(Kind::Group, offset_of!(Head, parent), common.uid),
            common,
        }
    }
}
