//! Whether messages are written down one by one.

use crate::layout::{Process, Recording};
use crate::traffic::Traffic;

/// Whether a process writes its messages down one by one. The rings for them are made with the first message: until then, what the process
/// records says so.
#[must_use]
pub fn messages_are_recorded(process: &Process, totals: &Traffic) -> bool {
    let wanted = process.recording.get() & Recording::MESSAGES.0 != 0;
    let none_yet = totals.sent.get() == 0 && totals.received.get() == 0;
    totals.ledger_capacity.get() != 0 || wanted && none_yet
}
