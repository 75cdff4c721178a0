//! What one look at a job saw: the model that the verdict is made from.

use crate::jobs::losses::Lost;
use crate::observation::{AWAITS_THREAD, Between, ElementKinds};
use std::sync::Arc;

/// Place of a process in [`Snapshot::processes`].
pub type ProcessIndex = u32;
/// Place of a communicator in [`Snapshot::communicators`].
pub type CommIndex = u32;
/// Place of several processes in [`Snapshot::parties`].
pub type PartyIndex = u32;

/// What one look at a job saw.
#[derive(Debug, Default, Clone)]
pub struct Snapshot {
    /// All processes of the job, with those that could not be seen.
    pub processes: Vec<Process>,
    /// All communicators that a wait refers to.
    pub communicators: Vec<Communicator>,
    /// Processes of which one, or each, must act for somebody: see [`Need::Action`].
    pub parties: Vec<Arc<[ProcessIndex]>>,
    /// Neighbours in a topology that only one side knows, of those that are in a collective of it.
    pub one_sided: Vec<OneSided>,
    /// The launcher meant the processes to be one job, and each is alone in its world: a launcher of another library.
    pub singletons: bool,
    /// Records of the processes that found no room.
    pub losses: Vec<Lost>,
}

/// A neighbour in a topology that only one side knows.
#[derive(Debug, Clone)]
pub struct OneSided {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    /// Who knows it.
    pub knows: ProcessIndex,
    /// The neighbour, who does not.
    pub of: ProcessIndex,
    /// Who knows it gets the other's data; else it gives its own.
    pub gets: bool,
}

/// A communicator, one for all its members.
#[derive(Debug, Clone)]
pub struct Communicator {
    /// What people call it: its name, or its identity.
    pub name: Arc<str>,
    /// Its processes; of an intercommunicator those of both groups.
    pub members: Arc<[ProcessIndex]>,
}

/// A process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Number of its world in the job; 0 for the first.
    pub world: usize,
    /// Rank in its `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Processes in its world.
    pub size: u32,
    /// Host.
    pub host: Arc<str>,
    /// Process id there; 0 if it is not known.
    pub pid: u32,
    /// How far it has come.
    pub condition: Condition,
    /// Its threads that have called MPI.
    pub threads: Vec<Thread>,
    /// Collectives entered so far, by communicator, in the order of the communicators.
    pub entered: Vec<(CommIndex, u64)>,
    /// Communicators, windows and files that it has freed: the last collective on each was the call that did.
    pub freed: Vec<CommIndex>,
    /// Collectives that it has entered, with what it gave them, as far as its records go back: those that somebody waits in,
    /// and earlier ones on the same communicator in which the members were in different functions; then those
    /// that it has started and not completed. Those of open calls are in [`threads`](Self::threads).
    pub collectives: Vec<Collective>,
    /// Messages that it has sent and that the receiver's records do not show as received, oldest first.
    pub sent: Vec<Message>,
    /// Receives that it has posted and that are not complete, and messages that its probes have matched, oldest first.
    pub posted: Vec<Receive>,
    /// Persistent messages that it has requests for and has not started.
    pub not_started: NotStarted,
    /// If it waits in a collective: what it has sent and received.
    pub messaging: Option<Box<Messaging>>,
    /// Calls of it that returned an error which says that the program gave something wrong, and those that it is in and that were given
    /// that.
    pub failed: Vec<Failed>,
    /// Records of its messages were lost: more may have been sent than [`sent`](Self::sent) says.
    pub lost: bool,
}

/// A call that failed, after which the program went on, or that cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failed {
    /// The function.
    pub function: Arc<str>,
    /// Line of the user's code, if known.
    pub place: Option<Arc<str>>,
    /// The class of the error.
    pub error: Arc<str>,
    /// Of a call that has not returned: what it was given.
    pub given: Option<Arc<str>>,
}

/// Persistent messages that a process has requests for and has not started.
#[derive(Debug, Default, Clone)]
pub struct NotStarted {
    /// Those to be sent.
    pub sends: Vec<Message>,
    /// Those to be received.
    pub receives: Vec<Receive>,
}

/// What a process that waits in a collective has sent and received.
#[derive(Debug, Default, Clone)]
pub struct Messaging {
    /// Its calls, line by line.
    pub calls: Vec<MessageCalls>,
    /// To whom it has sent anything.
    pub sent_to: Vec<(CommIndex, ProcessIndex)>,
    /// From whom it has received anything.
    pub received_from: Vec<(CommIndex, ProcessIndex)>,
}

/// The calls of one function at one line on one communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCalls {
    #[allow(missing_docs)]
    pub comm: CommIndex,
    #[allow(missing_docs)]
    pub function: Arc<str>,
    /// The line of the user's code.
    pub place: Arc<str>,
    /// How many were completed.
    pub count: u64,
    /// They send.
    pub sends: bool,
    /// They receive.
    pub receives: bool,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It runs under the layer and has not called `MPI_Init`, or is in it.
    Starting,
    /// Between `MPI_Init` and the end of `MPI_Finalize`.
    Running,
    /// `MPI_Finalize` has returned.
    Finalized,
    /// The process is gone; how, for people.
    Ended(Arc<str>),
    /// Nothing is known of it; why, for people.
    Unseen(Arc<str>),
}

/// A thread that has called MPI.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Calls completed, without those that only poll.
    pub calls: u64,
    /// Polling calls (`MPI_Test`, `MPI_Iprobe`, …) completed.
    pub polls: u64,
    /// Calls completed, without those of a loop that it is in and that only asks, cut off to 32 bits.
    pub steps: u32,
    /// The call that it is in, or that it polls with.
    pub call: Option<Call>,
    /// What it does outside of MPI, if it is there.
    pub idle: Idle,
    /// The thread has ended or is known never to call MPI again.
    pub ended: bool,
}

/// What a thread does outside of MPI.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Idle {
    /// The last call and its line, for people; empty before the first.
    pub after: Arc<str>,
    /// What the system says of the thread: "computing", "sleeping", "stopped", "in read", …
    pub doing: Arc<str>,
    /// The innermost frame of the user's code, if it is known.
    pub at: Option<Arc<str>>,
}

/// A call that is open.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub function: Arc<str>,
    /// Line of the user's code.
    pub place: Option<Arc<str>>,
    /// Seconds since it began, if times are recorded.
    pub age_s: Option<f64>,
    /// What keeps it from returning.
    pub wait: Wait,
    /// What it needed too, and has.
    pub met: Vec<Need>,
    /// It returns at once and is made again and again (`MPI_Test`, `MPI_Iprobe`): `wait` is what the program polls for.
    pub polling: bool,
    /// For so long, in seconds, it has polled before at most, until something came or the program did something else.
    pub polled_before_s: f64,
    /// It waits for messages that calls before it have sent (`MPI_Buffer_detach`).
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
    /// Any member of the communicator but the process itself.
    Any,
}

/// One thing that a call needs to return.
#[derive(Debug, Clone)]
pub enum Need {
    /// A message.
    Message(Receive),
    /// A receiver for a message.
    Receiver(Message),
    /// That the others enter a collective: twice as large as any other need.
    Collective(Box<Collective>),
    /// Certain processes must act: release a lock, post or complete an epoch, mark a partition; what, for people.
    Action {
        /// Who.
        by: PartyIndex,
        /// Each of them must; else any of them may be the one.
        every: bool,
        /// What they must do: "unlock the window \"halo\"".
        what: Arc<str>,
        /// The verdict that a wait for this leads to.
        kind: super::Kind,
    },
    /// Somebody who may be outside of the job, or who is not known; what, for people.
    Outside {
        /// "a client that connects to the port"
        what: Arc<str>,
        /// The verdict that a wait for this leads to.
        kind: super::Kind,
    },
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// To whom.
    pub to: ProcessIndex,
    /// On which communicator.
    pub comm: CommIndex,
    /// With which tag.
    pub tag: i32,
    /// Bytes.
    pub bytes: u64,
    /// Line of the user's code that sent it, if known.
    pub place: Option<Arc<str>>,
    /// It is a partitioned one, that no receive takes but a partitioned one: see `join::partitions`.
    pub partitioned: bool,
}

/// What a receive matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Match {
    /// From whom.
    pub from: Peer,
    /// On which communicator.
    pub comm: CommIndex,
    /// With which tag; `None` for any.
    pub tag: Option<i32>,
}

/// A receive that was posted, or a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    /// What it matches.
    pub matches: Match,
    /// Room for so many bytes, if that is known.
    pub room: Option<u64>,
    /// Line of the user's code that posted it, if known.
    pub place: Option<Arc<str>>,
    /// Another line of the user's code at which the process got a message of this rank and tag before, if it names one rank and one tag and
    /// a call waits for it.
    pub got: Option<Arc<str>>,
    /// Where another request was made in the variable that held the handle of this one, which nobody can wait for since.
    pub overwritten: Option<Arc<str>>,
    /// No receive yet: a probe has taken the message out of the queue for one (`MPI_Mprobe`).
    pub matched: bool,
    /// Where it stands among those that the process posted: what tells it from others that match the same. Those without a number are alike.
    pub order: u64,
}

/// A collective that a process is in, or has started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Collective {
    /// On which communicator.
    pub comm: CommIndex,
    /// Which collective on it, counted from 1; 0 for `MPI_Finalize`, which has a count of its own.
    pub number: u64,
    /// What it is.
    pub signature: Signature,
    /// Bytes that the process gives to all members and expects of all of them, where these may differ from member to member.
    pub totals: Option<(u64, u64)>,
    /// What elements these bytes are of, if they are known.
    pub elements: Option<ElementKinds>,
    /// Count and datatype, for people.
    pub data: Option<Arc<str>>,
    /// Line of the user's code, if known.
    pub place: Option<Arc<str>>,
}

/// What differs when members of a collective called different functions.
pub const FUNCTION: &str = "function";

/// What differs when members are in a collective on what another one has freed.
pub const FREED: &str = "freed";

/// What all members of a collective must agree on. What is not known of one agrees with everything.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The function without the differences that the standard allows.
    pub function: Arc<str>,
    /// The root, as rank of the communicator.
    pub root: Option<i64>,
    /// What is said of the root in one between two groups.
    pub between: Option<Between>,
    /// The operation.
    pub op: Option<Arc<str>>,
    /// Bytes that every member names alike; `None` where members may differ.
    pub bytes: Option<u64>,
    /// Hash of the type signature that every member names alike; `None` where members may differ, or it is not known.
    pub types: Option<u64>,
}

/// What members may differ in: who differs in one of them need not agree in those behind it.
pub const PARTS: [&str; 5] = [FUNCTION, "root", "operation", "size", "type signature"];

/// What one member named of one of [`PARTS`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// A function or an operation.
    Name(&'a str),
    /// A root.
    Root(i64),
    /// Bytes, or a hash.
    Number(u64),
}

impl Signature {
    /// What was named of one of [`PARTS`], if that is known.
    #[must_use]
    pub fn part(&self, part: &str) -> Option<Part<'_>> {
        match part {
            FUNCTION => Some(Part::Name(&self.function)),
            "root" => self.root.map(Part::Root),
            "operation" => self.op.as_deref().map(Part::Name),
            "size" => self.bytes.map(Part::Number),
            _ => self.types.map(Part::Number),
        }
    }
}

impl Snapshot {
    /// Those of a [`Need::Action`].
    #[must_use]
    pub fn party(&self, party: PartyIndex) -> &[ProcessIndex] {
        self.parties.get(party as usize).map_or(&[], |party| party)
    }
}

impl Thread {
    /// It is outside of MPI, is seen to do something, and needs nobody to wake it.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let doing = &*self.idle.doing;
        !self.ended && self.call.is_none() && !doing.is_empty() && doing != AWAITS_THREAD
    }
}

impl Process {
    /// The open calls of its threads.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.threads.iter().filter_map(|thread| thread.call.as_ref())
    }

    /// Its calls that send and receive, line by line, if it waits in a collective.
    pub fn message_calls(&self) -> impl Iterator<Item = &MessageCalls> {
        self.messaging.iter().flat_map(|messaging| &messaging.calls)
    }

    /// How many collectives it has entered on a communicator.
    #[must_use]
    pub fn entered(&self, comm: CommIndex) -> u64 {
        let at = self.entered.binary_search_by_key(&comm, |(of, _)| *of).ok();
        at.and_then(|at| self.entered.get(at)).map_or(0, |(_, count)| *count)
    }

    /// The collective in which it freed a communicator, window or file; `None` if it has not.
    #[must_use]
    pub fn freed_at(&self, comm: CommIndex) -> Option<u64> {
        self.freed.contains(&comm).then(|| self.entered(comm))
    }

    /// Nothing is known of it.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        matches!(self.condition, Condition::Unseen(_))
    }

    /// It can never act again.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.condition, Condition::Ended(_) | Condition::Finalized)
    }
}

impl Match {
    /// Whether a message of `sender` fits.
    #[must_use]
    pub fn fits(&self, sender: ProcessIndex, message: &Message) -> bool {
        !message.partitioned
            && (self.from == Peer::Any || self.from == Peer::One(sender))
            && self.comm == message.comm
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

impl Wait {
    /// All needs, whether one or all of them must be met.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        match self {
            Self::Nothing => &[],
            Self::All(needs) | Self::Any(needs) => needs,
        }
    }
}
