//! Messages for the user: on standard error, and in the image for the report.
#![allow(unsafe_code)]

use super::{clock, image, limits};
use mpiscope_image::runtime;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of sentences remembered. Any beyond that may be repeated.
const REMEMBERED: usize = 64;

/// Hashes of the sentences already printed. Async-signal-safe.
struct Said([AtomicU64; REMEMBERED]);

impl Said {
    const fn nothing() -> Self {
        Self([const { AtomicU64::new(0) }; REMEMBERED])
    }

    /// Whether `sentence` is new.
    fn first(&self, sentence: &str) -> bool {
        let hash = runtime::hash(sentence.as_bytes()).max(1);
        for said in &self.0 {
            match said.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) if other == hash => return false,
                Err(_) => {}
            }
        }
        true
    }
}

/// Prints a sentence on standard error, each distinct one only once, and notes it in the image for
/// the report.
pub fn complain(sentence: &str) {
    static SAID: Said = Said::nothing();
    if let Some(writer) = image::writer() {
        writer.note(clock::now(), sentence);
    }
    if SAID.first(sentence) {
        let line = format!("mpiscope: {sentence}\n");
        limits::without_signals(|| {
            // SAFETY: the bytes are ours; a short or failed write only loses a message.
            unsafe { libc::write(2, line.as_ptr().cast::<c_void>(), line.len()) }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_reported_once_wherever_it_is_stored_and_whatever_came_in_between() {
        let said = Said::nothing();
        let sentence = |number: usize| format!("sentence {number}");
        assert!(said.first(&sentence(1)));
        assert!(said.first(&sentence(2)), "a different one");
        assert!(!said.first(&sentence(1)), "the same in other memory");
        let mut place = sentence(3);
        assert!(said.first(&place));
        place.replace_range(9.., "4");
        assert!(said.first(&place), "a different one in the same memory");
    }
}
