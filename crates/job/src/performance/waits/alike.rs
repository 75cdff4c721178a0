//! What waits that become one sentence have in common, and who is in it.

use super::Kind;
use std::sync::Arc;

/// What a rank did that is not known to have called anything before.
pub const UNNAMED: &str = "computing";

/// A process, by what it is called at every look: its world, its rank.
pub type Who = (Arc<str>, Option<u32>);

/// Who was late without having waited, and what it did.
pub type Origin = (Who, Arc<str>);

/// What waits have in common that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alike {
    pub kind: Kind,
    pub function: String,
    pub line: Option<String>,
    pub culprit: Who,
    pub meanwhile: String,
}

impl Alike {
    /// Gives places that were only noted their words.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        self.line = self.line.take().map(|line| words(&line));
        self.meanwhile = words(&self.meanwhile);
    }
}
