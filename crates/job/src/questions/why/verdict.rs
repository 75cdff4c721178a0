//! The answer, for people and for programs. The schema is `mpiscope.why/1`; fields may be added, none changes its
//! meaning.

use crate::jobs::worlds::Members;
use serde::Serialize;

/// Name and version of the schema of `mpiscope why --json`.
pub const SCHEMA: &str = "mpiscope.why/1";

/// What kind of verdict it is: a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Kind(pub &'static str);

impl Kind {
    /// Calls are completed, and nobody waits for long.
    pub const RUNNING: Self = Self("running");
    /// Somebody waits for a rank that can still act, or calls stand still for a reason that is not known.
    pub const SLOW: Self = Self("slow");
    /// The rank that is waited for is stopped, by a debugger or a signal.
    pub const RANK_STOPPED: Self = Self("rank-stopped");
    /// All ranks have finalized MPI or ended well.
    pub const FINISHED: Self = Self("finished");
    /// Ranks that wait for each other, and nobody can release them.
    pub const DEADLOCK: Self = Self("deadlock");
    /// The members of a communicator are in different collectives, or gave different arguments.
    pub const COLLECTIVE_MISMATCH: Self = Self("collective-mismatch");
    /// A member of a communicator can no longer enter the collective that the others are in.
    pub const COLLECTIVE_NOT_ENTERED: Self = Self("collective-not-entered");
    /// A message that is waited for can no longer be sent.
    pub const MESSAGE_NEVER_SENT: Self = Self("message-never-sent");
    /// A message that was sent can no longer be received.
    pub const MESSAGE_NEVER_RECEIVED: Self = Self("message-never-received");
    /// A rank that is waited for has ended or finalized MPI.
    pub const RANK_GONE: Self = Self("rank-gone");
    /// A rank polls for something that nobody can bring about.
    pub const POLLING: Self = Self("polling");
    /// A one-sided operation waits for a lock or an epoch.
    pub const RMA: Self = Self("rma");
    /// `MPI_Comm_connect`, `MPI_Comm_accept`, a spawn, or the leader of a group of an intercommunicator without its partner.
    pub const NO_PARTNER: Self = Self("no-partner");
    /// A file operation takes long.
    pub const FILE: Self = Self("file");
    /// A partitioned operation whose partitions have not all been marked ready.
    pub const PARTITION_NOT_READY: Self = Self("partition-not-ready");
    /// A generalised request that nobody is left to complete.
    pub const REQUEST_NOT_COMPLETED: Self = Self("request-not-completed");
    /// The processes are not one job: each is alone in its world.
    pub const NOT_ONE_JOB: Self = Self("not-one-job");

    /// Whether the verdict means that something is wrong.
    #[must_use]
    pub fn is_problem(self) -> bool {
        ![Self::RUNNING, Self::SLOW, Self::FINISHED, Self::FILE].contains(&self)
    }
}

/// The verdict on a job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Name and version of this form: fields may be added to it, none changes its meaning.
    pub schema: &'static str,
    /// The answer in one sentence.
    pub verdict: String,
    /// What kind of answer it is.
    pub kind: Kind,
    /// Something is wrong and will not mend itself.
    pub problem: bool,
    /// It follows from what was seen: that it lasted is not needed for it.
    #[serde(skip)]
    pub certain: bool,
    /// Where to look: the ranks that hold up the others.
    pub culprits: Vec<Culprit>,
    /// Ranks that wait for each other, each for the next and the last for the first; empty if there is no such ring.
    pub cycle: Vec<String>,
    /// What else is wrong, each of it by itself: to mend what the verdict is about does not help there.
    pub also: Vec<Problem>,
    /// Ranks that nobody can release.
    pub stuck: Members,
    /// What was seen, ranks that do the same in one entry.
    pub evidence: Vec<Evidence>,
    /// Ranks that could not be seen.
    pub unseen: Members,
    /// What could not be seen, and so is not part of the verdict, for people.
    pub not_seen: Vec<String>,
    /// A host, a process or a file of the job could not be read; `not_seen` says which. Something may be wrong there.
    pub partial: bool,
    /// Seconds between the two looks; 0 if there was only one to be had.
    pub looked_s: f64,
    /// What to try next.
    pub next: String,
}

impl Verdict {
    /// Takes in why parts of the job could not be read.
    pub fn could_not_read(&mut self, reasons: Vec<String>) {
        self.partial |= !reasons.is_empty();
        self.not_seen.extend(reasons);
    }
}

/// Something that is wrong beside what the verdict is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub verdict: String,
    /// What kind of problem it is.
    pub kind: Kind,
    /// Where to look.
    pub culprits: Vec<Culprit>,
    /// Ranks that wait for each other; empty if there is no such ring.
    pub cycle: Vec<String>,
    /// What to try.
    pub next: String,
}

/// Ranks that hold up others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// Who.
    pub ranks: Members,
    /// What they do, for people.
    pub what: String,
    /// Line of the user's code, if known.
    pub place: Option<String>,
}

/// Ranks that do the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Who.
    pub ranks: Members,
    /// What they do, in one line.
    pub what: String,
    /// The function that they are in.
    pub function: Option<String>,
    /// Line of the user's code.
    pub place: Option<String>,
    /// For how long, in seconds: the least and the greatest.
    pub since_s: Option<(f64, f64)>,
    /// Nobody can release them.
    pub stuck: bool,
}
