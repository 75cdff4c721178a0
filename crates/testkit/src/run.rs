//! Child processes with a time limit.
//!
//! A launcher starts helpers, some of which leave its process group. So on timeout all descendants of the
//! child are killed, not only its group.
//!
//! Launchers keep session folders in the directory of temporary files, and those of two jobs of one user can
//! conflict: a job that ends cleans up what another one has just created. So every run has its own folder
//! ([`apart`]).

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::family::Family;

/// Time for a launcher to clean up before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// Polling interval.
const POLL: Duration = Duration::from_millis(5);

/// The result of a bounded run.
#[derive(Debug)]
pub struct Outcome {
    /// Standard output, with undecodable bytes replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// The exit status.
    pub status: ExitStatus,
    /// Whether it was stopped by the time limit.
    pub timed_out: bool,
    /// The run time.
    pub wall: Duration,
}

impl Outcome {
    /// The exit status as reported by a shell: the code, or 128 plus the signal.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.status.code().or_else(|| self.status.signal().map(|s| 128 + s)).unwrap_or(-1)
    }

    /// Whether it ended by itself and successfully.
    #[must_use]
    pub fn success(&self) -> bool {
        !self.timed_out && self.status.success()
    }

    /// A description for a failed test: how it ended and its output.
    #[must_use]
    pub fn describe(&self) -> String {
        let how =
            if self.timed_out { "killed at its time limit".to_owned() } else { self.status.to_string() };
        format!(
            "{how} after {:.1} s\n--- stdout\n{}\n--- stderr\n{}",
            self.wall.as_secs_f64(),
            tail(&self.stdout),
            tail(&self.stderr)
        )
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// Copies a program that will be started afterward. A separate process does it: a child that another thread
/// of a test forks at this moment would inherit our descriptor of the copy, open for writing, and the copy
/// could then not be started.
///
/// # Errors
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    let status = Command::new("cp").arg("--").args([from, to]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cp {}: {status}", from.display()))) }
}

/// Runs `command` without standard input for at most `limit`.
///
/// # Errors
/// If the program cannot be started, with its name in the message.
pub fn bounded(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    let start = Instant::now();
    // Tests search for whole lines, so the command must not wrap them.
    if command.get_envs().all(|(name, _)| name != "COLUMNS") {
        command.env("COLUMNS", "400");
    }
    let temporary = tempfile::tempdir()?;
    apart(command, temporary.path());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start {command:?}: {error}")))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let ended = wait_until(&mut child, start + limit)?;
    let timed_out = ended.is_none();
    let status = match ended {
        Some(status) => status,
        None => end(&mut child)?,
    };
    Ok(Outcome {
        stdout: finish(stdout, timed_out),
        stderr: finish(stderr, timed_out),
        status,
        timed_out,
        wall: start.elapsed(),
    })
}

/// Makes a command and its children put temporary files into `folder`, unless the command already has another
/// folder.
pub fn apart(command: &mut Command, folder: &Path) {
    if !command.get_envs().any(|(name, _)| name == "TMPDIR") {
        command.env("TMPDIR", folder);
    }
}

/// Ends a child that was started in its own process group, and all its descendants.
///
/// # Errors
/// If the child cannot be waited for.
pub fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let family = Family::of(child.id());
    family.signal(Signal::TERM);
    if let Some(status) = wait_until(child, Instant::now() + GRACE)? {
        family.kill();
        return Ok(status);
    }
    kill(child)
}

/// Like [`end`], but without time to clean up: for processes that have already shown everything a test needs.
///
/// # Errors
/// If the child cannot be waited for.
pub fn kill(child: &mut Child) -> io::Result<ExitStatus> {
    Family::of(child.id()).kill();
    child.wait()
}

fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

type Reader = JoinHandle<Vec<u8>>;

fn collect(pipe: Option<impl Read + Send + 'static>) -> Reader {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn finish(reader: Reader, timed_out: bool) -> String {
    // A reparented process may hold the pipe open forever; its output is then discarded.
    let patience = if timed_out { Duration::from_secs(2) } else { Duration::from_secs(20) };
    let deadline = Instant::now() + patience;
    while !reader.is_finished() {
        if Instant::now() >= deadline {
            return "(a leftover process still holds the pipe open)\n".to_owned();
        }
        thread::sleep(POLL);
    }
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_exit_code_are_those_of_the_child() {
        let seen = bounded(&mut shell("echo out; echo err >&2; exit 3"), Duration::from_secs(10)).unwrap();
        assert_eq!((seen.stdout.as_str(), seen.stderr.as_str(), seen.code()), ("out\n", "err\n", 3));
        assert!(!seen.timed_out);
    }

    #[test]
    fn a_signal_becomes_128_plus_its_number() {
        let seen = bounded(&mut shell("kill -9 $$"), Duration::from_secs(10)).unwrap();
        assert_eq!(seen.code(), 137);
    }

    #[test]
    fn a_descendant_in_its_own_session_ends_with_the_run() {
        let script = "setsid sh -c 'echo $$; exec sleep 60' & wait";
        let seen = bounded(&mut shell(script), Duration::from_millis(700)).unwrap();
        assert!(seen.timed_out);
        let pid: u32 = seen.stdout.trim().parse().unwrap();
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "still alive: {state}");
    }

    #[test]
    fn shared_memory_of_killed_processes_is_removed() {
        let name = format!("/dev/shm/mpiscope_test_{}", std::process::id());
        let script = format!(
            "import mmap, time\nf = open('{name}', 'w+b'); f.truncate(4096)\nm = mmap.mmap(f.fileno(), 4096)\n\
             print('there', flush=True); time.sleep(60)"
        );
        let mut command = Command::new("python3");
        command.args(["-c", &script]).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut said = child.stdout.take().unwrap();
        said.read_exact(&mut [0; 5]).unwrap();
        assert!(Path::new(&name).exists());
        assert_eq!(kill(&mut child).unwrap().signal(), Some(9));
        assert!(!Path::new(&name).exists());
    }
}
