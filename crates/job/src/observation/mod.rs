//! What a single snapshot of one process shows.
//!
//! Communicators are identified by an identity that is the same on all members, and ranks are relative to the
//! communicator. `why::join` maps both to processes once the observations of all ranks are available.

#[cfg(test)]
mod abort_tests;
#[cfg(test)]
mod argument_tests;
mod arguments;
mod calls;
mod collective_objects;
pub(crate) mod communicators;
pub mod concurrent;
mod context;
mod envelopes;
mod epochs;
pub mod faults;
pub mod history;
pub mod ledger;
pub mod locks;
mod message_calls;
pub mod one_sided;
pub mod partitioned;
mod raised;
mod read;
mod requests;
mod same_argument;
mod shared_labels;
mod special;
mod thread_level;
pub mod windows;

pub use arguments::Wrong;
pub use context::{Context, is_stopped};
pub use faults::Fault;
pub use history::History;
pub use ledger::Ledger;
pub use locks::Locks;
pub use message_calls::MessageCalls;
pub use one_sided::OneSided;
pub use partitioned::Partitioned;
pub use raised::{Raised, did_not_return};
pub use read::{observe, of_image, of_messages};
pub use shared_labels::share_names;
pub use thread_level::Forbidden;
pub use windows::Window;

use crate::base::error_classes::is_wrong_use;
use crate::model::process_end::BadEnd;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Activity of a thread outside MPI that only a thread inside MPI can wake: it can act only after that call
/// returns.
pub const AWAITS_THREAD: &str = "waiting for another thread that is in MPI";

/// Activity of a thread outside MPI that waits for a lock held by a thread inside MPI.
pub const AWAITS_LOCK: &str = "waiting for a lock held by a thread that is in MPI";

/// Returns whether a thread with this activity can act only after another thread has returned from MPI.
#[must_use]
pub fn awaits_mpi(doing: &str) -> bool {
    [AWAITS_THREAD, AWAITS_LOCK].contains(&doing)
}

/// What a process must do that polls with null or inactive requests only: none of them can complete.
pub const NOTHING_ACTIVE: &str = "start a request: all requests in the call are null or inactive";

/// What a single snapshot of one process shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Name of the job.
    #[serde(default)]
    pub job: String,
    /// Name of its world, identical on all ranks of the world.
    pub world: String,
    /// Rank in its `MPI_COMM_WORLD`, if known.
    pub rank: Option<u32>,
    /// Number of processes in its world, if known.
    pub size: Option<u32>,
    /// The rank its launcher assigned to it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher_rank: Option<u32>,
    /// Host name.
    pub host: String,
    /// Process id on its host.
    pub pid: u32,
    /// When it started, by its host's clock. Worlds are numbered in this order.
    #[serde(default)]
    pub begin_ns: u64,
    /// Maximum error in nanoseconds of its times, which have been converted to the reader's clock; `None` if
    /// they are still in its own host's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// How far it has got.
    pub stage: Stage,
    /// How it ended, as text for users, if it has.
    pub ended: Option<String>,
    /// When and how it ended, by its host's clock, if it ended abnormally and its starter observed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_end: Option<BadEnd>,
    /// Threads that have called MPI.
    pub threads: Vec<Thread>,
    /// Communicators it belongs to, followed by its windows and files, which also have members and collective
    /// calls.
    pub communicators: Vec<Communicator>,
    /// Posted, incomplete receives, oldest first.
    pub posted: Vec<Receive>,
    /// Messages matched by a probe and not yet received, each as the receive it is destined for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<Receive>,
    /// Collectives that have been started and are not complete.
    pub collectives: Vec<Collective>,
    /// Windows it belongs to.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Partitioned messages it has requests for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitioned: Vec<Partitioned>,
    /// Persistent messages it has requests for but has not started, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_started: Option<Box<NotStarted>>,
    /// The most recent collectives on each communicator.
    #[serde(default)]
    pub history: Vec<History>,
    /// Number of records dropped for lack of space, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
    /// Recently sent messages, oldest first.
    pub sent: Vec<Message>,
    /// Recently received messages.
    pub received: Vec<Message>,
    /// Number of receives it cancelled before a message arrived.
    #[serde(default)]
    pub cancelled_receives: u64,
    /// Its calls that send and receive, by source line; only if it is waiting in a collective.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub message_calls: Box<[MessageCalls]>,
    /// Errors observed in its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Calls of its threads that the level of thread support forbids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<Forbidden>,
    /// If it has a single thread in MPI, which is outside now: the last call, as one that took no time. Used by
    /// the waits.
    #[serde(skip)]
    pub returned: Option<ledger::Waited>,
    /// Its individual messages, if they are recorded and were requested. Used by the findings.
    #[serde(skip)]
    pub ledger: Option<Box<Ledger>>,
    /// Its one-sided calls, likewise.
    #[serde(skip)]
    pub one_sided: Option<Box<OneSided>>,
    /// Whether it ended with exit status 0 although `MPI_Finalize` had not returned.
    #[serde(skip)]
    pub left: bool,
    /// Its most recent window locks.
    #[serde(skip)]
    pub locks: Vec<Locks>,
    /// Time of the last snapshot, if there will be no further one; the ages of open calls are measured up to
    /// it.
    #[serde(skip)]
    pub last: Option<LastLook>,
}

impl Observation {
    /// Whether it is in a call that was given something invalid, or in which the library found such an error: if its
    /// process has ended, the library ended it, and then the launcher the others.
    #[must_use]
    pub fn erred(&self) -> bool {
        let is_own = |raised: &Raised| is_wrong_use(&raised.error) || raised.error == "MPI_ERR_TRUNCATE";
        self.threads.iter().any(|thread| {
            thread.call.as_ref().is_some_and(|call| !call.wrong.is_empty())
                || thread.raised.as_deref().is_some_and(is_own)
        })
    }

    /// Converts its times to another clock.
    pub fn by_clock(&mut self, error_ns: u64, ours: impl Fn(u64) -> u64) {
        let change = |ns: &mut u64| {
            // Zero means "no time".
            if *ns != 0 {
                *ns = ours(*ns);
            }
        };
        for (entered, left) in self.history.iter_mut().flat_map(|history| &mut history.times) {
            change(entered);
            change(left);
        }
        for call in self.history.iter_mut().flat_map(|history| &mut history.completed) {
            change(&mut call.from_ns);
            change(&mut call.until_ns);
        }
        let epochs = self.locks.iter_mut().flat_map(|locks| &mut locks.list);
        for call in epochs.flat_map(|epoch| [Some(&mut epoch.asked), epoch.released.as_mut()]).flatten() {
            change(&mut call.from_ns);
            change(&mut call.until_ns);
        }
        for raised in self.threads.iter_mut().flat_map(|thread| &mut thread.raised) {
            change(&mut raised.at_ns);
        }
        let rings = self.ledger.iter_mut().flat_map(|ledger| [&mut ledger.sent, &mut ledger.received]);
        for line in rings.flat_map(|ring| &mut ring.lines) {
            change(&mut line.posted_ns);
            for call in [&mut line.probed, &mut line.waited].into_iter().flatten() {
                change(&mut call.from_ns);
                change(&mut call.until_ns);
            }
        }
        for call in self.one_sided.iter_mut().flat_map(|seen| &mut seen.calls) {
            change(&mut call.from_ns);
            change(&mut call.until_ns);
        }
        self.clock_error_ns = Some(error_ns);
    }
}

/// Time of the last snapshot of a process, by the clock of its collectives, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLook {
    /// When the snapshot was taken; ages are measured up to it.
    pub looked_ns: u64,
    /// When the process ended; otherwise the same as `looked_ns`.
    pub ended_ns: u64,
    /// When it began to end: earlier if it called `MPI_Abort`.
    pub began_to_end_ns: u64,
}

/// How far a process has got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Has not called MPI.
    #[default]
    Silent,
    /// `MPI_Init` has not returned.
    Starting,
    /// `MPI_Init` has returned.
    Running,
    /// `MPI_Finalize` has returned.
    Finalized,
}

/// A thread that has called MPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Number of calls completed, excluding polling calls.
    pub calls: u64,
    /// Number of polling calls completed.
    pub polls: u64,
    /// Number of calls completed, excluding those of the polling loop it is in; truncated to 32 bits.
    #[serde(default)]
    pub steps: u32,
    /// The open call, or the call it polls with.
    pub call: Option<Call>,
    /// If outside MPI: the last call and its source line.
    pub after: String,
    /// Its state according to the system: "computing", "sleeping", "stopped", …; in a call only if stopped.
    pub doing: String,
    /// The innermost frame of user code.
    pub at: Option<String>,
    /// Whether the thread has ended.
    pub ended: bool,
    /// The error that the library has found in a call which has not returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Box<Raised>>,
}

/// An open call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Function name.
    pub function: String,
    /// Source line in user code.
    pub place: Option<String>,
    /// Age in seconds.
    pub age_s: Option<f64>,
    /// What it needs in order to return.
    pub needs: Vec<Need>,
    /// Whether one of the needs suffices.
    pub any: bool,
    /// Whether it is a non-blocking call made over and over.
    pub polling: bool,
    /// If polling: the longest earlier stretch of polling, in seconds, that ended because something arrived
    /// or the program moved on.
    #[serde(default)]
    pub polled_before_s: f64,
    /// Invalid arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
}

/// Something a call needs in order to return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A message.
    Message(Receive),
    /// A receiver for a message.
    Receiver(Message),
    /// The other members of a communicator, window or file. Boxed: it would make every `Need` much larger.
    Collective(Box<Collective>),
    /// Those neighbors in a communicator's topology whose data it receives.
    Neighbors {
        /// The call.
        collective: Box<Collective>,
        /// The neighbors, as ranks of the communicator.
        of: Vec<u32>,
    },
    /// Receipt of the buffered messages it has sent: all of them, or those on one communicator.
    Buffered {
        /// Identity of the communicator.
        comm: Option<u64>,
    },
    /// An action by one rank.
    Action {
        /// The communicator the rank belongs to.
        comm: u64,
        /// The rank.
        rank: i64,
        /// What it must do, as text for users.
        what: String,
        /// The resulting kind of verdict.
        kind: Action,
    },
    /// The other side of a partitioned message: it must be started there, and the sender, which may be this
    /// process, must mark all its partitions ready.
    Partitioned {
        /// Identity of the communicator.
        comm: u64,
        /// The other side, as rank of the communicator.
        peer: u32,
        /// The tag.
        tag: i32,
        /// Whether this process is the sender.
        sends: bool,
        /// Number of its request, of those that this process has made.
        #[serde(default)]
        made: u64,
        /// Number of times this side has been started.
        starts: u64,
    },
    /// All processes of its world must call `MPI_Init`.
    Start,
    /// Other processes must make the matching call.
    Match {
        /// The function, without the suffix of its large-count variant.
        function: String,
        /// Identity of the communicator on which the callers find each other.
        comm: u64,
        /// The tag by which they find each other.
        tag: i64,
        /// The other callers, as ranks of its world.
        with: Vec<u32>,
        /// The resulting kind of verdict.
        kind: Action,
    },
    /// The lock of one member's memory, or completion of this process's operations under that lock.
    Lock {
        /// Identity of the window.
        window: u64,
        /// The member, as rank of the communicator.
        target: u32,
        /// The window, as text for users.
        name: String,
        /// Whether the call asks for the lock.
        #[serde(default)]
        asks: bool,
    },
    /// The other side of a window epoch: the target processes must post it, or the processes granted access
    /// to this process's memory must complete it.
    Epoch {
        /// Identity of the window.
        window: u64,
        /// Whether this process accesses the memory of others; otherwise it has exposed its own.
        access: bool,
        /// The window, as text for users.
        name: String,
    },
    /// An action by this process itself that only the waiting thread could take.
    Own {
        /// The action, as text for users.
        what: String,
        /// The resulting kind of verdict.
        kind: Action,
    },
    /// An unknown party.
    Outside {
        /// Description of the party, as text for users.
        what: String,
        /// The resulting kind of verdict.
        kind: Action,
    },
}

/// Kind of thing waited for, other than a message or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// One-sided communication.
    Rma,
    /// A partition that must be marked ready.
    Partition,
    /// A request that the program must complete.
    Request,
    /// A group member that must make the same call.
    Member,
    /// Another job.
    Partner,
    /// Processes that a launcher starts.
    Start,
    /// Storage.
    File,
    /// Unknown.
    Unknown,
}

/// A communicator as seen by one of its members.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Communicator {
    /// Identity, the same on all members.
    pub identity: u64,
    /// Name, as text for users.
    pub name: String,
    /// This process's rank in it.
    pub rank: u32,
    /// Ranks in the world of the (local) group; `None` if the group is the world in its order. `u32::MAX`
    /// stands for a process of another world.
    pub members: Option<Vec<u32>>,
    /// Number of processes in the (local) group.
    pub size: u32,
    /// The remote group, if it is an intercommunicator.
    pub remote: Option<Remote>,
    /// Ranks whose data this process receives in collectives of the communicator's topology; `None` without a
    /// topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<u32>>,
    /// Ranks that receive this process's data in such collectives; `None` without a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<u32>>,
    /// What all members had to pass alike when they created it; `None` if there is nothing that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<Creation>,
    /// Number of collectives this process has entered on it.
    pub collectives: u64,
    /// Messages exchanged with each rank, in rank order; only ranks with at least one message.
    pub peers: Vec<Peer>,
    /// Number of messages received on it whose sender the library did not report; `None` if it reported them
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<u64>,
    /// How it was made, if by a call that gave its callers different communicators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Box<Split>>,
    /// Whether this process has freed it; if so, the last of [`collectives`](Self::collectives) was the
    /// freeing call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freed: bool,
}

impl Communicator {
    /// Returns the number of its processes; of an intercommunicator, in both groups.
    #[must_use]
    pub fn processes(&self) -> u32 {
        self.size.saturating_add(self.remote.as_ref().map_or(0, |remote| remote.size))
    }

    /// Number of processes that call its collectives, counting both groups of an intercommunicator; `None` if
    /// one group is of another world.
    #[must_use]
    pub fn callers(&self) -> Option<u32> {
        match &self.remote {
            None => Some(self.size),
            Some(remote) if remote.members.is_empty() || remote.members.contains(&ANOTHER_WORLD) => None,
            Some(remote) => self.size.checked_add(remote.size),
        }
    }
}

/// What all members of a communicator or file must pass alike when they create it, as text for users.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The creating function.
    pub function: String,
    /// The argument or arguments, such as `dimensions`.
    pub argument: String,
    /// What this process passed, such as `2 x 3`.
    pub passed: String,
    /// Source line in user code.
    pub place: Option<String>,
}

/// The call that split a communicator (`MPI_Comm_split`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Identity of the communicator that was split.
    pub of: u64,
    /// The color that the members passed.
    pub color: i64,
    /// Source line in user code.
    pub place: Option<String>,
}

/// The remote group of an intercommunicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// Number of processes in it.
    pub size: u32,
    /// Their ranks in this process's world, [`ANOTHER_WORLD`] for processes outside it; empty if unknown.
    pub members: Vec<u32>,
}

/// Stands for a process that has no rank in this world.
pub const ANOTHER_WORLD: u32 = u32::MAX;

/// Number of messages exchanged with one rank of a communicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The rank.
    pub rank: u32,
    /// Messages sent to it and not cancelled.
    pub sent: u64,
    /// Messages received from it.
    pub received: u64,
    /// Sum of the tags of the messages sent to it and not cancelled.
    pub sent_tags: u64,
    /// Sum of the tags of the messages received from it.
    pub received_tags: u64,
    /// Bytes sent to it.
    pub sent_bytes: u64,
    /// Bytes received from it.
    pub received_bytes: u64,
}

/// A sent or received message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// Size in bytes.
    pub bytes: u64,
    /// Source line in user code, if known.
    pub place: Option<String>,
}

/// Persistent messages that a process has requests for but has not started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotStarted {
    /// Messages to send.
    pub sends: Vec<Message>,
    /// Messages to receive.
    pub receives: Vec<Receive>,
}

impl NotStarted {
    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty()
    }
}

/// A receive, or a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receive {
    /// Identity of the communicator.
    pub comm: u64,
    /// Source rank on the communicator; `None` for any source.
    pub from: Option<u32>,
    /// Tag; `None` for any tag.
    pub tag: Option<i32>,
    /// Buffer size in bytes.
    pub room: Option<u64>,
    /// Size in bytes of an element of its datatype, if that is predefined and has just one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<std::num::NonZeroU8>,
    /// Source line in user code.
    pub place: Option<Box<str>>,
    /// Its position among the receives the process has posted.
    pub order: u64,
    /// Place where the variable holding this request's handle was overwritten by another request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<Box<str>>,
}

/// What a member of an intercommunicator knows about the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Between {
    /// The root it passed.
    pub root: RootBetween,
    /// Its rank in its group.
    pub rank: u32,
    /// Size of its group.
    pub size: u32,
}

/// The root passed by a member of an intercommunicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootBetween {
    /// `MPI_ROOT`: the process itself.
    Myself,
    /// `MPI_PROC_NULL`: another process of its own group.
    AnotherOfMine,
    /// A rank of the remote group.
    OfOthers(u32),
}

/// A collective call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collective {
    /// Identity of the communicator, window or file.
    pub comm: u64,
    /// Its number on that object, counted from 1; 0 for `MPI_Finalize`.
    pub number: u64,
    /// Number of times it was started, modulo 2^16, if it is persistent; 0 otherwise.
    #[serde(default)]
    pub starts: u16,
    /// The function, without the suffix of its large-count variant.
    pub function: String,
    /// Whether the large-count variant was called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub large: bool,
    /// The root rank.
    pub root: Option<i64>,
    /// The root, if this is a call on an intercommunicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The reduction operation.
    pub op: Option<String>,
    /// Number of bytes, if all members must pass the same number.
    pub bytes: Option<u64>,
    /// Hash of the type signature, if it must be the same on all members.
    #[serde(default)]
    pub types: Option<u64>,
    /// Total bytes sent to all members and expected from all members, this process included, where these may
    /// differ between members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<(u64, u64)>,
    /// The kinds of elements in these bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<ElementKinds>,
    /// The argument that must be the same on all members, in calls on windows and files that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<i64>,
    /// Count and datatype, or [`argument`](Self::argument), as text for users.
    #[serde(default)]
    pub data: Option<String>,
    /// Source line in user code.
    #[serde(default)]
    pub place: Option<String>,
}

impl Collective {
    /// Returns the function's name as called.
    #[must_use]
    pub fn called(&self) -> String {
        let ending = if self.large { "_c" } else { "" };
        format!("{}{ending}", self.function)
    }
}

/// The kinds of elements a process sends to all members of a collective and expects from all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ElementKinds {
    /// The difference of the two as a number; over all members these add up to zero. See
    /// [`Mixture::less`](mpiscope_image::mixture::Mixture::less).
    pub difference: u16,
    /// The elements sent, encoded as by [`Mixture::stored`](mpiscope_image::mixture::Mixture::stored).
    pub gives: u16,
    /// The elements expected.
    pub expects: u16,
}
