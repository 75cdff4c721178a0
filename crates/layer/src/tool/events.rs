//! Whether events are delivered.

use std::sync::atomic::{AtomicBool, Ordering};

static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Switches the delivery of events on or off.
pub fn allow(on: bool) {
    ALLOWED.store(on, Ordering::Relaxed);
}
