//! Why does nothing happen? A verdict on a job, from two snapshots of it.
//!
//! ```text
//! ranks ──► Snapshot ──┐
//!                      ├─► progress ─► blocked ─► cause ─► Verdict
//! ranks ──► Snapshot ──┘   who moved   who can    the one   sentence, evidence,
//!   (a moment later)                   be freed   reason    culprits, next step
//! ```
//!
//! A [`Snapshot`] is a model without MPI handles: processes, what each of their threads waits for ([`Need`]),
//! messages sent and not received, and the number of collectives each process has entered. Its origin does
//! not matter here: live processes, core files and evidence files yield the same model. A core file is a
//! single look in which nothing changes any more, so both looks are the same.
//!
//! # What counts as proof
//!
//! `blocked` finds the processes that can never be released. It starts from those that can still act
//! (outside MPI, or observed to complete calls between the looks) and lets them release the processes they
//! can: a receive by its sender, a collective when every missing member can still enter it, a wildcard
//! receive by any live member, `MPI_Waitany` by one of its requests, `MPI_Waitall` by all of them. A process
//! that is never released is stuck, and this is a proof that does not depend on timing. A rank that cannot be
//! observed or a lost record counts as able to release any process, so it makes the verdict weaker, never
//! wrong. What follows only from how long a wait has lasted is marked as not certain, with one exception:
//! `MPI_Win_start` is taken to return within a second once all its targets have posted (`join::epochs`).
//!
//! # Cost
//!
//! Every need is examined a bounded number of times, collectives and wildcards are separate nodes rather than
//! pairs of ranks, and ranks that wait in the same way share one line of evidence. The work grows with the
//! number of needs and members.

mod awaited;
mod blocked;
mod cause;
pub(super) mod collectives;
mod cycle;
mod evidence;
mod failed;
mod files;
mod join;
mod leftover;
mod matching;
pub(super) mod messages;
mod parts;
mod progress;
#[cfg(any(test, feature = "test-image"))]
pub mod scene;
mod snapshot;
#[cfg(test)]
mod tests;
mod verdict;
pub(super) mod words;

pub use awaited::{Awaited, Part, awaited};
pub use blocked::{Blocked, blocked};
pub use cause::RIGHT_LAUNCHER;
pub(super) use cause::not_seen;
pub use collectives::{Mismatch, disagreements};
pub use files::{NOT_GIVEN, of_files, one_world};
pub use join::compared::{Ends, differing};
pub use join::{Arrivals, Arrived, Hosts, Joined, Unexpected, arrived, snapshot, unexpected, whole, worlds};
pub use snapshot::{
    Call, Collective, CommIndex, Communicator, Condition, FUNCTION, Idle, Match, Message, Need, NotStarted,
    Outcome, PartitionedEnd, PartitionedMessage, Passed, Peer, Process, ProcessIndex, Receive, Signature,
    Snapshot, Thread, Unequal, UnequalCreation, Wait,
};
pub use verdict::{Culprit, Evidence, Kind, Problem, SCHEMA, Verdict};
pub(crate) use words::Words;

/// Returns the verdict on two snapshots of a job, taken `seconds` apart; zero for core files.
///
/// Both snapshots list the same processes in the same order; a process missing from the second one appears
/// there as [`Condition::Ended`] or [`Condition::Unseen`].
#[must_use]
pub fn verdict(first: &Snapshot, second: &Snapshot, seconds: f64) -> Verdict {
    cause::verdict(first, second, seconds)
}
