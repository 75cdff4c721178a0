//! Whether individual messages are recorded.

use crate::layout::{Process, Recording};
use crate::traffic::Traffic;

/// Whether a process records individual messages. The rings for them are created with the first message;
/// before that, the process's recording setting decides.
#[must_use]
pub fn messages_are_recorded(process: &Process, totals: &Traffic) -> bool {
    let wanted = process.recording.get() & Recording::MESSAGES.0 != 0;
    let none_yet = totals.sent.get() == 0 && totals.received.get() == 0;
    totals.ledger_capacity.get() != 0 || wanted && none_yet
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;

    #[test]
    fn recording_is_as_requested_until_the_first_message_and_then_depends_on_room() {
        // SAFETY: records are words, for which zero is valid.
        let (process, totals): (Process, Traffic) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        assert!(!messages_are_recorded(&process, &totals));
        process.recording.set(Recording::MESSAGES.0);
        assert!(messages_are_recorded(&process, &totals), "none yet");
        totals.sent.set(1);
        assert!(!messages_are_recorded(&process, &totals), "it found no room");
        totals.ledger_capacity.set(64);
        assert!(messages_are_recorded(&process, &totals));
    }
}
