//! What is recorded, and the environment variables that say so.
#![allow(unsafe_code)]

use crate::base::complaint::complain;
use mpiscope_image::layout::Recording;
use mpiscope_image::trace;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is recorded: bits of [`Recording`].
static RECORDING: AtomicU32 = AtomicU32::new(0);

/// What is recorded unless `MPISCOPE_RECORD` says otherwise.
pub const DEFAULT_RECORDING: u32 = Recording::CALLS.0 | Recording::TIMES.0 | Recording::OBJECTS.0;

/// Whether `what` is being recorded.
#[inline(always)]
pub fn records(what: Recording) -> bool {
    RECORDING.load(Ordering::Relaxed) & what.0 != 0
}

/// All that is being recorded.
pub fn recording() -> u32 {
    RECORDING.load(Ordering::Relaxed)
}

/// Changes what is recorded. The caller switches the slots.
pub fn set_recording(bits: u32) {
    RECORDING.store(bits, Ordering::Relaxed);
}

/// The value of an environment variable, read where the C library keeps it (a program may have changed it). A copy: the
/// program may free what it has set, or write over it.
pub fn variable(name: &CStr) -> Option<CString> {
    // SAFETY: `name` is a C string.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, and a C string by the contract of getenv; it is read at once.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_owned())
}

/// Whether valgrind runs the program: it reports every decision that depends on memory without a value.
pub fn memory_is_checked() -> bool {
    variable(c"LD_PRELOAD").is_some_and(|list| list.to_string_lossy().contains("/vgpreload_"))
}

/// Records what the environment says. Called once, when the library was found.
pub fn start() {
    let recording = variable(c"MPISCOPE_RECORD")
        .map_or(Ok(DEFAULT_RECORDING), |value| parse_recording(&value.to_string_lossy()));
    let recording = recording.unwrap_or_else(|word| {
        complain(&format!("MPISCOPE_RECORD: '{word}' is not known; recording what is recorded by default"));
        DEFAULT_RECORDING
    });
    // A trace is of times, and its messages are paired by the ledger.
    let traced = variable(c"MPISCOPE_TRACE").and_then(|value| trace::size(&value.to_string_lossy()));
    let more = Recording::CALLS.0 | Recording::TIMES.0 | Recording::OBJECTS.0 | Recording::MESSAGES.0;
    set_recording(with_switches(if traced.unwrap_or(0) == 0 { recording } else { recording | more }));
}

/// Reads `MPISCOPE_RECORD`: `off`, or names separated by commas. Gives the bits and the words not understood.
pub fn parse_recording(text: &str) -> Result<u32, String> {
    let mut bits = 0;
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        match word {
            "off" | "none" => {}
            "all" => bits = Recording::ALL.iter().fold(bits, |b, r| b | r.0),
            "default" => bits |= DEFAULT_RECORDING,
            _ => match Recording::ALL.iter().find(|r| r.name() == Some(word)) {
                Some(recording) => bits |= recording.0,
                None => return Err(word.to_owned()),
            },
        }
    }
    // Messages are told apart by their communicators.
    if bits & Recording::MESSAGES.0 != 0 {
        bits |= Recording::OBJECTS.0;
    }
    // Everything else hangs on the calls being hooked.
    Ok(if bits == 0 { 0 } else { bits | Recording::CALLS.0 })
}

/// A number that an environment variable says. Nothing if it is not set or says something else.
pub fn number(name: &CStr) -> Option<usize> {
    variable(name)?.to_str().ok()?.trim().parse().ok()
}

/// The same of numbers that launchers give.
pub fn small_number(name: &CStr) -> Option<u32> {
    u32::try_from(number(name)?).ok()
}

/// What `MPISCOPE_RECORD_`*name* says: 0 or 1. Nothing if it is not set or says something else.
pub fn switch(name: &str) -> Option<bool> {
    let name = CString::new(format!("MPISCOPE_RECORD_{name}")).ok()?;
    match variable(&name)?.as_bytes() {
        b"0" | b"off" => Some(false),
        b"1" | b"on" => Some(true),
        _ => None,
    }
}

/// The bits, changed by the environment variables for each of them.
pub fn with_switches(bits: u32) -> u32 {
    Recording::ALL.iter().filter(|what| **what != Recording::EVENTS).fold(bits, |bits, what| {
        match switch(&what.name().unwrap_or_default().to_uppercase()) {
            Some(true) => bits | what.0 | Recording::CALLS.0,
            Some(false) if *what == Recording::CALLS => 0,
            Some(false) => bits & !what.0,
            None => bits,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_becomes_their_bits_and_always_counts_calls() {
        assert_eq!(parse_recording("times"), Ok(Recording::CALLS.0 | Recording::TIMES.0));
        assert_eq!(parse_recording("off"), Ok(0));
        let messages = Recording::CALLS.0 | Recording::MESSAGES.0 | Recording::OBJECTS.0;
        assert_eq!(parse_recording("messages"), Ok(messages));
        assert_eq!(parse_recording("default"), Ok(DEFAULT_RECORDING));
    }

    #[test]
    fn the_value_of_a_variable_stays_when_the_program_changes_it() {
        const NAME: usize = "TEST_OF_SETTINGS=".len();
        let mut entry = *b"TEST_OF_SETTINGS=first\0";
        // SAFETY: the entry is what getenv finds from here on; it is taken out below, before it is gone.
        unsafe { libc::putenv(entry.as_mut_ptr().cast()) };
        let value = variable(c"TEST_OF_SETTINGS");
        entry[NAME..NAME + 5].copy_from_slice(b"other");
        // SAFETY: a C string.
        unsafe { libc::unsetenv(c"TEST_OF_SETTINGS".as_ptr()) };
        assert_eq!(value.as_deref(), Some(c"first"));
    }

    #[test]
    fn a_word_that_is_not_known_is_named() {
        assert_eq!(parse_recording("calls,tims"), Err("tims".to_owned()));
    }
}
