//! Exit status, and how a failure is reported.
//!
//! All verbs that read jobs follow one rule: a result that is incomplete, because a host, a process or a file
//! could not be read, is never "nothing wrong"; but as long as something could be read, it is not a failure
//! either.

use crate::render::{complain, reader_is_gone};
use mpiscope_job::base::refusal::Refusal;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Nothing is wrong.
pub const FINE: u8 = 0;
/// A problem was found, or part of what was requested could not be read.
pub const PROBLEM: u8 = 1;
/// Nothing could be read.
pub const COULD_NOT_READ: u8 = 2;

/// Returns the exit status of a result.
pub fn answer(problem: bool, partial: bool) -> ExitCode {
    ExitCode::from(if problem || partial { PROBLEM } else { FINE })
}

/// Prints the reason for a failure in machine-readable form if this process serves another host (`here`) and
/// its standard error is not a terminal. People read the message instead.
pub fn explained<T>(here: bool, result: anyhow::Result<T>) -> anyhow::Result<T> {
    result.inspect_err(|error| {
        if let Some(refusal) = refusal(error).filter(|_| here && !std::io::stderr().is_terminal()) {
            // A closed standard error is not an error.
            let _closed = writeln!(std::io::stderr(), "{}", refusal.line());
        }
    })
}

fn refusal(error: &anyhow::Error) -> Option<&Refusal> {
    match error.downcast_ref::<mpiscope_job::Error>() {
        Some(mpiscope_job::Error::Refused(refusal)) => Some(refusal),
        _ => error.downcast_ref::<Refusal>(),
    }
}

/// Reports a failure. A reader that went away (`mpiscope ps | head`) is not a failure.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    if reader_is_gone(error) {
        return ExitCode::from(FINE);
    }
    complain("", &format!("{error:#}"));
    ExitCode::from(COULD_NOT_READ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io::{self, ErrorKind};

    /// A reader that went away.
    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_not_an_error_for_json_either() {
        let json = serde_json::to_writer(Gone, &[1]).context("the report");
        assert_eq!(failed(&json.unwrap_err()), ExitCode::from(FINE));
        let text = Write::write_all(&mut Gone, b"x").context("the report");
        assert_eq!(failed(&text.unwrap_err()), ExitCode::from(FINE));
        assert_eq!(failed(&anyhow::anyhow!("no")), ExitCode::from(COULD_NOT_READ));
    }
}
