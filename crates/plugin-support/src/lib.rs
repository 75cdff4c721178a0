//! Safe use of a debugger's callbacks by a plug-in: for memory, as a source of bytes, and for messages to the
//! user.
//!
//! A plug-in holds only the addresses of the callback tables, which belong to the debugger and live long
//! enough, and reads the process again for every query, because it may have run in between.

mod allocations;
mod containment;
mod view;

pub use allocations::{Allocations, NoMemory};
pub use containment::caught;
pub use view::{ImageMemory, Unavailable, View};

use mpiscope_debug_interfaces::mqs::BasicCallbacks;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Passed by the interface once, for the whole plug-in.
static BASIC: AtomicPtr<BasicCallbacks> = AtomicPtr::new(std::ptr::null_mut());

/// Stores the debugger's basic callbacks. From then on this copy of the standard library prints no panic
/// messages.
pub fn set_basic(callbacks: *const BasicCallbacks) {
    containment::suppress_panic_messages();
    BASIC.store(callbacks.cast_mut(), Ordering::Release);
}

/// Returns the debugger's basic callbacks, once they have been passed.
#[allow(unsafe_code)]
pub fn basic() -> Option<BasicCallbacks> {
    let table = BASIC.load(Ordering::Acquire);
    // SAFETY: the debugger keeps the table as long as it uses the plug-in.
    (!table.is_null()).then(|| unsafe { table.read() })
}

/// Shows a message to the debugger's user.
#[allow(unsafe_code)]
pub fn say(text: &str) {
    let Some(dprints) = basic().and_then(|basic| basic.dprints) else { return };
    if let Ok(text) = CString::new(text) {
        // SAFETY: a C string that outlives the call.
        unsafe { dprints(text.as_ptr()) };
    }
}

/// Copies text to a fixed-length field: truncated if necessary, always NUL-terminated, the rest zero.
pub fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    let mut room = N.saturating_sub(1);
    // Never splits a character.
    while !text.is_char_boundary(room.min(text.len())) {
        room -= 1;
    }
    for (to, from) in field.iter_mut().take(room).zip(text.bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlong_text_is_truncated_at_a_whole_character() {
        let field: [c_char; 4] = chars("aäöü");
        assert_eq!(field.map(c_char::cast_unsigned), [b'a', 0xc3, 0xa4, 0]);
        let field: [c_char; 4] = chars("aaäb");
        assert_eq!(field.map(c_char::cast_unsigned), [b'a', b'a', 0, 0]);
        assert_eq!(chars::<8>("ab"), [97, 98, 0, 0, 0, 0, 0, 0]);
    }
}
