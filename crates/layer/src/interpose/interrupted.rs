//! The part of a thread's private memory that belongs to interposition.

use mpiscope_image::layout::Call;
use std::cell::Cell;

/// Number of nested user callbacks for which the interrupted call is kept.
const NESTING: usize = 8;

/// Calls interrupted by user callbacks, by level. They are at the start of a thread's private
/// memory.
#[derive(Default)]
pub struct Interrupted {
    pub(super) calls: [Call; NESTING],
    /// Bytes of messages received by the call that is about to end.
    pub(super) received: Cell<u64>,
}

impl Interrupted {
    /// Takes the number of bytes of messages received by the call that is about to end.
    #[inline(always)]
    pub fn take_received(&self) -> u64 {
        let received = self.received.get();
        if received != 0 {
            self.received.set(0);
        }
        received
    }
}
