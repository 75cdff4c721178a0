//! A process as input of the sections.

use crate::jobs::worlds::Worlds;
use crate::performance::report::facts::Facts;
use crate::performance::report::observed::Observed;

/// A process as input of the sections.
pub struct Part<'a> {
    /// Number of its world.
    pub world: usize,
    /// Rank in that world.
    pub rank: Option<u32>,
    /// Host name.
    pub host: &'a str,
    /// Facts from its records.
    pub facts: &'a Facts,
    /// Start and end of its life, by its host's clock; unbounded if unknown.
    pub alive: (u64, u64),
}

impl<'a> Part<'a> {
    /// Returns all processes of a job.
    pub fn of(observed: &'a [Observed], worlds: &Worlds) -> Vec<Self> {
        let part = |one: &'a Observed| {
            let process = &one.process;
            let world = worlds.number(&process.world);
            let end = process.finalized_ns.or(one.ended_ns).unwrap_or(u64::MAX);
            Part {
                world,
                rank: process.rank.or(one.launcher_rank),
                host: &process.host,
                facts: &one.facts,
                alive: (process.begin_ns, end),
            }
        };
        observed.iter().map(part).collect()
    }
}
