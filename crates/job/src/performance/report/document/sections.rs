//! The parts of a report other than functions and ranks: communication between ranks, collectives by
//! communicator, message sizes, files, memory and placement.

use crate::base::rankset::RankSet;
use crate::jobs::placement::Placement;
use crate::jobs::worlds::Members;
use serde::Serialize;

/// The sections of a report.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sections {
    /// By communicator, in descending order of bytes.
    pub peers: Vec<Exchange>,
    /// By communicator, in descending order of collectives.
    pub collectives: Vec<Collectives>,
    /// Messages between ranks on all communicators.
    pub messages: Messages,
    /// By name, in descending order of time.
    pub files: Vec<FileUse>,
    /// By world and rank. All but the image size only for processes that existed when the report was made.
    pub memory: Vec<Memory>,
    /// Groups of ranks with fewer processors than ranks.
    pub crowded: Vec<Crowd>,
}

/// Messages between the members of one communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// The communicator, window or file, as text for users.
    pub communicator: String,
    /// Its identity, the same on all its ranks.
    pub identity: String,
    /// Number of processes; for an intercommunicator in both groups.
    pub size: u32,
    /// Number of messages sent on it.
    pub messages: u64,
    /// Bytes sent on it.
    pub bytes: u64,
    /// Pairs of ranks with messages, in descending order of bytes.
    pub pairs: Vec<Pair>,
    /// Number of pairs not listed.
    pub more_pairs: usize,
}

/// Messages from one rank to another.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The sender: its rank in `MPI_COMM_WORLD`, written `world.rank` for other worlds than the first.
    pub from: String,
    /// The receiver. An unobserved process of another world is written as its rank in the communicator,
    /// `?.3`.
    pub to: String,
    /// Number of messages sent, as recorded by the sender.
    pub messages: u64,
    /// Bytes sent, as recorded by the sender.
    pub bytes: u64,
    /// Number of messages received, as recorded by the receiver.
    pub received: u64,
    /// Bytes received, as recorded by the receiver.
    pub received_bytes: u64,
    /// Seconds for which the sender waited for the receiver, as in `waits.of_messages`, or in
    /// `waits.sampled.of_messages` if messages were not recorded individually; none if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_wait_s: Option<f64>,
    /// Seconds for which the receiver waited for the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_wait_s: Option<f64>,
}

/// Collectives on one communicator, window or file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collectives {
    /// The communicator, as text for users.
    pub communicator: String,
    /// Its identity, the same on all its ranks.
    pub identity: String,
    /// Number of members.
    pub size: u32,
    /// Whether its groups are of different worlds: which members met in a collective is then not known.
    #[serde(skip)]
    pub between_worlds: bool,
    /// Number of collectives entered on it by the member that entered the most.
    pub entered: u64,
    /// Number of collectives entered on it by the member that entered the fewest.
    pub least: u64,
    /// The members that entered the fewest, unless all entered the same number.
    #[serde(skip_serializing_if = "Members::is_empty")]
    pub behind: Members,
    /// Bytes of all collectives on all members: each rank's part, as for call sites.
    pub bytes: u64,
    /// By function, in descending order of time, then of calls. Not included here and in `bytes`: calls at a
    /// place that uses too many objects to distinguish, and calls that free the object.
    pub functions: Vec<OfFunction>,
    /// The most recent collectives still recorded, each kind once, in descending order of frequency.
    pub last: Vec<Recent>,
}

/// Collectives of one function on one communicator, window or file, over all members.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfFunction {
    /// The function; for persistent collectives the one that creates the request, which stands for all its
    /// starts.
    pub function: String,
    /// Number of completed calls.
    pub calls: u64,
    /// Number of calls that were open at the end. They are not among the completed ones.
    pub open: usize,
    /// Seconds in them and in calls that were open at the end; none if times were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// Seconds for which members waited for others, as in `waits.of_collectives`: in these calls or, if they
    /// only start the operation, in the calls that complete it. None if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// Bytes: each rank's part.
    pub bytes: u64,
}

/// Arguments of some of the most recent collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recent {
    /// The function.
    pub function: String,
    /// Count and datatype, if all members must specify the same.
    pub data: Option<String>,
    /// Size of the data in bytes.
    pub bytes: Option<u64>,
    /// Source line of the program.
    pub place: Option<String>,
    /// Number of such calls among the most recent ones, over all members.
    pub count: u64,
    /// Ranks that made them.
    pub ranks: Members,
}

/// Messages between ranks.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// Number of messages sent.
    pub sent: u64,
    /// Number of messages received.
    pub received: u64,
    /// The part of these whose size is unknown because the library does not report it; they are not included
    /// in any number of bytes.
    pub received_unsized: u64,
    /// Messages by size.
    pub sizes: Vec<SizeClass>,
    /// Number of operations active when the report was made.
    pub pending: u64,
    /// Number of receives posted and not complete.
    pub posted: u64,
    /// Number of messages matched by a probe and not received.
    pub matched: u64,
    /// Maximum number of active operations of one rank, and the ranks that reached it.
    pub most_pending: Most,
    /// Maximum number of posted receives of one rank, and the ranks that reached it.
    pub most_posted: Most,
}

/// The maximum of a value, and the ranks that reached it.
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
    /// Minimum size in bytes.
    pub from: u64,
    /// Maximum size in bytes.
    pub to: u64,
    /// Number of messages sent.
    pub sent: u64,
    /// Number of messages received.
    pub received: u64,
}

/// A file, across all ranks and openings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct FileUse {
    pub path: String,
    pub ranks: Members,
    /// Number of times it was opened, counting each rank separately.
    pub opened: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Time inside the calls, over all ranks.
    pub seconds: f64,
    /// The rank that took longest.
    pub slowest: Members,
    /// The time of that rank.
    pub slowest_s: f64,
}

/// Memory and placement of one rank.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Number of its world.
    pub world: usize,
    /// Rank in that world.
    pub rank: Option<u32>,
    /// Host name.
    pub host: String,
    /// Size of the layer's records in bytes.
    pub image: u64,
    /// Facts reported by its host's system while it was alive.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
}

/// A group of ranks with fewer processors than ranks.
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
