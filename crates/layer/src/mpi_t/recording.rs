//! Decides what is recorded: the union of the user's settings and of the needs of all started variables and
//! registered events.
//!
//! Variables that are not continuous cost nothing until they are started: as long as calls are not needed,
//! the slots lead straight to the library.
#![allow(unsafe_code)]

use crate::base::settings;
use crate::interpose::resolver;
use crate::record::{process, traffic};
use mpiscope_image::layout::Recording;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The user's settings: from the environment, then from the control variables.
static SETTING: AtomicU32 = AtomicU32::new(0);
/// For each of [`Recording::ALL`], the number of variables and events that need it.
static WANTED: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];
/// One thread at a time applies changes, including those that others make meanwhile.
static APPLYING: AtomicBool = AtomicBool::new(false);

/// Takes over what is recorded now as the user's setting.
pub fn start() {
    SETTING.store(settings::recording(), Ordering::Release);
}

/// The user's setting.
pub fn setting() -> u32 {
    SETTING.load(Ordering::Acquire)
}

/// Turns `what` on or off in the user's setting. Async-signal-safe, like everything here.
pub fn set(what: Recording, on: bool) {
    if on {
        SETTING.fetch_or(what.0, Ordering::AcqRel);
    } else {
        SETTING.fetch_and(!what.0, Ordering::AcqRel);
    }
    apply();
}

/// Adds or removes one requester of all `bits`.
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

/// What should be recorded.
fn total() -> u32 {
    let set = setting();
    // If calls are off in the user's setting, nothing else of it is recorded.
    let mut bits = if set & Recording::CALLS.0 == 0 { 0 } else { set };
    for (bit, count) in WANTED.iter().enumerate() {
        if count.load(Ordering::Acquire) != 0 {
            bits |= 1 << bit;
        }
    }
    // Everything else depends on the calls being hooked.
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
        // Other threads may have left their changes to us meanwhile: check again.
    }
}

/// What a variable needs recorded while it is started.
pub struct Interest {
    bits: u32,
    on: AtomicBool,
}

impl Interest {
    /// Creates an interest in these bits of [`Recording`].
    pub const fn new(bits: u32) -> Self {
        Self { bits, on: AtomicBool::new(false) }
    }

    /// Follows the engine, which may report the same state twice.
    pub fn set(&self, wanted: bool) {
        if self.on.swap(wanted, Ordering::AcqRel) != wanted {
            want(self.bits, wanted);
        }
    }
}
