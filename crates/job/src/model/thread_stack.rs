//! The stack of a thread as shown and saved.

use serde::{Deserialize, Serialize};

/// The stack of a thread, in text form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStack {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// `function at file:line`, outermost first.
    pub frames: Vec<String>,
    /// What it is doing there: `in MPI_Recv`, `computing`.
    pub doing: String,
    /// Why frames are missing, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}
