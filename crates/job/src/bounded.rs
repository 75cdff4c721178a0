//! Commands that are given so much time and no more: other hosts that do not answer, launchers that hang.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What is kept of one stream.
const MOST_BYTES: u64 = 1 << 30;
/// How long somebody may hold a stream open after the command has ended.
const LINGER: Duration = Duration::from_secs(1);

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended; `None` if it was ended because its time was over.
    pub status: Option<ExitStatus>,
    #[allow(missing_docs)]
    pub stdout: Vec<u8>,
    #[allow(missing_docs)]
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// It ended by itself, with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a command without input, and ends it when the time is over. What it has written by then is kept.
///
/// # Errors
/// When it cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
    let until = Instant::now() + limit;
    let status = wait(&mut child, until)?;
    // Whoever the command started may hold its streams.
    let until = until.min(Instant::now() + LINGER);
    let text =
        |stream: Option<Receiver<Vec<u8>>>| stream.map_or_else(Vec::new, |stream| drain(&stream, until));
    Ok(Outcome { status, stdout: text(stdout), stderr: text(stderr) })
}

fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Reads a stream in the background.
fn collect(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut stream = stream.take(MOST_BYTES);
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            let Some(read) = piece.get(..length) else { break };
            if sender.send(read.to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Everything until the stream's end, or until the time is over.
fn drain(stream: &Receiver<Vec<u8>>, until: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    while let Ok(piece) = stream.recv_timeout(until.saturating_duration_since(Instant::now())) {
        all.extend(piece);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn a_command_that_ends_in_time_says_what_it_said() {
        let outcome = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert!(!outcome.success());
    }

    #[test]
    fn a_command_that_hangs_is_ended_and_what_it_said_before_is_kept() {
        let began = Instant::now();
        let outcome = shell("echo before; exec sleep 600", Duration::from_millis(300));
        assert!(outcome.status.is_none() && outcome.stdout == b"before\n", "{outcome:?}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn somebody_who_keeps_the_output_open_keeps_nobody_waiting() {
        let began = Instant::now();
        let outcome = shell("sleep 600 & echo done $!", Duration::from_secs(60));
        assert!(outcome.success() && began.elapsed() < Duration::from_secs(30), "{outcome:?}");
        let said = String::from_utf8(outcome.stdout).unwrap();
        let sleeper = said.trim().strip_prefix("done ").unwrap();
        assert!(Command::new("kill").arg(sleeper).status().unwrap().success());
    }
}
