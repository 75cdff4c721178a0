//! Who wants what recorded: the user by setting, and every started variable or registered event for itself.
//!
//! What is recorded is what any of them wants. Variables that are not continuous cost nothing until they are started:
//! as long as nobody wants calls, the slots lead straight to the library.
#![allow(unsafe_code)]

use crate::base::settings;
use crate::interpose::resolver;
use crate::record::{process, traffic};
use mpiscope_image::layout::Recording;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What the user wants: the environment, then the control variables.
static SETTING: AtomicU32 = AtomicU32::new(0);
/// How many others want each of [`Recording::ALL`].
static WANTED: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];
/// One thread at a time applies; the others leave their change to it.
static APPLYING: AtomicBool = AtomicBool::new(false);

/// Takes what is recorded now as what the user wants.
pub fn start() {
    SETTING.store(settings::recording(), Ordering::Release);
}

/// What the user wants.
pub fn setting() -> u32 {
    SETTING.load(Ordering::Acquire)
}

/// The user wants, or no longer wants, `what`. Async-signal-safe, as all here.
pub fn set(what: Recording, on: bool) {
    if on {
        SETTING.fetch_or(what.0, Ordering::AcqRel);
    } else {
        SETTING.fetch_and(!what.0, Ordering::AcqRel);
    }
    apply();
}

/// Somebody more, or less, wants all of `bits`.
pub fn want(bits: u32, wanted: bool) {
    for (bit, count) in WANTED.iter().enumerate() {
        if bits & (1 << bit) != 0 {
            if wanted {
                count.fetch_add(1, Ordering::AcqRel);
            } else {
                let less = |count: u32| count.checked_sub(1);
                let _ = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
            }
        }
    }
    apply();
}

/// What is to be recorded.
fn total() -> u32 {
    let set = setting();
    // Without calls nothing that the user wants is recorded.
    let mut bits = if set & Recording::CALLS.0 == 0 { 0 } else { set };
    for (bit, count) in WANTED.iter().enumerate() {
        if count.load(Ordering::Acquire) != 0 {
            bits |= 1 << bit;
        }
    }
    // Everything else hangs on the calls being hooked.
    if bits == 0 { 0 } else { bits | Recording::CALLS.0 }
}

fn apply() {
    loop {
        let bits = total();
        if bits == settings::recording() || APPLYING.swap(true, Ordering::AcqRel) {
            return;
        }
        let hooked = settings::recording() != 0;
        settings::set_recording(bits);
        traffic::state::reconsider();
        if hooked != (bits != 0) {
            resolver::switch_slots(bits != 0);
        }
        if let Some(process) = process::record() {
            process.recording.set(bits);
        }
        APPLYING.store(false, Ordering::Release);
        // Who came meanwhile has left its change to us: look again.
    }
}

/// What a variable wants recorded while it is started.
pub struct Interest {
    bits: u32,
    on: AtomicBool,
}

impl Interest {
    /// In these bits of [`Recording`].
    pub const fn new(bits: u32) -> Self {
        Self { bits, on: AtomicBool::new(false) }
    }

    /// As the engine says: it may say the same twice.
    pub fn set(&self, wanted: bool) {
        if self.on.swap(wanted, Ordering::AcqRel) != wanted {
            want(self.bits, wanted);
        }
    }
}
