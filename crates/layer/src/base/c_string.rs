//! C strings.
#![allow(unsafe_code)]

use std::ffi::c_char;

/// Returns a C string as text, reading at most `max` bytes; empty for a null pointer.
pub fn text(pointer: *const c_char, max: usize) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a C string of the caller, of which at most `max` bytes are read.
    let len = unsafe { libc::strnlen(pointer, max) };
    // SAFETY: `strnlen` has just read these bytes.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}
