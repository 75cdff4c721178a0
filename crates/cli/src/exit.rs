//! Exit status, and how a failure is reported.
//!
//! All verbs that read jobs have one rule: an answer that lacks a part, because a host, a process or a file of it could not be
//! read, is never "nothing wrong", and as long as something could be read it is no failure either.

use crate::render::complain;
use mpiscope_job::base::refusal::Refusal;
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
    if error.chain().any(|e| kind(e) == Some(ErrorKind::BrokenPipe)) {
        return ExitCode::from(FINE);
    }
    complain("", &format!("{error:#}"));
    ExitCode::from(COULD_NOT_READ)
}

/// What failed in the system, also below the writer of JSON, which names no cause.
fn kind(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    let own = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    own.or_else(|| error.downcast_ref::<serde_json::Error>()?.io_error_kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io;

    /// A reader that went away.
    struct Gone;

    impl io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_of_json_either() {
        let json = serde_json::to_writer(Gone, &[1]).context("the report");
        assert_eq!(failed(&json.unwrap_err()), ExitCode::from(FINE));
        let text = io::Write::write_all(&mut Gone, b"x").context("the report");
        assert_eq!(failed(&text.unwrap_err()), ExitCode::from(FINE));
        assert_eq!(failed(&anyhow::anyhow!("no")), ExitCode::from(COULD_NOT_READ));
    }
}
