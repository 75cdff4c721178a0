//! Wait states: which process waited for which, for how long, and what the other one did in the meantime.
//!
//! ```text
//! observations of all ranks ──► messages by both ends ──┐
//!   (ledger, last collectives)  collectives by number ──┴─► waits ──► merged: Waits
//! ```
//!
//! * **late sender**: a receive was waited for before its message was sent; the wait lasts until the send
//!   began;
//! * **late receiver**: a send was waited for before its receive was posted; the wait lasts until the receive
//!   is posted or the send returns;
//! * **wait at barrier**, **wait at N-to-N**: from a member's entry until the last member's;
//! * **late root**: members that need something from the root (broadcast, scatter), until the root has
//!   entered;
//! * **early root**: the root of a reduction or gather, until the last of the others has entered;
//! * **early scan**: a member of a prefix reduction, until the last member of lower rank has entered.
//!
//! * **late completion**: both ends of a message were there, or all members had started a non-blocking
//!   collective, but the waiting call returned only after the other side had asked for completion too:
//!   libraries transfer most large messages, and perform the later steps of a collective, only inside calls.
//!   The wait lasts from when both were there until the other side asked;
//! * **wait at fence**, **late post**, **early wait**: for a window epoch: until all have entered the fence,
//!   until the target has posted, until the origin has completed;
//! * **lock contention**: for a window lock held by another process: from the request (or from the releasing
//!   call, if the library takes locks that late) until it was released.
//!
//! Members of a neighborhood collective wait for the last of those whose data they receive. The call in which
//! a member of a non-blocking collective waits is the one that completes it.
//!
//! If the receiver waited for a late sender while another message, received later, had already arrived, this
//! is **wrong order**.
//!
//! What the processes remember covers the end of their run: the last collectives on each communicator and the
//! last messages. Repeated passes while they run ([`Sum`]) observe more: every collective and every message
//! is counted once, by its number, and those overwritten between two passes are also known by their numbers
//! and by the time spent in them. A single pass ([`of`]) is a sum of one.
//!
//! The origin of a wait is traced back through processes that were late because they waited themselves
//! (`chain`).
//!
//! A wait is never longer than the call it occurred in. A call that completes several messages waits for the
//! one that came last. Times of ranks on one host come from one clock. Ranks on several hosts are compared if
//! their times have been converted to one clock with a known error, and only what exceeds that error is a
//! wait.

mod alike;
mod as_list;
mod by_sentence;
mod calls;
mod chain;
mod collectives;
mod entered;
mod estimate;
mod inside;
mod locks;
mod merge;
mod messages;
mod named;
mod not_returned;
mod parts;
mod sampled;
mod sent;
mod stream;
mod sum;
#[cfg(test)]
mod tests;
mod within;

use crate::base::quantity::duration;
pub use crate::base::waiting_functions::{
    can_wait, can_wait_for_messages, is_collective_that_waits, is_looked_at, makes_persistent_collective,
};
use crate::jobs::worlds::Members;
use crate::observation::Observation;
use crate::observation::ledger::Called;
use crate::questions::why::ProcessIndex;
use alike::End;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use entered::open;
pub use inside::Total;
pub use parts::identity;
pub use sampled::{Sampled, Samples, Stood};
pub use sum::Sum;

/// Marks the start of an iteration, with a level of 2 or more.
pub const MARK: &str = "MPI_Pcontrol";

/// Kind of a wait.
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

    /// Returns the kind of a collective in which all members wait for each other.
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
        known.ok_or_else(|| serde::de::Error::custom(format!("not a kind of wait: {name}")))
    }
}

/// A span of time, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    from: u64,
    until: u64,
}

impl Span {
    /// Returns its length.
    #[must_use]
    pub fn ns(self) -> u64 {
        self.until.saturating_sub(self.from)
    }

    /// Divides it into this many equal parts.
    fn in_parts(self, count: usize) -> impl Iterator<Item = Self> {
        let (count, long) = (count as u128, u128::from(self.ns()));
        let at = move |part: u128| self.from + (long * part / count) as u64;
        (0..count).map(move |part| Self { from: at(part), until: at(part + 1) })
    }

    /// Returns the overlap of two spans.
    fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

/// A wait of a process at a certain time; `seconds` extrapolates from what was observed.
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

/// A wait of one process for another.
#[derive(Debug, Clone)]
struct Wait {
    kind: Kind,
    who: ProcessIndex,
    call: Arc<Called>,
    /// When the call began.
    in_call: u64,
    /// From the beginning of the call, or the end of another wait in it, until the other process arrived.
    span: Span,
    culprit: ProcessIndex,
    /// For a message: its communicator, and the end that waits.
    message: Option<(u64, End)>,
}

/// Waits of one kind, in one place, for one rank doing the same thing in the meantime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    #[allow(missing_docs)]
    pub kind: Kind,
    /// Ranks that waited.
    pub ranks: Members,
    /// The function they waited in.
    pub function: String,
    /// The source line it was called from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Total seconds of the observed waits of all of these ranks.
    pub seconds: f64,
    /// An estimate for the whole run, if not all waits were observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
    /// The observed seconds as a fraction of the time of all threads of the job.
    pub share: f64,
    /// Number of waits.
    pub times: u64,
    /// The rank waited for.
    pub culprit: Members,
    /// What that rank did in the meantime: `computing after MPI_Send at heat.c:40`.
    pub meanwhile: String,
    /// Parts that began with other ranks, for which the culprit had waited; in descending order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub began: Vec<Began>,
}

/// A part of a wait that began with a rank that was not waited for directly but made others late.
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

/// A rank at a place that made others wait, directly or through ranks it made late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    #[allow(missing_docs)]
    pub culprit: Members,
    /// What it did: `computing after MPI_Send at heat.c:40`.
    pub doing: String,
    /// Ranks that waited.
    pub ranks: Members,
    /// Total seconds of the observed waits of all of these ranks.
    pub seconds: f64,
    /// The same as a fraction of the time of all threads of the job.
    pub share: f64,
    /// The part of these seconds spent waiting for other ranks that were late because of this one.
    pub handed_on_s: f64,
}

/// `rank 0, computing after MPI_Send at heat.c:40, cost ranks [1-3] 12.4 s (31 %), 8.30 s of it through
/// others that it delayed`
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
        write!(f, ", {} of it through others that it delayed", duration(self.handed_on_s))
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
        if self.kind == Kind::WRONG_ORDER {
            f.write_str(", while a message that it received later had already arrived")?;
        }
        if let Some(Began { culprit, doing, seconds }) = self.began.first()
            && *seconds >= LEAST_ORIGIN_SHARE * self.seconds
        {
            write!(f, "; {} of it began with {}, {doing}", duration(*seconds), culprit.named())?;
        }
        match self.estimated_s {
            Some(all) => write!(f, " (as far as seen; about {} over the whole run)", duration(all)),
            None => Ok(()),
        }
    }
}

/// Minimum part of a wait for which its origin is mentioned.
const LEAST_ORIGIN_SHARE: f64 = 0.1;

/// The waits of a job.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waits {
    /// The waits, in descending order of time.
    pub list: Vec<Lost>,
    /// Where all this waiting began, in descending order of time.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The same waits by communicator and function, for those in collectives; in descending order of time.
    #[serde(default)]
    pub of_collectives: Vec<OfCollectives>,
    /// The same waits by communicator and pair of ranks, for those for messages; in descending order of time.
    #[serde(default)]
    pub of_messages: Vec<OfMessages>,
    /// Total seconds of the observed waits.
    pub seconds: f64,
    /// Seconds in the calls examined.
    pub seen_s: f64,
    /// The same as a fraction of the time in all calls that can wait; 0 to 1.
    pub seen_share: f64,
    /// Whether individual messages were recorded; otherwise only collectives were examined.
    pub messages: bool,
    /// Whether the ranks could be compared: they were on one host, or the clocks of their hosts are known.
    pub one_clock: bool,
    /// Maximum error between the times of two hosts, in seconds; none on one host or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks_error_s: Option<f64>,
    /// Number of times the ranks were observed while running, including the last time; 1 if only then.
    #[serde(default)]
    pub looks: u64,
    /// Number of collectives entered on communicators, windows and files with more than one process.
    #[serde(default)]
    pub collectives: u64,
    /// Number of these observed on all members.
    #[serde(default)]
    pub collectives_seen: u64,
    /// Number of messages received, if messages were recorded individually.
    #[serde(default)]
    pub messages_received: u64,
    /// Number of these of which both ends were observed.
    #[serde(default)]
    pub messages_seen: u64,
    /// Number of window locks requested.
    #[serde(default)]
    pub locks: u64,
    /// Number of these observed along with everything that could have delayed them.
    #[serde(default)]
    pub locks_seen: u64,
    /// Estimated total seconds of waits over the whole run; none if all were observed, or too little is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// Waits that no record shows, found by sampling the ranks while they ran: window epochs between some of
    /// the members, persistent collectives, collectives between groups of two worlds, and messages if these
    /// were not recorded individually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
}

/// Waits in the collectives of one function on one communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfCollectives {
    /// The communicator's identity; for collectives on a window or file that object's.
    pub identity: String,
    /// The function entered, also if its waits were in the calls that completed what it started.
    pub function: String,
    /// Total seconds of all members, including an estimate for what was not observed.
    pub seconds: f64,
}

/// Waits for messages from one rank to another on one communicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfMessages {
    /// The communicator's identity.
    pub identity: String,
    /// The sender: its rank in `MPI_COMM_WORLD`, written `world.rank` for other worlds than the first.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// Total seconds for which the sender waited, including an estimate for what was not observed.
    pub sender_s: f64,
    /// Total seconds for which the receiver waited, including an estimate for what was not observed.
    pub receiver_s: f64,
}

impl OfMessages {
    /// Returns the seconds of both ends.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.sender_s + self.receiver_s
    }
}

impl Waits {
    /// Returns the total seconds of waits, including estimates and what may be due to chance.
    #[must_use]
    pub fn said_s(&self) -> f64 {
        let sampled = self.sampled.as_ref().map_or(0.0, |sampled| sampled.seconds + sampled.unsure_s);
        self.estimated.map_or(self.seconds, |estimated| estimated.seconds) + sampled
    }

    /// Returns the waits for text: in descending order of time, joined if they have the same sentence.
    #[must_use]
    pub fn by_sentence(&self) -> Vec<Lost> {
        by_sentence::joined(&self.list)
    }

    /// Describes in one sentence what cost the most, if that is at least the fraction `least` of the job's
    /// time: a group of waits or, if that is more, a rank that made others late.
    #[must_use]
    pub fn foremost(&self, least: f64) -> Option<String> {
        let sampled = self.sampled.iter().flat_map(Sampled::by_sentence);
        let most =
            self.by_sentence().into_iter().chain(sampled).max_by(|a, b| a.part().total_cmp(&b.part()))?;
        let cause = self.causes.first().filter(|cause| cause.is_handed_on() && cause.share > most.part());
        (most.part() >= least).then(|| cause.map_or_else(|| most.to_string(), ToString::to_string))
    }
}

impl Sampled {
    /// The same as [`Waits::by_sentence`].
    #[must_use]
    pub fn by_sentence(&self) -> Vec<Lost> {
        by_sentence::joined(&self.list)
    }
}

impl Lost {
    /// The fraction of the time of all threads of the job, including an estimate for what was not observed.
    fn part(&self) -> f64 {
        self.share * self.estimated_s.map_or(1.0, |all| (all / self.seconds).max(1.0))
    }
}

impl Cause {
    /// Returns whether ranks it made late made others wait in turn.
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
    /// Two standard errors, plus a fifth of what was not observed.
    pub error_s: f64,
}

impl Estimated {
    /// Adds two estimates.
    fn and(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, error_s: self.error_s + other.error_s }
    }

    /// Extrapolates from waits of which one in `factor` was observed.
    fn counted(waits_s: f64, factor: f64) -> Self {
        Self { seconds: factor * waits_s, error_s: estimate::UNSEEN * (factor - 1.0) * waits_s }
    }
}

/// Times that waits are part of, in seconds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Time<'a> {
    /// Of all threads of the job.
    pub threads: f64,
    /// In calls that can wait for other ranks, including open ones.
    pub waiting: f64,
    /// The part of these in collectives.
    pub collectives: f64,
    /// Of each rank in calls, if known: an upper bound of its waiting.
    pub spent: Option<&'a SpentByRank>,
}

/// The time of each rank (its world, its rank) in calls.
pub type SpentByRank = BTreeMap<(Arc<str>, Option<u32>), SpentInCalls>;

/// Seconds that a rank spent in calls, including open ones.
#[derive(Debug, Default, Clone)]
pub struct SpentInCalls {
    /// In all calls, and between the calls of polling loops.
    pub all: f64,
    /// By function.
    pub functions: BTreeMap<String, f64>,
    /// By function and place. The time of calls from unknown places counts at each place of their function.
    pub places: BTreeMap<(String, String), f64>,
}

/// Total seconds spent so far by the processes of a job.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spent {
    /// In collectives that have returned.
    pub collectives: f64,
    /// In calls that can wait for messages and have returned.
    pub messages: f64,
}

/// Finds the waits of a job in the observations of its ranks.
#[must_use]
pub fn of(observations: &[Observation], time: Time<'_>) -> Waits {
    Sum::default().finish(observations, time, &str::to_owned)
}
