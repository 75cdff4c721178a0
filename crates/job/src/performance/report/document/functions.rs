//! Functions over all ranks.

use super::Calls;
use serde::Serialize;

/// One function over all ranks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Sums over the ranks; the time includes calls that were open at the end.
    pub total: Calls,
    /// Least time on a rank.
    pub min: Extreme,
    /// Most time on a rank.
    pub max: Extreme,
}

/// The time of one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extreme {
    /// Seconds; none if the calls were not timed.
    pub time_s: Option<f64>,
    /// Which of [`worlds`](super::JobReport::worlds).
    pub world: usize,
    /// The rank there, if known.
    pub rank: Option<u32>,
}

impl Extreme {
    /// Seconds that are known to have been spent.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }
}
