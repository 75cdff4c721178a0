//! How well ranks worked together; see the [report](super) module.

use serde::Serialize;

/// How well ranks worked together, as defined by the POP project.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiencies {
    /// Mean divided by maximum of the useful times.
    pub load_balance: f64,
    /// Maximum useful time divided by elapsed time.
    pub communication: f64,
    /// The product of both.
    pub parallel: f64,
}

impl Efficiencies {
    /// Computes them from the useful time of every rank and the elapsed time. A job that spent all its time
    /// in MPI did nothing that could be balanced.
    #[must_use]
    pub fn of(useful: &[f64], wall_s: f64) -> Option<Self> {
        let most = useful.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 || wall_s <= 0.0 {
            return None;
        }
        let load_balance = useful.iter().sum::<f64>() / useful.len() as f64 / most;
        let communication = (most / wall_s).min(1.0);
        Some(Self { load_balance, communication, parallel: load_balance * communication })
    }

    /// Splits the communication efficiency, given how long each rank waited for others, into
    /// serialization, in which that waiting is the only loss, and transfer, which covers the rest.
    #[must_use]
    pub fn split(&self, useful: &[f64], waits: &[f64], wall_s: f64) -> Option<(f64, f64)> {
        // On an ideal network transfers take no time: what remains is work, and waiting for the work of
        // others.
        let ideal = useful.iter().zip(waits).map(|(useful, waits)| useful + waits).fold(0.0, f64::max);
        let transfer = (ideal / wall_s).min(1.0);
        (useful.len() == waits.len() && transfer > 0.0)
            .then(|| ((self.communication / transfer).min(1.0), transfer))
    }
}
