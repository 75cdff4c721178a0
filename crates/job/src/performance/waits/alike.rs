//! What waits combined into one sentence have in common, and the processes involved.

use super::Kind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Activity of a rank that is not known to have made any earlier call.
pub const UNNAMED: &str = "computing";
/// The same, if the rank spent the time in calls that are not known individually.
pub const OTHER_CALLS: &str = "in MPI calls";

/// Follows the call of a rank with several threads, of which the others may have done something else.
pub const ONE_THREAD: &str = " with one of its threads";

/// A process, identified independently of the pass: its world, its rank.
pub type Who = (Arc<str>, Option<u32>);

/// The process that was late without having waited, and what it did.
pub type Origin = (Who, Arc<str>);

/// The end of a message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum End {
    Sender,
    Receiver,
}

/// What a wait belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Of {
    /// Collectives of this function on this communicator.
    Collectives(u64, String),
    /// Messages on this communicator, between the process that waited, which is this end, and the one waited for.
    Messages(u64, End),
}

/// The key shared by equal waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alike {
    pub kind: Kind,
    pub function: String,
    pub line: Option<String>,
    pub culprit: Who,
    pub meanwhile: String,
    /// What the waits belong to, until their times are known; nothing for window locks.
    pub of: Option<Of>,
}

impl Alike {
    /// Returns the key without what the waits belong to.
    pub fn of_anything(&self) -> Self {
        Self { of: None, ..self.clone() }
    }

    /// Resolves places that were only recorded.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        self.line = self.line.take().map(|line| words(&line));
        self.meanwhile = words(&self.meanwhile);
    }
}
