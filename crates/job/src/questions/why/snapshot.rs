//! What one look at a job shows: the model that the verdict is derived from.

use crate::jobs::losses::Lost;
use crate::model::process_end::BadEnd;
use crate::observation::{Between, ElementKinds, awaits_mpi};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Index of a process in [`Snapshot::processes`].
pub type ProcessIndex = u32;
/// Index of a communicator in [`Snapshot::communicators`].
pub type CommIndex = u32;
/// Index of a set of processes in [`Snapshot::parties`].
pub type PartyIndex = u32;

/// What one look at a job shows.
#[derive(Debug, Default, Clone)]
pub struct Snapshot {
    /// All processes of the job, including those that could not be observed.
    pub processes: Vec<Process>,
    /// All communicators that a wait refers to.
    pub communicators: Vec<Communicator>,
    /// Sets of processes of which one or all must act for another process; see [`Need::Action`].
    pub parties: Vec<Arc<[ProcessIndex]>>,
    /// Topology neighbors known to only one side, for processes in a collective of the topology.
    pub one_sided: Vec<OneSided>,
    /// Cartesian topologies whose members do not agree on the dimensions.
    pub creations: Vec<UnequalCreation>,
    /// Partitioned messages whose two ends differ in size.
    pub unequal: Vec<Unequal>,
    /// Partitioned messages that are under way. [`Process::sent`] has those, too, for which the receiver has made no
    /// request.
    pub partitioned: Vec<PartitionedMessage>,
    /// Members whose collectives have had other numbers than those of the others since some point, on communicators in
    /// which a process waits; see `join::shifted`.
    pub shifted: Vec<Shifted>,
    /// Whether the launcher started the processes as one job but each is alone in its world: the launcher
    /// belongs to another library.
    pub singletons: bool,
    /// Records that the processes dropped for lack of space.
    pub losses: Vec<Lost>,
}

/// A member that has skipped a collective, or made one too many, which the library let pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shifted {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    #[allow(missing_docs)]
    pub process: ProcessIndex,
    /// The number of the first collective that differs.
    pub since: u64,
    /// Whether that is the oldest one remembered, so that it may have begun earlier.
    pub earlier: bool,
    /// Number of collectives that it skipped; negative if it made that many too many.
    pub skipped: i64,
    /// The function of the first of these.
    pub function: Arc<str>,
    /// Its root, as rank of the communicator.
    pub root: Option<i64>,
    /// Source line in user code, if known.
    pub place: Option<Arc<str>>,
}

/// A partitioned message that was started at one end at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionedMessage {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub sender: ProcessIndex,
    #[allow(missing_docs)]
    pub receiver: ProcessIndex,
    /// The sender's end, once it was started.
    pub sent: Option<PartitionedEnd>,
    /// The receiver's end, once it was started.
    pub received: Option<PartitionedEnd>,
}

/// An end of a partitioned message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionedEnd {
    /// Size of all partitions, if known.
    pub bytes: Option<u64>,
    /// Where it was started, if known.
    pub place: Option<Arc<str>>,
}

/// A partitioned message whose two ends differ in size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unequal {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    #[allow(missing_docs)]
    pub tag: i32,
    /// The sending process, the bytes it sends, and its source line.
    pub sent: (ProcessIndex, u64, Option<Arc<str>>),
    /// The same of the receiving process.
    pub received: (ProcessIndex, u64, Option<Arc<str>>),
}

/// A communicator or file whose members passed different arguments when they created it.
#[derive(Debug, Clone)]
pub struct UnequalCreation {
    /// The communicator, or the file.
    pub comm: CommIndex,
    /// The creating function.
    pub function: Arc<str>,
    /// What they must pass alike, as text for users, such as `dimensions`.
    pub argument: Arc<str>,
    /// What was passed: by the largest group first; among equal ones by the one with the lowest rank.
    pub groups: Vec<Passed>,
}

/// What some members passed.
#[derive(Debug, Clone)]
pub struct Passed {
    /// As text for users.
    pub what: Arc<str>,
    #[allow(missing_docs)]
    pub members: Vec<ProcessIndex>,
    /// Source line at which one of them did.
    pub place: Option<Arc<str>>,
}

impl UnequalCreation {
    /// Returns the groups that may be wrong: all but a majority.
    #[must_use]
    pub fn suspects(&self) -> &[Passed] {
        let size = |at: usize| self.groups.get(at).map_or(0, |passed| passed.members.len());
        self.groups.get(usize::from(size(0) > size(1))..).unwrap_or_default()
    }
}

/// A topology neighbor known to only one side, or listed more often there.
#[derive(Debug, Clone)]
pub struct OneSided {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    /// The process that knows the neighbor.
    pub knows: ProcessIndex,
    /// The neighbor, which does not know the process.
    pub of: ProcessIndex,
    /// Whether the process that knows the neighbor receives its data; otherwise it sends its own.
    pub gets: bool,
    /// How often it lists the neighbor.
    pub times: usize,
    /// How often the neighbor lists it.
    pub back: usize,
}

/// A communicator, shared by all its members.
#[derive(Debug, Clone)]
pub struct Communicator {
    /// Its name, or otherwise its identity, as text for users.
    pub name: Arc<str>,
    /// Its identity, the same on all members.
    pub identity: u64,
    /// Its processes; for an intercommunicator those of both groups.
    pub members: Arc<[ProcessIndex]>,
    /// How it was made, if by a call that gave its callers different communicators.
    pub split: Option<Split>,
}

/// The call that split a communicator (`MPI_Comm_split`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The communicator that was split.
    pub of: CommIndex,
    /// The color that the members passed.
    pub color: i64,
    /// Source line in user code, if known.
    pub place: Option<Arc<str>>,
}

/// A process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Number of its world in the job; 0 for the first.
    pub world: usize,
    /// Rank in its `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Number of processes in its world.
    pub size: u32,
    /// Host name.
    pub host: Arc<str>,
    /// Process id on its host; 0 if unknown.
    pub pid: u32,
    /// How far it has got.
    pub condition: Condition,
    /// When and how it ended, if it ended abnormally and its starter observed that; by its host's clock.
    pub bad_end: Option<BadEnd>,
    /// Its threads that have called MPI.
    pub threads: Vec<Thread>,
    /// Number of collectives entered so far, by communicator, ordered by communicator.
    pub entered: Vec<(CommIndex, u64)>,
    /// Communicators, windows and files it has freed: the last collective on each was the freeing call.
    pub freed: Vec<CommIndex>,
    /// Collectives it has entered, with its arguments, as far as its records go back: those that a process
    /// waits in, and earlier ones on the same communicator in which the members were in different functions;
    /// then those it has started and not completed. Those of open calls are in [`threads`](Self::threads).
    pub collectives: Vec<Collective>,
    /// Messages it has sent that the receiver's records do not show as received, oldest first.
    pub sent: Vec<Message>,
    /// Its posted, incomplete receives and messages matched by its probes, oldest first.
    pub posted: Vec<Receive>,
    /// Persistent messages it has requests for but has not started, if any.
    pub not_started: Option<Box<NotStarted>>,
    /// Number of receives it cancelled before a message arrived.
    pub cancelled_receives: u64,
    /// What it has sent and received, if it is waiting or has finalized MPI.
    pub messaging: Option<Box<Messaging>>,
    /// Its calls that returned an error indicating invalid use, and open calls with invalid arguments.
    pub failed: Vec<Failed>,
    /// Whether records of its messages were lost, so that it may have sent more than [`sent`](Self::sent)
    /// lists.
    pub lost: bool,
}

/// A call that failed, or that cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failed {
    /// The function.
    pub function: Arc<str>,
    /// Source line in user code, if known.
    pub place: Option<Arc<str>>,
    /// The error class.
    pub error: Arc<str>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Failed {
    /// Whether two threads are in collectives of the same communicator.
    #[must_use]
    pub fn is_at_once(&self) -> bool {
        matches!(self.outcome, Outcome::AtOnce(_))
    }
}

/// What came of a call that failed, or cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// It returned the error, and the program went on.
    WentOn,
    /// It was a receive shorter than its message, and the program went on.
    Short,
    /// It has not returned, and something is wrong with it: `given count -1`.
    Given(Arc<str>),
    /// The library has found the error, and its error handler has not returned.
    Raised,
    /// The level of thread support forbids it; the text explains why.
    Forbidden(Arc<str>),
    /// Another thread is in a collective of the same communicator; the text explains which.
    AtOnce(Arc<str>),
}

/// Persistent messages that a process has requests for but has not started.
#[derive(Debug, Default, Clone)]
pub struct NotStarted {
    /// Messages to send.
    pub sends: Vec<Message>,
    /// Messages to receive.
    pub receives: Vec<Receive>,
}

/// What a process that waits, or has finalized MPI, has sent and received.
#[derive(Debug, Default, Clone)]
pub struct Messaging {
    /// Its calls, by source line, if it is waiting in a collective.
    pub calls: Vec<MessageCalls>,
    /// Processes it has sent anything to, and the number of messages.
    pub sent_to: Vec<(CommIndex, ProcessIndex, u64)>,
    /// Processes it has received anything from, and the number of messages.
    pub received_from: Vec<(CommIndex, ProcessIndex, u64)>,
    /// The sender and tag of the messages it received last.
    pub tags: BTreeSet<(CommIndex, ProcessIndex, i32)>,
}

/// The calls of one function at one line on one communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCalls {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    #[allow(missing_docs)]
    pub function: Arc<str>,
    /// Source line in user code.
    pub place: Arc<str>,
    /// Number of completed calls.
    pub count: u64,
    /// Whether they send.
    pub sends: bool,
    /// Whether they receive.
    pub receives: bool,
}

/// How far a process has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It runs under the layer and has not called `MPI_Init`, or is in it.
    Starting,
    /// Between `MPI_Init` and the end of `MPI_Finalize`.
    Running,
    /// `MPI_Finalize` has returned.
    Finalized,
    /// The process has ended; contains how, as text for users.
    Ended(Arc<str>),
    /// Nothing is known about it; contains why, as text for users.
    Unseen(Arc<str>),
}

/// A thread that has called MPI.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Number of calls completed, excluding polling calls.
    pub calls: u64,
    /// Number of polling calls (`MPI_Test`, `MPI_Iprobe`, …) completed.
    pub polls: u64,
    /// Number of calls completed, excluding those of the polling loop it is in; truncated to 32 bits.
    pub steps: u32,
    /// The call it is in or polls with.
    pub call: Option<Call>,
    /// What it does outside MPI, if it is there, or what has stopped it.
    pub idle: Idle,
    /// Whether the thread has ended or is known never to call MPI again.
    pub ended: bool,
}

/// What a thread does outside MPI.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Idle {
    /// The last call and its source line, as text for users; empty before the first.
    pub after: Arc<str>,
    /// Its state according to the system: "computing", "sleeping", "stopped", "in read", …
    pub doing: Arc<str>,
    /// The innermost frame of user code, if known.
    pub at: Option<Arc<str>>,
}

/// An open call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub function: Arc<str>,
    /// Source line in user code.
    pub place: Option<Arc<str>>,
    /// Age in seconds, if times are recorded.
    pub age_s: Option<f64>,
    /// What keeps it from returning.
    pub wait: Wait,
    /// Needs that are already met.
    pub met: Vec<Need>,
    /// Whether it returns at once and is made over and over (`MPI_Test`, `MPI_Iprobe`); `wait` is then what
    /// the program polls for.
    pub polling: bool,
    /// The longest earlier stretch of polling, in seconds, that ended because something arrived or the
    /// program moved on.
    pub polled_before_s: f64,
    /// Whether it waits for messages sent by earlier calls (`MPI_Buffer_detach`).
    pub for_buffered: bool,
}

/// What keeps a call from returning.
#[derive(Debug, Clone)]
pub enum Wait {
    /// Nothing but its own work.
    Nothing,
    /// All of these.
    All(Vec<Need>),
    /// One of these.
    Any(Vec<Need>),
}

/// The other side of a need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// One process.
    One(ProcessIndex),
    /// Any other member of the communicator.
    Any,
}

/// Something a call needs in order to return.
#[derive(Debug, Clone)]
pub enum Need {
    /// A message.
    Message(Receive),
    /// A receiver for a message.
    Receiver(Message),
    /// The others must enter a collective. Boxed: it is twice as large as any other need.
    Collective(Box<Collective>),
    /// Certain processes must act: release a lock, post or complete an epoch, mark a partition.
    Action {
        /// The processes.
        by: PartyIndex,
        /// Whether all of them must act; otherwise any one may suffice.
        every: bool,
        /// What they must do, as text for users: "unlock the window \"halo\"".
        what: Arc<str>,
        /// The verdict that a wait for this leads to.
        kind: super::Kind,
    },
    /// A party that may be outside the job or is unknown.
    Outside {
        /// Description for users: "a client that connects to the port".
        what: Arc<str>,
        /// The verdict that a wait for this leads to.
        kind: super::Kind,
    },
}

/// What a process that holds a lock must do begins with this.
pub const RELEASE: &str = "release ";

/// A sent message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The receiver.
    pub to: ProcessIndex,
    /// The communicator.
    pub comm: CommIndex,
    /// The tag.
    pub tag: i32,
    /// Size in bytes.
    pub bytes: u64,
    /// Source line in user code that sent it, if known.
    pub place: Option<Arc<str>>,
    /// Whether it is partitioned, and so matches only a partitioned receive; see `join::partitions`.
    pub partitioned: bool,
}

/// What a receive matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// The sender.
    pub from: Peer,
    /// The communicator.
    pub comm: CommIndex,
    /// The tag; `None` for any.
    pub tag: Option<i32>,
    /// Whether it is partitioned, and so matches only a partitioned send.
    pub partitioned: bool,
}

/// A posted receive, or a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    /// What it matches.
    pub matches: Match,
    /// Buffer size in bytes, if known.
    pub room: Option<u64>,
    /// Size in bytes of an element of its datatype, if that is predefined and has just one.
    pub element: Option<std::num::NonZeroU8>,
    /// Source line in user code that posted it, if known.
    pub place: Option<Arc<str>>,
    /// Another source line at which the process received a message from this rank with this tag earlier, if
    /// the receive names one rank and one tag and a call waits for it.
    pub got: Option<Arc<str>>,
    /// Where the variable holding its handle was overwritten with another request, so that nothing can wait
    /// for it any more.
    pub overwritten: Option<Arc<str>>,
    /// Whether there is no receive yet: a probe has removed the message from the queue (`MPI_Mprobe`).
    pub matched: bool,
    /// The sender whose message it is known to have taken, if it accepts any.
    pub took: Option<ProcessIndex>,
    /// Its position among the receives posted by the process, which distinguishes it from others that match
    /// the same messages. Receives without a number are equal.
    pub order: u64,
}

/// A collective that a process is in or has started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Collective {
    /// The communicator.
    pub comm: CommIndex,
    /// Its number on the communicator, counted from 1; 0 for `MPI_Finalize`, which is counted separately.
    pub number: u64,
    /// What members must agree on.
    pub signature: Signature,
    /// Total bytes the process sends to all members and expects from all members, where these may differ
    /// between members.
    pub totals: Option<(u64, u64)>,
    /// The kinds of elements in these bytes, if known.
    pub elements: Option<ElementKinds>,
    /// Count and datatype, as text for users.
    pub data: Option<Arc<str>>,
    /// Source line in user code, if known.
    pub place: Option<Arc<str>>,
}

/// The difference if members of a collective called different functions.
pub const FUNCTION: &str = "function";

/// The difference if members are in a collective on an object that another member has freed.
pub const FREED: &str = "freed";

/// What all members of a collective must agree on. Unknown values agree with everything.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The function, without variations that the standard allows.
    pub function: Arc<str>,
    /// The root, as rank of the communicator.
    pub root: Option<i64>,
    /// The root of a collective on an intercommunicator.
    pub between: Option<Between>,
    /// The reduction operation.
    pub op: Option<Arc<str>>,
    /// Number of bytes, if all members must specify the same; otherwise `None`.
    pub bytes: Option<u64>,
    /// Hash of the type signature, if all members must specify the same; `None` otherwise or if unknown.
    pub types: Option<u64>,
    /// An argument of a call on a window or file that all members must pass alike.
    pub argument: Option<i64>,
}

/// What members may differ in, in order: members that differ in one part need not agree in later ones.
pub const PARTS: [&str; 6] = [FUNCTION, "root", "operation", "size", "type signature", "argument"];

/// The value one member specified for one of [`PARTS`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// A function or an operation.
    Name(&'a str),
    /// A root, or another argument.
    Argument(i64),
    /// Bytes, or a hash.
    Number(u64),
}

impl Signature {
    /// Returns the value specified for one of `PARTS`, if known.
    #[must_use]
    pub fn part(&self, part: &str) -> Option<Part<'_>> {
        match part {
            FUNCTION => Some(Part::Name(&self.function)),
            "root" => self.root.map(Part::Argument),
            "operation" => self.op.as_deref().map(Part::Name),
            "size" => self.bytes.map(Part::Number),
            "argument" => self.argument.map(Part::Argument),
            _ => self.types.map(Part::Number),
        }
    }
}

impl Snapshot {
    /// Returns the processes of a [`Need::Action`].
    #[must_use]
    pub fn party(&self, party: PartyIndex) -> &[ProcessIndex] {
        self.parties.get(party as usize).map_or(&[], |party| party)
    }

    /// Returns the only process from which a receive of `receiver` can get a message: the one it names, or the
    /// only other member of the communicator.
    #[must_use]
    pub fn sender(&self, receiver: ProcessIndex, receive: &Receive) -> Option<ProcessIndex> {
        if let Peer::One(from) = receive.matches.from {
            return Some(from);
        }
        match &*self.communicators.get(receive.matches.comm as usize)?.members {
            [one, other] if *one == receiver => Some(*other),
            [other, one] if *one == receiver => Some(*other),
            _ => None,
        }
    }
}

impl Thread {
    /// Returns whether it is outside MPI, is known to be doing something, and need not be woken by another
    /// thread.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let doing = &*self.idle.doing;
        !self.ended && self.call.is_none() && !doing.is_empty() && !awaits_mpi(doing)
    }
}

impl Process {
    /// Returns the open calls of its threads.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.threads.iter().filter_map(|thread| thread.call.as_ref())
    }

    /// Returns its calls that send and receive, by source line, if it is waiting in a collective.
    pub fn message_calls(&self) -> impl Iterator<Item = &MessageCalls> {
        self.messaging.iter().flat_map(|messaging| &messaging.calls)
    }

    /// Returns the processes it has sent anything to on a communicator and the number of messages, if it is
    /// waiting or has finalized MPI.
    pub fn sent_to(&self, comm: CommIndex) -> impl Iterator<Item = (ProcessIndex, u64)> {
        let sent = self.messaging.iter().flat_map(|messaging| &messaging.sent_to);
        sent.filter(move |(on, ..)| *on == comm).map(|(_, to, count)| (*to, *count))
    }

    /// Returns the same for the processes it has received anything from.
    pub fn received_from(&self, comm: CommIndex) -> impl Iterator<Item = (ProcessIndex, u64)> {
        let received = self.messaging.iter().flat_map(|messaging| &messaging.received_from);
        received.filter(move |(on, ..)| *on == comm).map(|(_, from, count)| (*from, *count))
    }

    /// Returns whether a message with this sender and tag is among those it received last.
    #[must_use]
    pub fn has_received(&self, comm: CommIndex, from: ProcessIndex, tag: i32) -> bool {
        self.messaging.as_ref().is_some_and(|messaging| messaging.tags.contains(&(comm, from, tag)))
    }

    /// Returns the number of collectives it has entered on a communicator.
    #[must_use]
    pub fn entered(&self, comm: CommIndex) -> u64 {
        let at = self.entered.binary_search_by_key(&comm, |(of, _)| *of).ok();
        at.and_then(|at| self.entered.get(at)).map_or(0, |(_, count)| *count)
    }

    /// Returns the number of the collective in which it freed a communicator, window or file; `None` if it
    /// has not.
    #[must_use]
    pub fn freed_at(&self, comm: CommIndex) -> Option<u64> {
        self.freed.contains(&comm).then(|| self.entered(comm))
    }

    /// Returns whether nothing is known about it.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        matches!(self.condition, Condition::Unseen(_))
    }

    /// Returns whether it can never act again.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.condition, Condition::Ended(_) | Condition::Finalized)
    }
}

impl Match {
    /// Returns whether a message from `sender` matches.
    #[must_use]
    pub fn fits(&self, sender: ProcessIndex, message: &Message) -> bool {
        self.partitioned == message.partitioned
            && (self.from == Peer::Any || self.from == Peer::One(sender))
            && self.comm == message.comm
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

impl Wait {
    /// Returns all needs, whether one or all of them must be met.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        match self {
            Self::Nothing => &[],
            Self::All(needs) | Self::Any(needs) => needs,
        }
    }
}
