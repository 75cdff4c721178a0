//! A process, as the sections see it.

use crate::jobs::worlds::Worlds;
use crate::performance::report::facts::Facts;
use crate::performance::report::observed::Observed;

/// A process, as the sections see it.
pub struct Part<'a> {
    /// Number of its world.
    pub world: usize,
    /// Rank there.
    pub rank: Option<u32>,
    /// Host.
    pub host: &'a str,
    /// What its records say.
    pub facts: &'a Facts,
    /// From when to when it ran, by the clock of its host; all the time if that is not known.
    pub alive: (u64, u64),
}

impl<'a> Part<'a> {
    /// All processes of a job.
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
