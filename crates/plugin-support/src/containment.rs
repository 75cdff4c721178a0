//! The boundary between a plug-in and its debugger: errors inside are contained there.
//!
//! Every exported function that does more than return a constant runs its work in [`caught`]. A plug-in
//! contains its own copy of the standard library, so the hook that suppresses panic messages is its own, too.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

#[cfg(not(panic = "unwind"))]
compile_error!("a plug-in must not take its debugger down: build with panic = \"unwind\"");

/// Runs `act`; returns `None` if it panicked. The program's memory may contain anything, and reading it may
/// expose our own mistakes.
pub fn caught<T>(act: impl FnOnce() -> T) -> Option<T> {
    // Queries share only the debugger's tables, which they do not modify.
    catch_unwind(AssertUnwindSafe(act)).ok()
}

/// Suppresses panic messages from now on: standard error belongs to the debugger.
pub(super) fn suppress_panic_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_hook(Box::new(|_| {})));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_cross_the_ffi_boundary() {
        assert_eq!(caught(|| 1), Some(1));
        let nothing: Vec<u32> = Vec::new();
        assert_eq!(caught(|| nothing.first().copied().ok_or("there is one").unwrap()), None);
    }
}
