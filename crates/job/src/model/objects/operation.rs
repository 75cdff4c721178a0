//! Reduction operations.

use super::build::Build;
use super::common::Common;
use super::kind::{Hex, Kind};
use super::open_calls::OpenCall;
use super::reader::Reader;
use super::reference::Reference;
use super::request;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Flag, Head};
use serde::Serialize;

/// A reduction operation.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Op {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Address of the program's function; zero for a predefined operation.
    pub function: Hex,
    /// Whether it is commutative; none if unknown.
    pub commutative: Option<bool>,
    /// Whether the function is written in Fortran.
    pub fortran_function: bool,
    /// Requests of collective and one-sided operations with it that still exist.
    pub requests: Vec<Reference>,
    /// Calls with it that threads are currently in.
    pub calls: Vec<OpenCall>,
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
            calls: reader.calls_about(Kind::Op, common.handle.0),
            common,
        }
    }
}
