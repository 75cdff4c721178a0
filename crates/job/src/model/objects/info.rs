//! Info objects.

use super::build::Build;
use super::common::Common;
use super::kind::Kind;
use super::reader::Reader;
use super::reference::Reference;
use super::users;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Head};
use serde::Serialize;
use std::mem::offset_of;

/// An info object.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Info {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Keys and values, in order.
    pub pairs: Vec<(String, String)>,
    /// Number of pairs dropped for lack of space.
    pub lost: u64,
    /// The objects that it was passed to and that still use it.
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
        let used_by = users::of(reader, &common, &places);
        Self { pairs, lost: record.map_or(0, |record| record.lost.get()), used_by, common }
    }
}

fn pairs<S: Source>(reader: &Reader<'_, S>, record: &objects::Info) -> Vec<(String, String)> {
    let mut pairs = reader.hints(&record.pairs);
    pairs.truncate(usize::try_from(record.count.get()).unwrap_or(usize::MAX));
    pairs
}
