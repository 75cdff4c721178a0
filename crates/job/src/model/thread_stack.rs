//! The stack of a thread as it is shown and kept.

use serde::{Deserialize, Serialize};

/// The stack of a thread in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStack {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// `function at file:line`, outermost first.
    pub frames: Vec<String>,
    /// What it does there: `in MPI_Recv`, `computing`.
    pub doing: String,
    /// Why these are not all frames, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}
