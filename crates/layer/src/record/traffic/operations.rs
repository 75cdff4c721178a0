//! The numbers of the operations that this process posts.

use std::cell::Cell;

/// Number of operations posted and messages matched by probes so far; part of the uids of requests and
/// messages.
#[derive(Default)]
pub struct Operations(Cell<u64>);

impl Operations {
    /// Returns the number for an operation that is posted, or a message that a probe matches.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        let number = self.0.get() + 1;
        self.0.set(number);
        number
    }
}
