//! Runs tests, showing their output as it arrives, and collects the failures: a whole run prints thousands of
//! lines, and the important ones should be the last. If only a few tests failed, each is rerun once, alone.
//! Tests that pass then are reported as unstable, with their name and output, and do not fail the whole run.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use mpiscope_testkit::trials::UNTIL;

/// Maximum number of lines kept of the output of a set of tests, and of the names.
const KEPT: usize = 60;

/// Maximum number of tests per run that are retried. More failures than that are not chance.
const AGAIN: usize = 3;

/// The failures reported by all sets of tests of a run.
#[derive(Debug, Default)]
pub struct Failures {
    sets: Vec<Vec<String>>,
    unstable: Vec<String>,
}

/// The results reported by one run of tests.
#[derive(Debug, Default)]
struct Said {
    sets: Vec<Vec<String>>,
    failed: Vec<String>,
    passed: usize,
}

impl Failures {
    /// Runs `cargo test` with these arguments, then reruns the failed tests.
    ///
    /// # Errors
    /// If it cannot be started, fails for another reason than failed tests, or tests fail again when run
    /// alone.
    pub fn run(&mut self, tests: impl Fn() -> Command, arguments: &[&str]) -> Result<()> {
        let shown = &mut std::io::stdout();
        let ended = run(tests().arg("--").args(arguments), shown)?;
        self.again(tests, ended, shown)
    }

    /// Like [`Failures::run`], but concurrently runs other tests, which mostly wait. Their output is shown
    /// when they have ended. Failed tests of either are rerun when nothing else runs.
    ///
    /// # Errors
    /// As [`Failures::run`], for either.
    pub fn run_beside(
        &mut self,
        tests: impl Fn() -> Command,
        others: impl Fn() -> Command + Sync,
    ) -> Result<()> {
        let shown = &mut std::io::stdout();
        let (ended, beside) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let mut written = Vec::new();
                (run(&mut others(), &mut written), written)
            });
            let ended = run(&mut tests(), &mut std::io::stdout());
            (ended, beside.join())
        });
        let (others_ended, written) =
            beside.map_err(|_| anyhow!("the tests that ran alongside the others panicked"))?;
        shown.write_all(&written)?;
        let first = ended.and_then(|ended| self.again(tests, ended, shown));
        let second = others_ended.and_then(|ended| self.again(others, ended, shown));
        first.and(second)
    }

    /// Reruns each failed test alone.
    fn again(&mut self, tests: impl Fn() -> Command, ended: Ended, shown: &mut impl Write) -> Result<()> {
        let Ended { said, status, first } = ended;
        self.sets.extend(said.sets);
        if status.success() {
            return Ok(());
        }
        ensure!((1..=AGAIN).contains(&said.failed.len()), "{first}: {status}");
        for name in said.failed {
            writeln!(shown, "\nrerun alone: {name}")?;
            let mut command = tests();
            // This takes a few minutes at most and is exempt from the time limit that made trials be skipped.
            command.env_remove(UNTIL);
            let ended = run(command.args(["--", "--exact", &name]), shown)?;
            self.sets.extend(ended.said.sets);
            ensure!(
                ended.status.success() && ended.said.passed > 0,
                "{first}: {status}; rerun: {}",
                ended.status
            );
            self.unstable.push(name);
        }
        Ok(())
    }

    /// Prints the failures again.
    pub fn print(&self) {
        for set in &self.sets {
            println!("\nfailed above:");
            for line in set {
                println!("  {line}");
            }
        }
        for name in &self.unstable {
            println!("\nunstable: {name} failed above but passed when rerun alone");
        }
    }
}

/// A completed run of tests.
#[derive(Debug)]
struct Ended {
    said: Said,
    status: ExitStatus,
    /// The command, for error messages.
    first: String,
}

fn run(command: &mut Command, shown: &mut impl Write) -> Result<Ended> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut said = Said::default();
    if let Some(output) = child.stdout.take() {
        said.follow(output, shown)?;
    }
    Ok(Ended { said, status: child.wait()?, first: format!("{command:?}") })
}

impl Said {
    fn follow(&mut self, output: impl Read, shown: &mut impl Write) -> Result<()> {
        let mut failed: Option<Vec<String>> = None;
        let (mut most, mut names) = (KEPT, false);
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            writeln!(shown, "{line}")?;
            if let Some(result) = line.strip_prefix("test result:") {
                self.passed += passed(result);
                self.sets.extend(failed.take());
                names = false;
            } else if line == "failures:" {
                // The line appears once before the output and once before the names.
                names = failed.is_some();
                most = failed.get_or_insert_default().len() + KEPT;
            } else if let Some(lines) = failed.as_mut()
                && !line.trim().is_empty()
            {
                if names && let Some(name) = line.strip_prefix("    ") {
                    self.failed.push(name.to_owned());
                }
                if lines.len() < most {
                    lines.push(line);
                }
            }
        }
        // For tests that crashed halfway.
        self.sets.extend(failed);
        Ok(())
    }
}

/// The number in ` ok. 3 passed; 0 failed; …`.
fn passed(result: &str) -> usize {
    let before = result.split(" passed").next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_kept_and_all_output_is_shown() {
        let output = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nwrong\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed\ntest c ... ok\ntest result: ok. 1 passed\n";
        let (mut said, mut shown) = (Said::default(), Vec::new());
        said.follow(output.as_bytes(), &mut shown).unwrap();
        assert_eq!(said.sets, [["---- b stdout ----", "wrong", "    b"]]);
        assert_eq!((said.failed, said.passed), (vec!["b".to_owned()], 2));
        assert_eq!(String::from_utf8(shown).unwrap(), output);
    }

    #[test]
    fn names_of_failures_are_kept_after_any_amount_of_output() {
        let output =
            format!("failures:\n{}failures:\n    b\ntest result: FAILED.\n", "wrong\n".repeat(5 * KEPT));
        let mut said = Said::default();
        said.follow(output.as_bytes(), &mut std::io::sink()).unwrap();
        let kept = &said.sets[0];
        assert_eq!((kept.len(), kept.last().map(String::as_str)), (KEPT + 1, Some("    b")));
    }

    /// A shell that fails the first time, as `cargo test` does, and then runs `then`.
    fn tests(folder: &std::path::Path, then: &str) -> Command {
        let script = format!(
            "cd {}; if mkdir begun 2>/dev/null; then printf 'failures:\\n\\nfailures:\\n    b\\n\\ntest result: FAILED. 7 passed\\n'; \
             exit 101; fi; {then}",
            folder.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    }

    #[test]
    fn a_test_that_fails_once_is_unstable_and_one_that_fails_twice_has_failed() {
        let again = |then: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mut failures = Failures::default();
            let tests = || tests(folder.path(), then);
            let ended = run(&mut tests(), &mut std::io::sink()).unwrap();
            let ended = failures.again(tests, ended, &mut std::io::sink());
            (ended.is_ok(), failures.unstable)
        };
        assert_eq!(again("echo 'test result: ok. 1 passed; 0 failed'"), (true, vec!["b".to_owned()]));
        assert_eq!(again("echo 'test result: ok. 0 passed; 0 failed'"), (false, vec![]));
        assert_eq!(again("exit 101"), (false, vec![]));
    }

    #[test]
    fn a_failure_of_either_of_two_concurrent_runs_is_detected() {
        let beside = |one: &str, other: &str| {
            let shell = |script: &str| {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            };
            Failures::default().run_beside(|| shell(one), || shell(other)).is_ok()
        };
        assert!(beside("true", "true"));
        assert!(!beside("exit 101", "true"));
        assert!(!beside("true", "exit 101"));
    }
}
