//! What is recorded, and the environment variables that control it.
#![allow(unsafe_code)]

use crate::base::complaint::complain;
use mpiscope_image::layout::Recording;
use mpiscope_image::trace;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is recorded: bits of [`Recording`].
static RECORDING: AtomicU32 = AtomicU32::new(0);

/// What is recorded unless `MPISCOPE_RECORD` is set.
pub const DEFAULT_RECORDING: u32 = Recording::CALLS.0 | Recording::TIMES.0 | Recording::OBJECTS.0;

/// Whether `what` is being recorded.
#[inline(always)]
pub fn records(what: Recording) -> bool {
    RECORDING.load(Ordering::Relaxed) & what.0 != 0
}

/// Everything that is being recorded.
pub fn recording() -> u32 {
    RECORDING.load(Ordering::Relaxed)
}

/// Changes what is recorded. The caller switches the slots.
pub fn set_recording(bits: u32) {
    RECORDING.store(bits, Ordering::Relaxed);
}

/// Reads an environment variable where the C library keeps it, since the program may have changed it. Returns
/// a copy, since the program may free or overwrite the value it has set.
pub fn variable(name: &CStr) -> Option<CString> {
    // SAFETY: `name` is a C string.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, and a C string by the contract of getenv; it is copied immediately.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_owned())
}

/// Whether the program runs under Valgrind, which reports every branch that depends on uninitialized memory.
pub fn memory_is_checked() -> bool {
    variable(c"LD_PRELOAD").is_some_and(|list| list.to_string_lossy().contains("/vgpreload_"))
}

/// Our variables that contain a number.
const NUMBERS: [&CStr; 4] =
    [c"MPISCOPE_SITES", c"MPISCOPE_TOMBSTONES", c"MPISCOPE_LEDGER", c"MPISCOPE_EVENT_QUEUE"];

/// Reports values that are ignored because they are not what the variable takes.
fn report_ignored() {
    let ignored = |name: &CStr, wanted: &str| {
        let value = variable(name).unwrap_or_default();
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        complain(&format!("{name}: '{value}' is not {wanted}; using the default"));
    };
    for name in NUMBERS.iter().filter(|name| variable(name).is_some() && number(name).is_none()) {
        ignored(name, "a number");
    }
    for what in Recording::ALL {
        let name = switch_name(&what.name().unwrap_or_default().to_uppercase());
        if let Some(name) =
            name.filter(|name| variable(name).is_some_and(|value| on_or_off(&value).is_none()))
        {
            ignored(&name, "on or off");
        }
    }
}

/// Applies the environment's settings. Called once, when the MPI library has been found.
pub fn start() {
    report_ignored();
    let recording = variable(c"MPISCOPE_RECORD")
        .map_or(Ok(DEFAULT_RECORDING), |value| parse_recording(&value.to_string_lossy()));
    let recording = recording.unwrap_or_else(|word| {
        complain(&format!("MPISCOPE_RECORD: unknown word '{word}'; using the default"));
        DEFAULT_RECORDING
    });
    // A trace consists of times, and its messages are paired through the ledger.
    let traced = variable(c"MPISCOPE_TRACE").and_then(|value| trace::size(&value.to_string_lossy()));
    let more = Recording::CALLS.0 | Recording::TIMES.0 | Recording::OBJECTS.0 | Recording::MESSAGES.0;
    let bits = with_switches(if traced.unwrap_or(0) == 0 { recording } else { recording | more });
    // What is sent may be uninitialized in part.
    set_recording(if memory_is_checked() { bits & !Recording::CONTENTS.0 } else { bits });
}

/// Parses `MPISCOPE_RECORD`: `off`, or names separated by commas. Fails with the first unknown word.
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
    // Contents are compared per recorded message.
    if bits & Recording::CONTENTS.0 != 0 {
        bits |= Recording::MESSAGES.0;
    }
    // Messages are distinguished by their communicators.
    if bits & Recording::MESSAGES.0 != 0 {
        bits |= Recording::OBJECTS.0;
    }
    // Everything else depends on the calls being hooked.
    Ok(if bits == 0 { 0 } else { bits | Recording::CALLS.0 })
}

/// Reads a number from an environment variable. `None` if it is unset or not a number.
pub fn number(name: &CStr) -> Option<usize> {
    variable(name)?.to_str().ok()?.trim().parse().ok()
}

/// Like [`number`], for the 32-bit numbers that launchers pass.
pub fn small_number(name: &CStr) -> Option<u32> {
    u32::try_from(number(name)?).ok()
}

/// Reads the switch `MPISCOPE_RECORD_`*name*. `None` if it is unset or neither on nor off.
pub fn switch(name: &str) -> Option<bool> {
    on_or_off(&variable(&switch_name(name)?)?)
}

fn switch_name(name: &str) -> Option<CString> {
    CString::new(format!("MPISCOPE_RECORD_{name}")).ok()
}

fn on_or_off(value: &CStr) -> Option<bool> {
    match value.to_bytes() {
        b"0" | b"off" => Some(false),
        b"1" | b"on" => Some(true),
        _ => None,
    }
}

/// Applies the switches of the individual bits to `bits`.
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
    fn a_list_of_names_sets_their_bits_and_calls_are_always_counted() {
        assert_eq!(parse_recording("times"), Ok(Recording::CALLS.0 | Recording::TIMES.0));
        assert_eq!(parse_recording("off"), Ok(0));
        let messages = Recording::CALLS.0 | Recording::MESSAGES.0 | Recording::OBJECTS.0;
        assert_eq!(parse_recording("messages"), Ok(messages));
        assert_eq!(parse_recording("default"), Ok(DEFAULT_RECORDING));
    }

    #[test]
    fn the_value_of_a_variable_is_kept_when_the_program_changes_it() {
        const NAME: usize = "TEST_OF_SETTINGS=".len();
        let mut entry = *b"TEST_OF_SETTINGS=first\0";
        // SAFETY: getenv finds the entry from here on; it is removed below, before it is dropped.
        unsafe { libc::putenv(entry.as_mut_ptr().cast()) };
        let value = variable(c"TEST_OF_SETTINGS");
        entry[NAME..NAME + 5].copy_from_slice(b"other");
        // SAFETY: a C string.
        unsafe { libc::unsetenv(c"TEST_OF_SETTINGS".as_ptr()) };
        assert_eq!(value.as_deref(), Some(c"first"));
    }

    #[test]
    fn an_unknown_word_is_named() {
        assert_eq!(parse_recording("calls,tims"), Err("tims".to_owned()));
    }
}
