//! The answer, for users and programs. The schema is `mpiscope.why/1`; fields may be added, and existing ones
//! never change their meaning.

use crate::jobs::worlds::Members;
use serde::Serialize;

/// Name and version of the schema of `mpiscope why --json`.
pub const SCHEMA: &str = "mpiscope.why/1";

/// Kind of a verdict: a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Kind(pub &'static str);

impl Kind {
    /// Calls are being completed, and no rank waits for long.
    pub const RUNNING: Self = Self("running");
    /// A rank waits for one that can still act, or calls make no progress for an unknown reason.
    pub const SLOW: Self = Self("slow");
    /// A rank that others wait for, or that is in a call, is stopped by a debugger or a signal.
    pub const RANK_STOPPED: Self = Self("rank-stopped");
    /// All ranks have finalized MPI, and none is known to have exited with an error.
    pub const FINISHED: Self = Self("finished");
    /// Ranks wait for each other, and nothing can release them.
    pub const DEADLOCK: Self = Self("deadlock");
    /// The members of a communicator are in different collectives, or passed conflicting arguments.
    pub const COLLECTIVE_MISMATCH: Self = Self("collective-mismatch");
    /// A member of a communicator can no longer enter the collective that the others are in.
    pub const COLLECTIVE_NOT_ENTERED: Self = Self("collective-not-entered");
    /// An awaited message can no longer be sent.
    pub const MESSAGE_NEVER_SENT: Self = Self("message-never-sent");
    /// A sent message can no longer be received.
    pub const MESSAGE_NEVER_RECEIVED: Self = Self("message-never-received");
    /// An awaited rank has ended or finalized MPI.
    pub const RANK_GONE: Self = Self("rank-gone");
    /// A rank polls for something that can no longer happen.
    pub const POLLING: Self = Self("polling");
    /// A one-sided operation waits for a lock or an epoch.
    pub const RMA: Self = Self("rma");
    /// `MPI_Comm_connect`, `MPI_Comm_accept`, a spawn, or the leader of a group of an intercommunicator lacks
    /// its partner.
    pub const NO_PARTNER: Self = Self("no-partner");
    /// A file operation is taking long.
    pub const FILE: Self = Self("file");
    /// A partitioned operation whose partitions have not all been marked ready.
    pub const PARTITION_NOT_READY: Self = Self("partition-not-ready");
    /// No process is left that could complete a generalized request.
    pub const REQUEST_NOT_COMPLETED: Self = Self("request-not-completed");
    /// The processes are not one job: each is alone in its world.
    pub const NOT_ONE_JOB: Self = Self("not-one-job");

    /// Returns whether the verdict means that something is wrong.
    #[must_use]
    pub fn is_problem(self) -> bool {
        ![Self::RUNNING, Self::SLOW, Self::FINISHED, Self::FILE].contains(&self)
    }
}

/// The verdict on a job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    /// The answer in one sentence.
    pub verdict: String,
    /// Kind of verdict.
    pub kind: Kind,
    /// Whether something is wrong and will not resolve itself.
    pub problem: bool,
    /// Whether it follows from the observations alone, without regard to how long they have lasted.
    #[serde(skip)]
    pub certain: bool,
    /// The ranks that hold up the others: where to look.
    pub culprits: Vec<Culprit>,
    /// Ranks that wait for each other, each for the next and the last for the first; empty if there is no
    /// such ring.
    pub cycle: Vec<String>,
    /// Other, independent problems: fixing what the verdict is about does not resolve these.
    pub also: Vec<Problem>,
    /// Ranks that can never be released.
    pub stuck: Members,
    /// What was observed, with ranks that do the same in one entry.
    pub evidence: Vec<Evidence>,
    /// Ranks that could not be observed.
    pub unseen: Members,
    /// What could not be observed and so is not part of the verdict, as text for users.
    pub not_seen: Vec<String>,
    /// Whether a host, process or file of the job could not be read; `not_seen` says which. Something may be
    /// wrong there.
    pub partial: bool,
    /// Seconds between the two looks; 0 if only one was possible.
    pub looked_s: f64,
    /// What to try next.
    pub next: String,
}

impl Verdict {
    /// Adds reasons why parts of the job could not be read.
    pub fn could_not_read(&mut self, reasons: Vec<String>) {
        self.partial |= !reasons.is_empty();
        self.not_seen.extend(reasons);
    }
}

/// A problem other than the one the verdict is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub verdict: String,
    /// Kind of problem.
    pub kind: Kind,
    /// The ranks concerned: where to look.
    pub culprits: Vec<Culprit>,
    /// Ranks that wait for each other; empty if there is no such ring.
    pub cycle: Vec<String>,
    /// What to try next.
    pub next: String,
}

/// Ranks that hold up others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// The ranks.
    pub ranks: Members,
    /// What they do, as text for users.
    pub what: String,
    /// Source line in user code, if known.
    pub place: Option<String>,
}

/// Ranks that do the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The ranks.
    pub ranks: Members,
    /// What they do, in one line.
    pub what: String,
    /// The function they are in.
    pub function: Option<String>,
    /// Source line in user code.
    pub place: Option<String>,
    /// How long they have been there, in seconds: minimum and maximum.
    pub since_s: Option<(f64, f64)>,
    /// Whether they can never be released.
    pub stuck: bool,
}
