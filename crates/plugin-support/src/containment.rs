//! The border between a plug-in and its debugger: what goes wrong inside is contained there.
//!
//! Every exported function that does more than hand out a constant runs its work in [`caught`]. A plug-in brings its own
//! copy of the standard library, so the hook that keeps it from writing about a panic is its own, too.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

#[cfg(not(panic = "unwind"))]
compile_error!("a plug-in must not take its debugger down: build with panic = \"unwind\"");

/// Runs `act`; nothing if it panicked. The program's memory may be anything, and so may our mistakes in reading it.
pub fn caught<T>(act: impl FnOnce() -> T) -> Option<T> {
    // A question shares nothing with the next one but the debugger's tables, which it does not write.
    catch_unwind(AssertUnwindSafe(act)).ok()
}

/// From now on a panic is not written to standard error, which belongs to the debugger.
pub(super) fn be_silent() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_hook(Box::new(|_| {})));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_border() {
        assert_eq!(caught(|| 1), Some(1));
        let nothing: Vec<u32> = Vec::new();
        assert_eq!(caught(|| nothing.first().copied().ok_or("there is one").unwrap()), None);
    }
}
