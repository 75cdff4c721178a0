//! What a report says beside functions and ranks: who talks to whom, collectives by communicator, sizes of messages, files,
//! memory and placement.

use crate::base::rankset::RankSet;
use crate::jobs::placement::Placement;
use crate::jobs::worlds::Members;
use serde::Serialize;

/// The sections of a report.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sections {
    /// By communicator, most bytes first.
    pub peers: Vec<Exchange>,
    /// By communicator, most collectives first.
    pub collectives: Vec<Collectives>,
    /// Messages between ranks, over all communicators.
    pub messages: Messages,
    /// By name, most time first.
    pub files: Vec<FileUse>,
    /// By world and rank: only of processes that were there to be asked, but for the image.
    pub memory: Vec<Memory>,
    /// Ranks that share fewer processors than they are.
    pub crowded: Vec<Crowd>,
}

/// Messages between the members of one communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// The communicator, for people.
    pub communicator: String,
    /// The same on all its ranks.
    pub identity: String,
    /// Its processes; of an intercommunicator those of both groups.
    pub size: u32,
    /// Messages sent on it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pairs with messages, most bytes first.
    pub pairs: Vec<Pair>,
    /// Pairs that are not listed.
    pub more_pairs: usize,
}

/// Messages from one rank to another.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Who sends: the rank in its `MPI_COMM_WORLD`, written `world.rank` if that is not the first.
    pub from: String,
    /// Who receives. A process of another world that is not seen is written as its rank in the communicator, `?.3`.
    pub to: String,
    /// As the sender says.
    pub messages: u64,
    /// As the sender says.
    pub bytes: u64,
    /// As the receiver says.
    pub received: u64,
    /// As the receiver says.
    pub received_bytes: u64,
}

/// Collectives on one communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collectives {
    /// The communicator, for people.
    pub communicator: String,
    /// The same on all its ranks.
    pub identity: String,
    /// Its members.
    pub size: u32,
    /// Collectives entered on it by the member that entered most.
    pub entered: u64,
    /// By the one that entered least.
    pub least: u64,
    /// Who that is, if not all entered as many.
    #[serde(skip_serializing_if = "Members::is_empty")]
    pub behind: Members,
    /// Bytes of all of them, on all members: each rank's part, as of call sites.
    pub bytes: u64,
    /// What came of which function, most time first, then most calls. Calls at a place that uses so many communicators that they are not told
    /// apart are missing here and in `bytes`, and so are those that free it.
    pub functions: Vec<OfFunction>,
    /// The last ones that are still known, each kind once, most frequent first.
    pub last: Vec<Recent>,
}

/// What collectives of one function on one communicator came to, on all members.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfFunction {
    /// The function; one that makes a persistent collective for all starts of it.
    pub function: String,
    /// Completed calls.
    pub calls: u64,
    /// Seconds in them; none without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// Bytes: each rank's part.
    pub bytes: u64,
}

/// What was given to some of the last collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recent {
    /// The function.
    pub function: String,
    /// Count and datatype, if all members name the same.
    pub data: Option<String>,
    /// Bytes of that.
    pub bytes: Option<u64>,
    /// The line of the program.
    pub place: Option<String>,
    /// How many of the last ones, over all members.
    pub count: u64,
    /// Who made them.
    pub ranks: Members,
}

/// Messages between ranks.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Of these, those whose size is not known, because the library does not say; no number of bytes has theirs.
    pub received_unsized: u64,
    /// By size.
    pub sizes: Vec<SizeClass>,
    /// Operations under way when the report was made.
    pub pending: u64,
    /// Receives posted and not complete.
    pub posted: u64,
    /// Messages matched by a probe and not received.
    pub matched: u64,
    /// The most operations that one rank had under way, and who.
    pub most_pending: Most,
    /// The most receives that one rank had posted, and who.
    pub most_posted: Most,
}

/// The greatest value, and whose it is.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct Most {
    pub value: u64,
    pub ranks: Members,
}

/// Messages of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeClass {
    /// Least bytes.
    pub from: u64,
    /// Most bytes.
    pub to: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
}

/// A file, over all ranks and openings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct FileUse {
    pub path: String,
    pub ranks: Members,
    /// How often it was opened, each rank for itself.
    pub opened: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Time inside of the calls, all ranks together.
    pub seconds: f64,
    /// The rank that took longest.
    pub slowest: Members,
    /// Its time.
    pub slowest_s: f64,
}

/// Memory and place of one rank.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Number of the world.
    pub world: usize,
    /// Rank there.
    pub rank: Option<u32>,
    /// Host.
    pub host: String,
    /// Bytes that the records of the layer take.
    pub image: u64,
    /// What the system of its host said while it lived.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
}

/// Ranks that share fewer processors than they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct Crowd {
    pub host: String,
    pub ranks: Members,
    pub cpus: RankSet,
}

/// `ranks [2-3] share core 5 of node7`.
impl std::fmt::Display for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cores = if self.cpus.0.len() == 1 { "core" } else { "cores" };
        write!(f, "ranks {} share {cores} {} of {}", self.ranks, self.cpus, self.host)
    }
}
