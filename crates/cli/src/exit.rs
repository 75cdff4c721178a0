//! Exit status, and how a failure is reported.

use crate::render::complain;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Nothing wrong.
pub const FINE: u8 = 0;
/// A problem was found.
pub const PROBLEM: u8 = 1;
/// Nothing could be read.
pub const COULD_NOT_READ: u8 = 2;

/// Reports what failed. A reader that went away (`mpiscope ps | head`) is no failure.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    let closed = error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == ErrorKind::BrokenPipe);
    if closed {
        return ExitCode::from(FINE);
    }
    complain("", &format!("{error:#}"));
    ExitCode::from(COULD_NOT_READ)
}
