//! The sections of a report, each from the observations or the facts of all processes.

mod collectives;
mod crowded;
mod files;
mod memory;
mod messages;
mod part;
mod peers;
mod waiting;

pub use self::part::Part;
use super::document::Sections;
use crate::jobs::worlds::Worlds;
use crate::observation::Observation;

impl Sections {
    /// Builds the sections from all processes of a job.
    pub fn new(observations: &[Observation], parts: &[Part<'_>], worlds: &Worlds) -> Self {
        Self {
            peers: peers::peers(observations, worlds),
            collectives: collectives::collectives(observations, parts, worlds),
            messages: messages::messages(parts),
            files: files::files(parts),
            memory: parts.iter().map(memory::of_rank).collect(),
            crowded: crowded::crowded(parts),
        }
    }
}
