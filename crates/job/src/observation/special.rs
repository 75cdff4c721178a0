//! Argument values that are neither ranks nor tags.

use mpi_abi::{AbiKind, constant};

/// The special rank and tag values of one ABI.
#[derive(Debug, Clone, Copy)]
pub struct Special {
    any_source: Option<i64>,
    any_tag: Option<i64>,
    proc_null: Option<i64>,
}

impl Special {
    /// Returns the values of an ABI.
    pub fn of(abi: AbiKind) -> Self {
        let value = |name| constant::value_of(abi, name);
        Self {
            any_source: value("MPI_ANY_SOURCE"),
            any_tag: value("MPI_ANY_TAG"),
            proc_null: value("MPI_PROC_NULL"),
        }
    }

    /// Interprets a rank: `None` for `MPI_PROC_NULL`, `Some(None)` for any source.
    pub fn rank(self, rank: i64) -> Option<Option<u32>> {
        if Some(rank) == self.proc_null {
            None
        } else if Some(rank) == self.any_source {
            Some(None)
        } else {
            u32::try_from(rank).ok().map(Some)
        }
    }

    /// Returns the value of `MPI_PROC_NULL`.
    pub fn nobody(self) -> Option<i64> {
        self.proc_null
    }

    /// Interprets a tag; `None` for any tag.
    pub fn tag(self, tag: i64) -> Option<i32> {
        if Some(tag) == self.any_tag { None } else { i32::try_from(tag).ok() }
    }
}
