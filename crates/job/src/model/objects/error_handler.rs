//! Error handlers.

use super::build::Build;
use super::common::Common;
use super::kind::{Hex, Kind};
use super::reader::Reader;
use super::reference::Reference;
use super::users;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, ErrhandlerKind, Flag, Head};
use serde::Serialize;
use std::mem::offset_of;

/// An error handler.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Errhandler {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The kind of object that it may be attached to; none if it may be attached to all kinds.
    pub of: Option<Kind>,
    /// Address of the program's function; zero for a predefined one.
    pub function: Hex,
    /// Whether the function is written in Fortran.
    pub fortran_function: bool,
    /// Number of handles of it that the program must free.
    pub handles: u32,
    /// The objects that it is attached to.
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
        let attached = users::of(reader, &common, &places);
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
