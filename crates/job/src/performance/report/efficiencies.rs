//! How well ranks worked together: see the [report](super).

use serde::Serialize;

/// How well ranks worked together, after the POP project.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiencies {
    /// Mean over maximum of the useful times.
    pub load_balance: f64,
    /// The maximum over the time that passed.
    pub communication: f64,
    /// The product.
    pub parallel: f64,
}

impl Efficiencies {
    /// From the useful time of every rank and the time that passed. A job that was in MPI all the time did nothing that could be
    /// balanced.
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

    /// What the communication efficiency is made of, given how long each rank waited for others inside of MPI: serialisation, the
    /// part that is left if nothing but that waiting is lost, and transfer, the rest.
    #[must_use]
    pub fn split(&self, useful: &[f64], waits: &[f64], wall_s: f64) -> Option<(f64, f64)> {
        // On an ideal network nothing is transferred: what is left is work, and waiting for the work of others.
        let ideal = useful.iter().zip(waits).map(|(useful, waits)| useful + waits).fold(0.0, f64::max);
        let transfer = (ideal / wall_s).min(1.0);
        (useful.len() == waits.len() && transfer > 0.0)
            .then(|| ((self.communication / transfer).min(1.0), transfer))
    }
}
