//! Commands that are given so much time and no more: other hosts that do not answer, launchers that hang.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is kept of one stream.
const MOST_BYTES: usize = 1 << 30;
/// What is read of it at once.
const PIECE: usize = 1 << 16;
/// How often to look whether a process is there whose end nobody tells: Linux before 5.3.
const TICK: Duration = Duration::from_millis(20);
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
    let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    finish(&mut child, end, Instant::now() + limit)
}

/// Waits for the end of a process, of which `end` tells on kernels that have such a thing, and reads what it says until then.
fn finish(child: &mut Child, end: Option<OwnedFd>, until: Instant) -> io::Result<Outcome> {
    let mut streams =
        [Stream::new(child.stdout.take().map(Into::into)), Stream::new(child.stderr.take().map(Into::into))];
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            child.kill()?;
            child.wait()?;
            break None;
        }
        listen(&mut streams, end.as_ref(), if end.is_some() { left } else { left.min(TICK) })?;
    };
    // Whoever the command started may hold its streams.
    let until = until.min(Instant::now() + LINGER);
    while streams.iter().any(|stream| stream.pipe.is_some()) {
        let left = until.saturating_duration_since(Instant::now());
        if !listen(&mut streams, None, left)? && left.is_zero() {
            break;
        }
    }
    let [stdout, stderr] = streams.map(|stream| stream.bytes);
    Ok(Outcome { status, stdout, stderr })
}

/// What comes through a pipe.
struct Stream {
    /// Until its end.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> Self {
        Self { pipe, bytes: Vec::new() }
    }

    /// Reads what is there, if something is.
    fn read(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut piece = [0; PIECE];
        match rustix::io::read(pipe, &mut piece) {
            Ok(length @ 1..) if self.bytes.len() < MOST_BYTES => {
                self.bytes.extend(piece.get(..length).unwrap_or_default());
            }
            Err(Errno::INTR) => {}
            _ => self.pipe = None,
        }
    }
}

/// Waits until one of these has something to say, at most so long; says whether one had.
fn listen(streams: &mut [Stream; 2], end: Option<&OwnedFd>, patience: Duration) -> io::Result<bool> {
    let pipes = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut all: Vec<PollFd<'_>> = pipes.chain(end).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let patience = Timespec::try_from(patience).ok();
    match poll(&mut all, patience.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(why) => return Err(why.into()),
    }
    let ready: Vec<bool> = all.iter().map(|fd| !fd.revents().is_empty()).collect();
    let open = streams.iter_mut().filter(|stream| stream.pipe.is_some());
    open.zip(&ready).filter(|(_, ready)| **ready).for_each(|(stream, _)| stream.read());
    Ok(ready.contains(&true))
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
    fn where_the_kernel_does_not_tell_of_the_end_of_a_process_its_answer_is_the_same() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let outcome = finish(&mut child, None, Instant::now() + Duration::from_secs(60)).unwrap();
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[test]
    fn an_answer_longer_than_a_pipe_holds_comes_whole() {
        let outcome = shell("head -c 1000000 /dev/zero; echo", Duration::from_secs(60));
        assert!(outcome.success() && outcome.stdout.len() == 1_000_001, "{}", outcome.stdout.len());
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
