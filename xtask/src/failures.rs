//! Runs tests with their output shown as it comes, and keeps what failed: a whole run prints thousands of lines, and what
//! matters should be its last ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// How many lines are kept of what one set of tests wrote, and as many of the names.
const KEPT: usize = 60;

/// What the sets of tests of a run said of their failures.
#[derive(Debug, Default)]
pub struct Failures {
    sets: Vec<Vec<String>>,
}

impl Failures {
    /// Runs `cargo test` to its end.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&mut self, command: &mut Command) -> Result<()> {
        let mut child =
            command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
        if let Some(output) = child.stdout.take() {
            self.follow(output, std::io::stdout())?;
        }
        let status = child.wait()?;
        ensure!(status.success(), "{command:?}: {status}");
        Ok(())
    }

    /// Shows what failed once more.
    pub fn print(&self) {
        for set in &self.sets {
            println!("\nfailed above:");
            for line in set {
                println!("  {line}");
            }
        }
    }

    fn follow(&mut self, output: impl Read, mut shown: impl Write) -> Result<()> {
        let mut failed: Option<Vec<String>> = None;
        let mut most = KEPT;
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            writeln!(shown, "{line}")?;
            if line.starts_with("test result:") {
                self.sets.extend(failed.take());
            } else if line == "failures:" {
                // Once before what they wrote, once before their names.
                most = failed.get_or_insert_default().len() + KEPT;
            } else if let Some(lines) = failed.as_mut()
                && lines.len() < most
                && !line.trim().is_empty()
            {
                lines.push(line);
            }
        }
        // Of tests that ended in the middle.
        self.sets.extend(failed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_kept_and_all_is_shown() {
        let output = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nwrong\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed\ntest c ... ok\ntest result: ok. 1 passed\n";
        let (mut failures, mut shown) = (Failures::default(), Vec::new());
        failures.follow(output.as_bytes(), &mut shown).unwrap();
        assert_eq!(failures.sets, [["---- b stdout ----", "wrong", "    b"]]);
        assert_eq!(String::from_utf8(shown).unwrap(), output);
    }

    #[test]
    fn the_names_are_kept_however_much_was_written() {
        let output =
            format!("failures:\n{}failures:\n    b\ntest result: FAILED.\n", "wrong\n".repeat(5 * KEPT));
        let mut failures = Failures::default();
        failures.follow(output.as_bytes(), std::io::sink()).unwrap();
        let kept = &failures.sets[0];
        assert_eq!((kept.len(), kept.last().map(String::as_str)), (KEPT + 1, Some("    b")));
    }
}
