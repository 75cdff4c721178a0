//! Exit status, and how a failure is reported.
//!
//! All verbs that read jobs have one rule: an answer that lacks a part, because a host, a process or a file of it could not be read, is
//! never "nothing wrong", and as long as something could be read it is no failure either.

use crate::render::complain;
use mpiscope_job::jobs::refusal::Refusal;
use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

/// Nothing wrong.
pub const FINE: u8 = 0;
/// A problem was found, or part of what was asked could not be read.
pub const PROBLEM: u8 = 1;
/// Nothing could be read.
pub const COULD_NOT_READ: u8 = 2;

/// The status of an answer.
pub fn answer(problem: bool, partial: bool) -> ExitCode {
    ExitCode::from(if problem || partial { PROBLEM } else { FINE })
}

/// Whoever asked a host for what is `here` is told in a form of its own why it gets nothing; people read the words.
pub fn explained<T>(here: bool, result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.inspect_err(|error| {
        if let Some(refusal) = refusal(error).filter(|_| here && !std::io::stderr().is_terminal()) {
            eprintln!("{}", refusal.line());
        }
    })
}

fn refusal(error: &anyhow::Error) -> Option<&Refusal> {
    match error.downcast_ref::<mpiscope_job::Error>() {
        Some(mpiscope_job::Error::Refused(refusal)) => Some(refusal),
        _ => error.downcast_ref::<Refusal>(),
    }
}

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
