//! Exit status, and how a failure is told.

use std::io::ErrorKind;
use std::process::ExitCode;

/// Nothing wrong.
pub const FINE: u8 = 0;
/// A problem was found.
pub const PROBLEM: u8 = 1;
/// Could not look.
pub const COULD_NOT_LOOK: u8 = 2;

/// Tells what failed. A reader that went away (`mpiscope ps | head`) is no failure.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    let closed = error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == ErrorKind::BrokenPipe);
    if closed {
        return ExitCode::from(FINE);
    }
    eprintln!("mpiscope: {error:#}");
    ExitCode::from(COULD_NOT_LOOK)
}
