//! Attributes and their keys.

use super::build::Build;
use super::common::Common;
use super::kind::{Hex, Kind};
use super::reader::Reader;
use mpi_abi::constant;
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{self, Head, Life};
use serde::Serialize;
use std::mem::offset_of;

/// Maximum number of attributes listed per object.
const MOST: usize = 4096;

/// An attribute of a communicator, datatype or window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attribute {
    /// The key.
    pub keyval: i64,
    /// Name of the key, if it is predefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Uid of the key's record; zero if it is predefined.
    pub keyval_uid: u64,
    /// The value: a pointer, or an integer in its place.
    pub value: Hex,
    /// Whether the library copied it from another object.
    pub copied: bool,
}

/// A key for attributes. Its handle is the key, with the debugger interface's number of the kind that it applies to in
/// the upper half: keys of different kinds may be equal. The records have the image's own number of the kind instead.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Keyval {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The key as the program sees it.
    pub keyval: i32,
    /// The kind of objects that it applies to.
    pub of: Option<Kind>,
    /// Address of the copy function.
    pub copy: Hex,
    /// Address of the delete function.
    pub delete: Hex,
    /// The extra state.
    pub extra_state: Hex,
}

/// Returns the attributes of the object with this uid.
pub(super) fn of<S: Source>(reader: &Reader<'_, S>, uid: u64) -> Vec<Attribute> {
    let section = SectionKind::ATTRIBUTES;
    let found = reader.entries_by((section, offset_of!(Head, parent), 8), uid);
    let alive = found.into_iter().filter(|entry| entry.life == Life::LIVE.0).take(MOST);
    let records = alive.filter_map(|entry| {
        let record = reader.record_of::<objects::Attribute>(section, entry.index).ok()?.value;
        (record.head.parent.get() == uid).then_some(record)
    });
    records.map(|record| attribute(reader, &record)).collect()
}

fn attribute<S: Source>(reader: &Reader<'_, S>, record: &objects::Attribute) -> Attribute {
    let keyval = record.keyval.get().cast_signed();
    Attribute {
        keyval,
        name: predefined_key(reader, keyval, record.keyval_uid.get()),
        keyval_uid: record.keyval_uid.get(),
        value: Hex(record.value.get()),
        copied: record.copied.get() != 0,
    }
}

fn predefined_key<S: Source>(reader: &Reader<'_, S>, keyval: i64, uid: u64) -> Option<String> {
    const KEYS: [&str; 7] = [
        "MPI_TAG_UB",
        "MPI_HOST",
        "MPI_IO",
        "MPI_WTIME_IS_GLOBAL",
        "MPI_UNIVERSE_SIZE",
        "MPI_APPNUM",
        "MPI_LASTUSEDCODE",
    ];
    if uid != 0 {
        return None;
    }
    let name = KEYS.iter().find(|name| constant::value_of(reader.abi(), name) == Some(keyval))?;
    Some((*name).to_owned())
}

impl Build for Keyval {
    type Record = objects::Keyval;
    const KIND: Kind = Kind::Keyval;

    fn head(record: &objects::Keyval) -> &Head {
        &record.head
    }

    fn stored(handle: u64) -> u64 {
        let of = Kind::of_debugger_number((handle >> 32) as i32);
        of.map_or(handle, |of| u64::from(of.section().0) << 32 | handle & u64::from(u32::MAX))
    }

    fn build<S: Source>(_: &Reader<'_, S>, mut common: Common, record: Option<&objects::Keyval>) -> Self {
        let of = Kind::of_section(SectionKind((common.handle.0 >> 32) as u32));
        let keyval = common.handle.0 as u32;
        if let Some(of) = of {
            common.handle.0 = u64::from(of.debugger_number().cast_unsigned()) << 32 | u64::from(keyval);
        }
        Self {
            keyval: keyval.cast_signed(),
            of,
            copy: Hex(record.map_or(0, |r| r.copy.get())),
            delete: Hex(record.map_or(0, |r| r.delete.get())),
            extra_state: Hex(record.map_or(0, |r| r.extra.get())),
            common,
        }
    }
}
