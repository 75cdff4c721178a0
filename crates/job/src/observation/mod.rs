//! What one look at one process saw.
//!
//! Communicators are named by their identity, which is the same on all members, and ranks are those of the communicator;
//! `why::join` turns both into processes when the observations of all ranks are there.

#[cfg(test)]
mod argument_tests;
mod arguments;
mod calls;
mod collective_objects;
pub(crate) mod communicators;
mod context;
mod envelopes;
mod epochs;
pub mod faults;
pub mod history;
pub mod ledger;
pub mod locks;
mod message_calls;
pub mod partitioned;
mod read;
mod requests;
mod special;
pub mod windows;

pub use arguments::Wrong;
pub use context::Context;
pub use faults::Fault;
pub use history::History;
pub use ledger::Ledger;
pub use locks::Locks;
pub use message_calls::MessageCalls;
pub use partitioned::Partitioned;
pub use read::{observe, of_image, of_messages};
pub use windows::Window;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is said of a thread outside of MPI that only a thread inside of MPI can wake: it can act when that returns, and not before.
pub const AWAITS_THREAD: &str = "waiting for another thread that is in MPI";

/// What one look at one process saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Name of the job.
    #[serde(default)]
    pub job: String,
    /// Name of its world, the same on all its ranks.
    pub world: String,
    /// Rank in its `MPI_COMM_WORLD`, if it knows it.
    pub rank: Option<u32>,
    /// Processes in its world, if it knows.
    pub size: Option<u32>,
    /// The rank that its launcher meant it to have, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher_rank: Option<u32>,
    /// Host.
    pub host: String,
    /// Process id on its host.
    pub pid: u32,
    /// When it began, by the clock of its host: worlds are numbered by that.
    #[serde(default)]
    pub begin_ns: u64,
    /// Its times have been brought to the clock of the one who looks, and are wrong by at most so many nanoseconds; none while they are
    /// those of its own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// How far it has come.
    pub stage: Stage,
    /// How it ended, for people, if it has.
    pub ended: Option<String>,
    /// The exit status, and the class of the error that it stands for where the library ends a process in a call that fails.
    #[serde(skip)]
    pub exit_error: Option<(i32, &'static str)>,
    /// Threads that have called MPI.
    pub threads: Vec<Thread>,
    /// Communicators that it is a member of; then its windows and files, which have members and collective calls as well.
    pub communicators: Vec<Communicator>,
    /// Receives that are posted and not complete, oldest first.
    pub posted: Vec<Receive>,
    /// Messages that a probe has matched and that were not received, each as the receive that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<Receive>,
    /// Collectives that were started and are not complete.
    pub collectives: Vec<Collective>,
    /// Windows that it is a member of.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Partitioned messages that it has made requests for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitioned: Vec<Partitioned>,
    /// Persistent messages that it has requests for and has not started.
    #[serde(default, skip_serializing_if = "NotStarted::is_empty")]
    pub not_started: NotStarted,
    /// The last collectives on each communicator.
    #[serde(default)]
    pub history: Vec<History>,
    /// Records that found no room, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
    /// Messages sent lately, oldest first.
    pub sent: Vec<Message>,
    /// Messages received lately.
    pub received: Vec<Message>,
    /// If it waits in a collective: its calls that send and receive, by line.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub message_calls: Box<[MessageCalls]>,
    /// What its calls were seen to do wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Its messages one by one, where they are recorded and were asked for: for findings.
    #[serde(skip)]
    pub ledger: Option<Box<Ledger>>,
    /// Its last locks of windows.
    #[serde(skip)]
    pub locks: Vec<Locks>,
    /// When it was looked at, if nobody will look again: until then its open calls have lasted.
    #[serde(skip)]
    pub last: Option<LastLook>,
}

impl Observation {
    /// Brings its times to another clock.
    pub fn by_clock(&mut self, error_ns: u64, ours: impl Fn(u64) -> u64) {
        let change = |ns: &mut u64| {
            // Zero is no time.
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
        let rings = self.ledger.iter_mut().flat_map(|ledger| [&mut ledger.sent, &mut ledger.received]);
        for line in rings.flat_map(|ring| &mut ring.lines) {
            change(&mut line.posted_ns);
            for call in [&mut line.probed, &mut line.waited].into_iter().flatten() {
                change(&mut call.from_ns);
                change(&mut call.until_ns);
            }
        }
        self.clock_error_ns = Some(error_ns);
    }
}

/// The last look at a process, by the clock of its collectives, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLook {
    /// When it was: ages count until then.
    pub looked_ns: u64,
    /// When the process had ended, or the same.
    pub ended_ns: u64,
}

/// How far a process has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It has not called MPI.
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
    /// Calls completed, without those that poll.
    pub calls: u64,
    /// Polling calls completed.
    pub polls: u64,
    /// Calls completed, without those of a loop that it is in and that only asks, cut off to 32 bits.
    #[serde(default)]
    pub steps: u32,
    /// The open call, or the one that it polls with.
    pub call: Option<Call>,
    /// Outside of MPI: the last call and its line.
    pub after: String,
    /// What the system says that it does: "computing", "sleeping", "stopped", …
    pub doing: String,
    /// The innermost frame of the user's code.
    pub at: Option<String>,
    /// The thread has ended.
    pub ended: bool,
}

/// An open call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The function.
    pub function: String,
    /// Line of the user's code.
    pub place: Option<String>,
    /// Seconds since it began.
    pub age_s: Option<f64>,
    /// What it needs to return.
    pub needs: Vec<Need>,
    /// One of the needs is enough.
    pub any: bool,
    /// It is made again and again and does not wait.
    pub polling: bool,
    /// If so: the longest time, in seconds, for which it was before, until something came or the program did something else.
    #[serde(default)]
    pub polled_before_s: f64,
    /// What it was given and no call may be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
}

/// One thing that a call needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A message.
    Message(Receive),
    /// A receiver for a message.
    Receiver(Message),
    /// The other members of a communicator, window or file.
    Collective(Collective),
    /// Those members of a communicator's topology whose data it gets.
    Neighbors {
        /// The call. Apart: it is rare, and every need would be larger.
        collective: Box<Collective>,
        /// Who, as ranks of the communicator.
        of: Vec<u32>,
    },
    /// That the buffered messages are received which it has sent: all, or those on one communicator.
    Buffered {
        /// Its identity.
        comm: Option<u64>,
    },
    /// An action of one rank.
    Action {
        /// The communicator whose rank it is.
        comm: u64,
        /// The rank.
        rank: i64,
        /// What it must do, for people.
        what: String,
        /// The kind of verdict that this leads to.
        kind: Action,
    },
    /// The other side of a partitioned message: that it is started there, and that the sender, which may be this process, marks all
    /// its partitions ready.
    Partitioned {
        /// Identity of the communicator.
        comm: u64,
        /// The other side, as rank of it.
        peer: u32,
        /// The tag.
        tag: i32,
        /// This process is the sender.
        sends: bool,
        /// How often this side was started.
        starts: u64,
    },
    /// That all processes of its world call `MPI_Init`.
    Start,
    /// That others make the call that belongs to this one.
    Match {
        /// The function; a large-count variant is the same.
        function: String,
        /// Identity of the communicator by which they find each other.
        comm: u64,
        /// The tag by which they do.
        tag: i64,
        /// Who, as ranks of its world.
        with: Vec<u32>,
        /// The kind of verdict that this leads to.
        kind: Action,
    },
    /// The lock of one member's memory, or what this process does there under it.
    Lock {
        /// Identity of the window.
        window: u64,
        /// The member, as rank of the communicator.
        target: u32,
        /// The window, for people.
        name: String,
    },
    /// The other side of an epoch on a window: those whose memory it is about must post it, or those that were let into this
    /// process's memory must complete.
    Epoch {
        /// Identity of the window.
        window: u64,
        /// This process accesses the memory of others; else it has exposed its own.
        access: bool,
        /// The window, for people.
        name: String,
    },
    /// That this process itself does something, which only the thread that waits could do.
    Own {
        /// What it must do, for people.
        what: String,
        /// The kind of verdict that this leads to.
        kind: Action,
    },
    /// Somebody who is not known; who, for people.
    Outside {
        /// For people.
        what: String,
        /// The kind of verdict that this leads to.
        kind: Action,
    },
}

/// What sort of thing is waited for, where it is neither a message nor a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// One-sided communication.
    Rma,
    /// A partition that is to be marked ready.
    Partition,
    /// A request that the program must complete.
    Request,
    /// A member of a group that must make the same call.
    Member,
    /// Another job.
    Partner,
    /// Storage.
    File,
    /// Not known.
    Unknown,
}

/// A communicator as one of its members knows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Communicator {
    /// The same on all members.
    pub identity: u64,
    /// For people.
    pub name: String,
    /// This process's rank in it.
    pub rank: u32,
    /// Ranks in the world of the (local) group; `None` for those of the world, `u32::MAX` for a process of another one.
    pub members: Option<Vec<u32>>,
    /// Processes in the (local) group.
    pub size: u32,
    /// The same for the remote group of an intercommunicator.
    pub remote: Option<Remote>,
    /// Whose data this process gets in collectives of its topology, as ranks of it; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<u32>>,
    /// Who gets its data in them, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<u32>>,
    /// Collectives that this process has entered on it.
    pub collectives: u64,
    /// Messages exchanged with each rank that there were any with, in the order of ranks.
    pub peers: Vec<Peer>,
    /// Messages received on it whose sender the library did not say; `None` if it said everything of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<u64>,
    /// This process has freed it: the last of [`collectives`](Self::collectives) was the call that did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freed: bool,
}

impl Communicator {
    /// How many processes call its collectives, those of both groups of an intercommunicator; nothing where one group is of another world.
    #[must_use]
    pub fn callers(&self) -> Option<u32> {
        match &self.remote {
            None => Some(self.size),
            Some(remote) if remote.members.is_empty() || remote.members.contains(&ANOTHER_WORLD) => None,
            Some(remote) => self.size.checked_add(remote.size),
        }
    }
}

/// The remote group of an intercommunicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// Processes in it.
    pub size: u32,
    /// Their ranks in this process's world, [`ANOTHER_WORLD`] for those that are not of it; empty if they are not known.
    pub members: Vec<u32>,
}

/// Stands for the rank of a process that has none in this world.
pub const ANOTHER_WORLD: u32 = u32::MAX;

/// How many messages were exchanged with one rank of a communicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The rank.
    pub rank: u32,
    /// Sent to it and not cancelled.
    pub sent: u64,
    /// Received from it.
    pub received: u64,
    /// The sum of the tags of the messages sent to it and not cancelled.
    pub sent_tags: u64,
    /// The sum of the tags of the messages received from it.
    pub received_tags: u64,
    /// Bytes sent to it.
    pub sent_bytes: u64,
    /// Bytes received from it.
    pub received_bytes: u64,
}

/// A message that was sent, or received.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator.
    pub peer: u32,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
    /// The line of the user's code, where it is known.
    pub place: Option<String>,
}

/// Persistent messages that a process has requests for and has not started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotStarted {
    /// Those to be sent.
    pub sends: Vec<Message>,
    /// Those to be received.
    pub receives: Vec<Receive>,
}

impl NotStarted {
    /// There are none.
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
    /// From which rank of it; `None` for any.
    pub from: Option<u32>,
    /// With which tag; `None` for any.
    pub tag: Option<i32>,
    /// Room, in bytes.
    pub room: Option<u64>,
    /// The line of the user's code.
    pub place: Option<String>,
    /// Where it stands among the receives that the process posted.
    pub order: u64,
    /// Where another request was made in the variable that held the handle of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<String>,
}

/// What a member of an intercommunicator says of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Between {
    /// What it gave.
    pub root: RootBetween,
    /// Its rank in its group.
    pub rank: u32,
    /// How many its group has.
    pub size: u32,
}

/// The root that a member of an intercommunicator gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootBetween {
    /// `MPI_ROOT`: itself.
    Myself,
    /// `MPI_PROC_NULL`: another one of its group.
    AnotherOfMine,
    /// A rank of the other group.
    OfOthers(u32),
}

/// A collective.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collective {
    /// Identity of the communicator, window or file.
    pub comm: u64,
    /// Its number on it, from 1; 0 for `MPI_Finalize`.
    pub number: u64,
    /// How often it was started, modulo 2^16, if it is persistent; 0 for others.
    #[serde(default)]
    pub starts: u16,
    /// The function; a large-count variant is the same.
    pub function: String,
    /// It was called in its large-count variant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub large: bool,
    /// The root.
    pub root: Option<i64>,
    /// The same of one between two groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The operation.
    pub op: Option<String>,
    /// Bytes, if all members must give as many.
    pub bytes: Option<u64>,
    /// Hash of the type signature, if that of all members must be the same.
    #[serde(default)]
    pub types: Option<u64>,
    /// Bytes given to all members and expected of all of them, this process included, where these may differ from member to member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<(u64, u64)>,
    /// What elements these bytes are of, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<ElementKinds>,
    /// Count and datatype, for people.
    #[serde(default)]
    pub data: Option<String>,
    /// The line of the user's code.
    #[serde(default)]
    pub place: Option<String>,
}

impl Collective {
    /// The function by the name that was called.
    #[must_use]
    pub fn called(&self) -> String {
        let ending = if self.large { "_c" } else { "" };
        format!("{}{ending}", self.function)
    }
}

/// What elements a process gives to all members of a collective, and expects of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ElementKinds {
    /// The two as a number; those of all members together are zero. See
    /// [`Mixture::less`](mpiscope_image::mixture::Mixture::less).
    pub difference: u16,
    /// What the given elements are, as [`Mixture::stored`](mpiscope_image::mixture::Mixture::stored) has it.
    pub gives: u16,
    /// What the expected elements are.
    pub expects: u16,
}
