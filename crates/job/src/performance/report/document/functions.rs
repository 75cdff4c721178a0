//! Functions across all ranks.

use super::Calls;
use serde::Serialize;

/// One function across all ranks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionReport {
    /// Name of the function.
    pub name: String,
    /// Sums over the ranks; the time includes calls that were open at the end.
    pub total: Calls,
    /// Number of calls that were open at the end, in all threads of all ranks. They are not among the completed ones.
    pub open: usize,
    /// The rank with the least time.
    pub min: Extreme,
    /// The rank with the most time.
    pub max: Extreme,
}

/// The time spent by one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extreme {
    /// Seconds; none if the calls were not timed.
    pub time_s: Option<f64>,
    /// Index in [`worlds`](super::JobReport::worlds).
    pub world: usize,
    /// Rank in that world, if known.
    pub rank: Option<u32>,
}

impl Extreme {
    /// Returns the seconds known to have been spent.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }
}
