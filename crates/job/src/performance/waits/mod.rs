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
//! * **early root**: the root of a reduction or gather until the last of the others has entered;
//! * **early scan**: a member of a prefix reduction until the last of those of lower rank has entered.
//!
//! * **late completion**: both ends of a message were there, or all members had started a non-blocking collective, and the call that waits
//!   returned only after the other one had asked for completion too: libraries move most large messages, and the later steps of a
//!   collective, only inside of calls. From when both were there until it asked;
//! * **wait at fence**, **late post**, **early wait**: an epoch of a window: until all have entered the fence, until the target has posted,
//!   until the origin has completed;
//! * **lock contention**: the lock of a window that another one held, from asking for it (or from the call that releases it, where a library
//!   takes locks as late as that) until it was released.
//!
//! Members of a neighbourhood collective wait for the last of those whose data they get. The call in which a member of a non-blocking
//! collective waits is the one that completes it.
//!
//! A late sender that was waited for while another message was there already, which was received later, is **wrong order**.
//!
//! What the processes remember is the end of their run: their last collectives on each communicator, their last messages. Who looks
//! again and again while they run ([`Sum`]) sees more: every collective and every message is counted once, by its number, and those that
//! were overwritten between two looks are known by their numbers too, and by the time that went into them. One look ([`of`]) is a sum
//! of one.
//!
//! Where a wait began is followed back through those who were late because they waited themselves ([`chain`]).
//!
//! A wait is never longer than the call that it was in. A call that completes several messages waits for the one that came last.
//! Times of ranks of one host are those of one clock. Ranks of several hosts are compared where their times have been brought to one
//! clock with a known error, and only what is longer than that error is a wait.

mod alike;
mod calls;
mod chain;
mod collectives;
mod entered;
mod estimate;
mod hosts;
mod locks;
mod merge;
mod messages;
mod named;
mod sampled;
mod sent;
mod stream;
mod sum;
#[cfg(test)]
mod tests;

use crate::base::quantity::duration;
pub use crate::base::waiting_functions::{
    can_wait, can_wait_for_messages, is_collective_that_waits, is_looked_at, makes_persistent_collective,
};
use crate::jobs::worlds::Members;
use crate::observation::Observation;
use crate::observation::ledger::Called;
use crate::questions::why::ProcessIndex;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use sampled::{Sampled, Samples, Stood};
pub use sum::Sum;

/// A sort of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub const EARLY_SCAN: Self = Self("early-scan");
    pub const WRONG_ORDER: Self = Self("late-sender-wrong-order");
    pub const LATE_COMPLETION: Self = Self("late-completion");
    pub const LOCK: Self = Self("lock-contention");
    pub const FENCE: Self = Self("wait-at-fence");
    pub const LATE_POST: Self = Self("late-post");
    pub const EARLY_WAIT: Self = Self("early-wait");

    const ALL: [Self; 13] = [
        Self::LATE_COMPLETION,
        Self::LOCK,
        Self::LATE_SENDER,
        Self::LATE_RECEIVER,
        Self::BARRIER,
        Self::N_TO_N,
        Self::LATE_ROOT,
        Self::EARLY_ROOT,
        Self::EARLY_SCAN,
        Self::WRONG_ORDER,
        Self::FENCE,
        Self::LATE_POST,
        Self::EARLY_WAIT,
    ];

    /// Of a collective that all wait for.
    fn of_all(function: &str) -> Self {
        match function {
            "MPI_Barrier" | "MPI_Ibarrier" => Self::BARRIER,
            "MPI_Win_fence" => Self::FENCE,
            _ => Self::N_TO_N,
        }
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|kind| kind.0 == name);
        known.ok_or_else(|| serde::de::Error::custom(format!("no kind of wait: {name}")))
    }
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

/// A process waited, at a time, for so many seconds: as many as an estimate makes of what was seen.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// World and rank.
    pub who: (Arc<str>, Option<u32>),
    #[allow(missing_docs)]
    pub from_ns: u64,
    #[allow(missing_docs)]
    pub until_ns: u64,
    #[allow(missing_docs)]
    pub seconds: f64,
}

/// One process waited for another one.
#[derive(Debug, Clone)]
struct Wait {
    kind: Kind,
    who: ProcessIndex,
    call: Arc<Called>,
    /// When the call began.
    in_call: u64,
    /// From the beginning of the call, or the end of another wait in it, until the other one came.
    span: Span,
    culprit: ProcessIndex,
}

/// Waiting of one sort, in one place, for one rank that did the same thing meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    #[allow(missing_docs)]
    pub kind: Kind,
    /// Who waited.
    pub ranks: Members,
    /// In which function.
    pub function: String,
    /// Called from which line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Seconds of all of them together, of those that were seen.
    pub seconds: f64,
    /// An estimate for the whole run, where not all were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
    /// As a part of the time of all threads of the job.
    pub share: f64,
    /// How many waits.
    pub times: u64,
    /// For whom.
    pub culprit: Members,
    /// What that rank did meanwhile: `computing after MPI_Send at heat.c:40`.
    pub meanwhile: String,
    /// Parts of it that began with others, for whom the culprit had waited; most time first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub began: Vec<Began>,
}

/// A part of a wait that began with somebody who was not waited for, but who made others late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Began {
    #[allow(missing_docs)]
    pub culprit: Members,
    /// What it did.
    pub doing: String,
    #[allow(missing_docs)]
    pub seconds: f64,
}

/// A rank in a place that made others wait, by itself or through those that it made late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    #[allow(missing_docs)]
    pub culprit: Members,
    /// What it did: `computing after MPI_Send at heat.c:40`.
    pub doing: String,
    /// Who waited.
    pub ranks: Members,
    /// Seconds of all of them together, of those that were seen.
    pub seconds: f64,
    /// As a part of the time of all threads of the job.
    pub share: f64,
    /// Of the seconds, those in waits for others, which were late because of this rank.
    pub handed_on_s: f64,
}

/// `rank 0, computing after MPI_Send at heat.c:40, cost ranks [1-3] 12.4 s (31 %), 8.30 s of it through others that it made late`
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, by) = (self.ranks.named(), self.culprit.named());
        write!(
            f,
            "{by}, {}, cost {who} {} ({:.0} %)",
            self.doing,
            duration(self.seconds),
            100.0 * self.share
        )?;
        if !self.is_handed_on() {
            return Ok(());
        }
        write!(f, ", {} of it through others that it made late", duration(self.handed_on_s))
    }
}

/// `ranks [1-3] lost 12.4 s (31 %) in MPI_Waitall at heat.c:52 waiting for rank 0, which was computing after …`
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, lost) = (self.ranks.named(), duration(self.seconds));
        write!(f, "{who} lost {lost} ({:.0} %) in {}", 100.0 * self.share, self.function)?;
        if let Some(line) = &self.line {
            write!(f, " at {line}")?;
        }
        write!(f, " waiting for {}, which was {}", self.culprit.named(), self.meanwhile)?;
        if let Some(Began { culprit, doing, seconds }) = self.began.first()
            && *seconds >= SAID * self.seconds
        {
            write!(f, "; {} of it began with {}, {doing}", duration(*seconds), culprit.named())?;
        }
        match self.estimated_s {
            Some(all) => write!(f, " (as far as seen; over the whole run about {})", duration(all)),
            None => Ok(()),
        }
    }
}

/// The least part of a wait that is worth saying of whom it began with.
const SAID: f64 = 0.1;

/// The waits of a job.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waits {
    /// Most time first.
    pub list: Vec<Lost>,
    /// Where the waiting of all of them began, most time first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Seconds of all waits that were seen.
    pub seconds: f64,
    /// Seconds in the calls that were looked at.
    pub seen_s: f64,
    /// The same as a part of the time in all calls that can wait; 0 to 1.
    pub seen_share: f64,
    /// Whether messages were recorded one by one: without, only collectives were looked at.
    pub messages: bool,
    /// Whether the ranks could be compared: they were on one host, or the clocks of their hosts are known.
    pub one_clock: bool,
    /// By how much times of two hosts may be wrong against each other, in seconds; none on one host, or where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks_error_s: Option<f64>,
    /// How often the ranks were looked at while they ran, with the last look; 1 if only that was.
    #[serde(default)]
    pub looks: u64,
    /// Collectives that were entered on communicators, windows and files of more than one process.
    #[serde(default)]
    pub collectives: u64,
    /// Of these, those that were seen on all members.
    #[serde(default)]
    pub collectives_seen: u64,
    /// Messages that were received, where they were recorded one by one.
    #[serde(default)]
    pub messages_received: u64,
    /// Of these, those of which both ends were seen.
    #[serde(default)]
    pub messages_seen: u64,
    /// Locks of windows that were asked for.
    #[serde(default)]
    pub locks: u64,
    /// Of these, those that were seen with all that could have held them up.
    #[serde(default)]
    pub locks_seen: u64,
    /// Seconds of all waits over the whole run, estimated from those that were seen; none if all were, or too little is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// Waits that no record says, by looks at the ranks while they ran: epochs of windows that some of their members open to some,
    /// persistent collectives and those between groups of two worlds, and those for messages, where these were not recorded one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
}

impl Waits {
    /// Seconds of all of them, with what was estimated and what may be chance.
    #[must_use]
    pub fn said_s(&self) -> f64 {
        let sampled = self.sampled.as_ref().map_or(0.0, |sampled| sampled.seconds + sampled.unsure_s);
        self.estimated.map_or(self.seconds, |estimated| estimated.seconds) + sampled
    }

    /// What cost most, in one sentence, if it is `least` of the job's time or more: the wait, or, where that is more, who began it and
    /// made others late.
    #[must_use]
    pub fn foremost(&self, least: f64) -> Option<String> {
        let sampled = self.sampled.iter().flat_map(|sampled| &sampled.list);
        let most = self.list.iter().chain(sampled).max_by(|a, b| a.part().total_cmp(&b.part()))?;
        let cause = self.causes.first().filter(|cause| cause.is_handed_on() && cause.share > most.part());
        (most.part() >= least).then(|| cause.map_or_else(|| most.to_string(), ToString::to_string))
    }
}

impl Lost {
    /// The part of the time of all threads of the job, with what was not seen of the run.
    fn part(&self) -> f64 {
        self.share * self.estimated_s.map_or(1.0, |all| (all / self.seconds).max(1.0))
    }
}

impl Cause {
    /// Whether others were made late, who made others wait in turn.
    #[must_use]
    pub fn is_handed_on(&self) -> bool {
        self.handed_on_s >= 0.01 * self.seconds
    }
}

/// An estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimated {
    #[allow(missing_docs)]
    pub seconds: f64,
    /// Two standard errors, and a fifth of what was not seen.
    pub error_s: f64,
}

impl Estimated {
    /// Of both together.
    fn and(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, error_s: self.error_s + other.error_s }
    }

    /// Waits of which one in so many was seen.
    fn counted(waits_s: f64, factor: f64) -> Self {
        Self { seconds: factor * waits_s, error_s: estimate::UNSEEN * (factor - 1.0) * waits_s }
    }
}

/// Time that waits are parts of, in seconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Time<'a> {
    /// Of all threads of the job.
    pub threads: f64,
    /// In calls that can wait for other ranks, open ones too.
    pub waiting: f64,
    /// Of these, in collectives.
    pub collectives: f64,
    /// In calls of all kinds, open ones too, and between those that ask again and again, if known: no more can have been waited.
    pub most: Option<f64>,
    /// The same at each place, but for functions that ask again and again, if known.
    pub at: Option<&'a SpentAt>,
}

/// Seconds in calls of all ranks, open ones too, by function and place.
pub type SpentAt = BTreeMap<(String, String), f64>;

/// What the processes of a job have spent until now, all together, in seconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spent {
    /// In collectives that have returned.
    pub collectives: f64,
    /// In calls that can wait for messages and have returned.
    pub messages: f64,
}

/// Finds the waits of a job in what was observed of its ranks.
#[must_use]
pub fn of(observations: &[Observation], time: Time<'_>) -> Waits {
    Sum::default().finish(observations, time, &str::to_owned)
}
