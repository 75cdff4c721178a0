//! Wait states: who waited for whom, how long, and what the other did meanwhile.
//!
//! ```text
//! observations of all ranks ──► messages by both ends ──┐
//!   (ledger, last collectives)  collectives by number ──┴─► waits ──► merged: Waits
//! ```
//!
//! * **late sender**: a receive was waited for before its message was sent; until the send began, that is waiting;
//! * **late receiver**: a send was waited for before its receive was posted, so far as the send did not return before;
//! * **wait at barrier**, **wait at N-to-N**: from a member's entry until the last member's;
//! * **late root**: members that need something from the root (broadcast, scatter) until the root has entered;
//! * **early root**: the root of a reduction or gather until the last of the others has entered.
//!
//! A wait is never longer than the call that it was in. A call that completes several messages waits for the one that came last.
//! Times of ranks of one host are those of one clock; ranks of several hosts are not compared here.

mod find;
mod merge;
#[cfg(test)]
mod tests;

use crate::questions::observation::Observation;
use crate::questions::observation::ledger::Called;
use crate::questions::why::{Joined, ProcessIndex};
use crate::worlds::Members;
use mpi_abi::{Class, FunctionId};
use serde::Serialize;
use std::fmt;

/// A sort of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Kind(pub &'static str);

#[allow(missing_docs)]
impl Kind {
    pub const LATE_SENDER: Self = Self("late-sender");
    pub const LATE_RECEIVER: Self = Self("late-receiver");
    pub const BARRIER: Self = Self("wait-at-barrier");
    pub const N_TO_N: Self = Self("wait-at-n-to-n");
    pub const LATE_ROOT: Self = Self("late-root");
    pub const EARLY_ROOT: Self = Self("early-root");
}

/// A stretch of time, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: u64,
    until: u64,
}

impl Span {
    fn ns(self) -> u64 {
        self.until.saturating_sub(self.from)
    }

    /// What both have in common.
    fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

/// One process waited for another one.
#[derive(Debug, Clone)]
struct Wait {
    kind: Kind,
    who: ProcessIndex,
    call: Called,
    /// From the beginning of the call until the other one came.
    span: Span,
    culprit: ProcessIndex,
}

/// Waiting of one sort, in one place, for one rank that did the same thing meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lost {
    #[allow(missing_docs)]
    pub kind: Kind,
    /// Who waited.
    pub ranks: Members,
    /// In which function.
    pub function: String,
    /// Called from which line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Seconds of all of them together.
    pub seconds: f64,
    /// As a part of the time of all threads of the job.
    pub share: f64,
    /// How many waits.
    pub times: u64,
    /// For whom.
    pub culprit: Members,
    /// What that rank did meanwhile: `computing after MPI_Send at heat.c:40`.
    pub meanwhile: String,
}

/// `ranks [1-3] lost 12.4 s (31 %) in MPI_Waitall at heat.c:52 waiting for rank 0, which was computing after …`
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, lost) = (noun(&self.ranks), self.seconds);
        write!(f, "{who} lost {lost:.3} s ({:.0} %) in {}", 100.0 * self.share, self.function)?;
        if let Some(line) = &self.line {
            write!(f, " at {line}")?;
        }
        write!(f, " waiting for {}, which was {}", noun(&self.culprit), self.meanwhile)
    }
}

fn noun(ranks: &Members) -> String {
    format!("{} {ranks}", if ranks.len() == 1 { "rank" } else { "ranks" })
}

/// The waits of a job.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Waits {
    /// Most time first.
    pub list: Vec<Lost>,
    /// Seconds of all waits.
    pub seconds: f64,
    /// Seconds in the calls that were looked at.
    pub seen_s: f64,
    /// The same as a part of the time in all calls that can wait; 0 to 1.
    pub seen_share: f64,
    /// Whether messages were recorded one by one: without, only collectives were looked at.
    pub messages: bool,
    /// Whether all ranks were on one host: those of several were not compared, since each host has a clock of its own.
    pub one_clock: bool,
}

/// Time that waits are parts of, in seconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Time {
    /// Of all threads of the job.
    pub threads: f64,
    /// In calls that can wait for other ranks.
    pub waiting: f64,
}

/// Whether calls of a function can wait for other ranks in a way that is looked at: messages and collectives, but for the beginning
/// and the end of the program.
#[must_use]
pub fn can_wait(function: &str) -> bool {
    let kinds =
        [mpi_abi::Waits::SEND, mpi_abi::Waits::RECEIVE, mpi_abi::Waits::REQUESTS, mpi_abi::Waits::COLLECTIVE];
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| kinds.contains(&p.waits) && p.class != Class::ENVIRONMENT)
}

/// Finds the waits of a job in what was observed of its ranks.
#[must_use]
pub fn of(observations: &[Observation], time: Time) -> Waits {
    let joined = Joined::of(observations);
    let calls = find::Calls::of(&joined);
    let hosts = find::Hosts::of(&joined);
    let waits = find::waits(&joined, &calls, &hosts);
    let seen = calls.seconds();
    let part = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
    let list = merge::merge(&joined, &calls, &waits, time.threads);
    Waits {
        seconds: list.iter().map(|lost| lost.seconds).sum(),
        list,
        seen_s: seen,
        seen_share: part(seen, time.waiting),
        messages: observations.iter().any(|seen| seen.ledger.is_some()),
        one_clock: hosts.is_one(),
    }
}
