//! What of a thread's private memory belongs to this floor.

use mpiscope_image::layout::Call;
use std::cell::Cell;

/// How many open user callbacks keep the call that they interrupt.
const NESTING: usize = 8;

/// Calls interrupted by user callbacks, by level. The private memory of a thread begins with them.
#[derive(Default)]
pub struct Interrupted {
    pub(super) calls: [Call; NESTING],
    /// Bytes of messages that came in by the call that is about to end.
    pub(super) received: Cell<u64>,
}
