//! Other worlds that the process of an image has spawned or is connected with, found by the
//! intercommunicators that lead there.

use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Comm, Flag, Life};
use mpiscope_image::{Functions, Image, Source};
use serde::{Deserialize, Serialize};

/// The functions that spawn processes.
const STARTERS: [&str; 2] = ["MPI_Comm_spawn", "MPI_Comm_spawn_multiple"];

/// One call that spawned processes, equal on all its participants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spawned {
    /// The world of the callers.
    pub world: String,
    /// The intercommunicator's identity.
    pub identity: u64,
    /// Number of processes spawned.
    pub processes: u32,
}

/// Which intercommunicators count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Live ones: the spawned processes have not disconnected.
    Live,
    /// Freed ones as well, for a job with all processes saved.
    All,
}

impl Spawned {
    /// Returns what the process of an image has spawned.
    pub fn of<S: Source>(image: &Image<S>, world: &str, which: Which) -> Vec<Self> {
        let spawned = intercommunicators(image, &STARTERS, which)
            .into_iter()
            .map(|(_, identity, processes)| Self { world: world.to_owned(), identity, processes });
        spawned.collect()
    }
}

/// The functions that connect jobs.
const CONNECTORS: [&str; 3] = ["MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"];

/// One connection, equal on all participants of the call on one side, and on both sides if they have found
/// each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connected {
    /// The intercommunicator's identity.
    pub identity: u64,
    /// The call that created it.
    pub by: String,
    /// Number of processes on the other side.
    pub processes: u32,
    /// Whether the other side is a job on the same host, which can be asked there.
    pub found: bool,
}

impl Connected {
    /// Returns the open connections of the process of an image.
    pub fn of<S: Source>(image: &Image<S>) -> Vec<Self> {
        let made = intercommunicators(image, &CONNECTORS, Which::Live).into_iter();
        made.map(|(by, identity, processes)| Self { identity, by, processes, found: false }).collect()
    }
}

/// Returns the intercommunicators created by one of these functions: the function, the identity, and the size
/// of the remote group.
fn intercommunicators<S: Source>(image: &Image<S>, makers: &[&str], which: Which) -> Vec<(String, u64, u32)> {
    let wanted = |comm: &Comm| {
        let life = comm.head.life.get();
        comm.head.flags.get() & Flag::INTER.0 != 0
            && comm.remote_size.get() > 0
            && (life == Life::LIVE.0 || which == Which::All && life == Life::FREED.0)
    };
    let comms = image.all::<Comm>(SectionKind::COMMS).unwrap_or_default();
    let comms: Vec<Comm> = comms.into_iter().map(|comm| comm.value).filter(wanted).collect();
    if comms.is_empty() {
        return Vec::new();
    }
    let functions = Functions::read(image).unwrap_or_default();
    let made = |comm: &Comm| {
        let made_by = u32::from(comm.head.made_by.get()).checked_sub(1);
        let name = &made_by.and_then(|number| functions.get(number))?.name;
        let maker = makers.iter().find(|maker| **maker == name.as_str())?;
        Some(((*maker).to_owned(), comm.head.identity.get(), comm.remote_size.get()))
    };
    comms.iter().filter_map(made).collect()
}
