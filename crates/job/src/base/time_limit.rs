//! Commands that run under a time limit: other hosts may not answer, launchers may hang.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Default limit of the answer's length in bytes: what a host knows of its ranks.
pub const MOST_BYTES: usize = 1 << 30;
/// Number of bytes kept from the end of standard error.
const MOST_SAID: usize = 1 << 16;
/// Size of one read.
const PIECE: usize = 1 << 16;
/// Polling interval where the end of a process cannot be awaited by a descriptor (Linux before 5.3).
const TICK: Duration = Duration::from_millis(20);
/// How long other processes may hold a stream open after the command has ended.
const LINGER: Duration = Duration::from_secs(1);

/// The result of a command.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` if the command was killed at the time limit.
    pub status: Option<ExitStatus>,
    #[allow(missing_docs)]
    pub stdout: Vec<u8>,
    /// Only the tail if the output is long.
    pub stderr: Vec<u8>,
    /// Whether standard output was longer than the limit.
    pub too_long: bool,
}

impl Outcome {
    /// Whether the command exited by itself with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a command without input and kills it at the time limit. Output written by then is kept.
///
/// # Errors
/// When it cannot be started.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    run_up_to(command, limit, MOST_BYTES)
}

/// Like [`run`], with a limit of `most` bytes for standard output; anything beyond is not read.
///
/// # Errors
/// When it cannot be started.
pub fn run_up_to(command: &mut Command, limit: Duration, most: usize) -> io::Result<Outcome> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    finish(&mut child, end, Instant::now() + limit, most)
}

/// Waits for the end of a process and reads its output until then. `end` is a descriptor that becomes
/// readable at the end, on kernels that have one.
fn finish(child: &mut Child, end: Option<OwnedFd>, until: Instant, most: usize) -> io::Result<Outcome> {
    let mut streams = [
        Stream::new(child.stdout.take().map(Into::into), Keep::Whole(most)),
        Stream::new(child.stderr.take().map(Into::into), Keep::End(MOST_SAID)),
    ];
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
    // Processes that the command started may still hold its streams.
    let until = until.min(Instant::now() + LINGER);
    while streams.iter().any(|stream| stream.pipe.is_some()) {
        let left = until.saturating_duration_since(Instant::now());
        if !listen(&mut streams, None, left)? && left.is_zero() {
            break;
        }
    }
    let [Stream { bytes: stdout, too_long, .. }, Stream { bytes: stderr, .. }] = streams;
    Ok(Outcome { status, stdout, stderr, too_long })
}

/// What to keep of a stream.
#[derive(Clone, Copy)]
enum Keep {
    /// Everything, up to this many bytes.
    Whole(usize),
    /// At least this many bytes at the end.
    End(usize),
}

/// The data received through a pipe.
struct Stream {
    /// `None` after the end of the stream.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    keep: Keep,
    too_long: bool,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, keep: Keep) -> Self {
        Self { pipe, bytes: Vec::new(), keep, too_long: false }
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes.extend(piece);
        match self.keep {
            Keep::Whole(most) if self.bytes.len() > most => {
                (self.too_long, self.pipe) = (true, None);
                self.bytes.truncate(most);
            }
            Keep::End(most) if self.bytes.len() > 2 * most => drop(self.bytes.drain(..most)),
            Keep::Whole(_) | Keep::End(_) => {}
        }
    }

    /// Reads available data.
    fn read(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut piece = [0; PIECE];
        match rustix::io::read(pipe, &mut piece) {
            Ok(length @ 1..) => self.take(piece.get(..length).unwrap_or_default()),
            Err(Errno::INTR) => {}
            _ => self.pipe = None,
        }
    }
}

/// Waits up to `patience` until a stream has data; returns whether one had.
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
    fn the_output_of_a_command_that_ends_in_time_is_returned() {
        let outcome = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert!(!outcome.success());
    }

    #[test]
    fn a_command_that_hangs_is_killed_and_its_output_is_kept() {
        let began = Instant::now();
        let outcome = shell("echo before; exec sleep 600", Duration::from_millis(300));
        assert!(outcome.status.is_none() && outcome.stdout == b"before\n", "{outcome:?}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn without_pidfds_the_answer_is_the_same() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let outcome = finish(&mut child, None, Instant::now() + Duration::from_secs(60), 99).unwrap();
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[test]
    fn an_answer_longer_than_a_pipe_buffer_arrives_complete() {
        let outcome = shell("head -c 1000000 /dev/zero; echo", Duration::from_secs(60));
        assert!(outcome.success() && outcome.stdout.len() == 1_000_001, "{}", outcome.stdout.len());
    }

    #[test]
    fn excess_output_is_not_read_and_the_end_of_errors_is_kept() {
        let script = "head -c 3000000 /dev/zero >&2; echo 'the end' >&2; yes";
        let mut command = Command::new("sh");
        let outcome = run_up_to(command.args(["-c", script]), Duration::from_secs(60), 1000).unwrap();
        assert!(
            outcome.too_long && outcome.stdout.len() == 1000 && outcome.status.is_some(),
            "{:?}",
            outcome.status
        );
        assert!(outcome.stderr.ends_with(b"the end\n") || outcome.stderr.len() > MOST_SAID);
        assert!(outcome.stderr.len() < 200_000, "{}", outcome.stderr.len());
        assert!(!shell("yes | head -c 1000000", Duration::from_secs(60)).too_long);
    }

    #[test]
    fn a_process_that_keeps_the_output_open_does_not_block() {
        let began = Instant::now();
        let outcome = shell("sleep 600 & echo done $!", Duration::from_secs(60));
        assert!(outcome.success() && began.elapsed() < Duration::from_secs(30), "{outcome:?}");
        let said = String::from_utf8(outcome.stdout).unwrap();
        let sleeper = said.trim().strip_prefix("done ").unwrap();
        assert!(Command::new("kill").arg(sleeper).status().unwrap().success());
    }
}
