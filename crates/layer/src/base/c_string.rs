//! Strings of C.
#![allow(unsafe_code)]

use std::ffi::c_char;

/// A C string as text.
pub fn text(pointer: *const c_char, max: usize) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a C string of the caller, of which at most `max` bytes are looked at.
    let len = unsafe { libc::strnlen(pointer, max) };
    // SAFETY: these bytes were just looked at.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}
