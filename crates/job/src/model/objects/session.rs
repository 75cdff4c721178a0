//! Sessions.

use super::build::Build;
use super::common::Common;
use super::kind::Kind;
use super::reader::Reader;
use super::reference::Reference;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Head};
use serde::Serialize;
use std::mem::offset_of;

/// A session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The info passed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// The pairs of that info at that time.
    pub hints: Vec<(String, String)>,
    /// The error handler last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// Groups created from it.
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
