//! Long output on a terminal goes through a pager.
#![allow(unsafe_code)]

use rustix::termios::tcgetwinsize;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a terminal that does not say how many it has.
const DEFAULT_ROWS: usize = 24;

static REFUSED: AtomicBool = AtomicBool::new(false);

/// From now on nothing goes through a pager.
pub fn refuse() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Standard output, kept back until it is flushed if a pager may be wanted for it.
pub struct Paged {
    out: io::StdoutLock<'static>,
    /// What is kept back; none if nothing is to be.
    kept: Option<Vec<u8>>,
}

impl Paged {
    /// Standard output.
    pub fn stdout() -> Self {
        let out = io::stdout().lock();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let wanted = out.is_terminal() && !dumb && !REFUSED.load(Ordering::Relaxed);
        Self { kept: (wanted && Pager::chosen().is_some()).then(Vec::new), out }
    }

    /// The output itself.
    pub fn output(&self) -> &io::StdoutLock<'static> {
        &self.out
    }

    fn rows(&self) -> usize {
        let known =
            tcgetwinsize(&self.out).ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0);
        let named = || std::env::var("LINES").ok()?.trim().parse().ok();
        known.or_else(named).unwrap_or(DEFAULT_ROWS)
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kept {
            Some(kept) => kept.write(bytes),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = self.kept.as_mut().map(std::mem::take).unwrap_or_default();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // The shell's next prompt takes a row as well.
        if lines < self.rows() || !Pager::chosen().is_some_and(|pager| pager.show(&text)) {
            self.out.write_all(&text)?;
        }
        self.out.flush()
    }
}

/// Which pager.
enum Pager {
    /// A command for the shell.
    Named(OsString),
    /// `less`, which leaves alone what fits on the screen, shows colours, and leaves the text behind.
    Less,
}

impl Pager {
    /// PAGER, if it is set; empty or `cat` is none.
    fn chosen() -> Option<Self> {
        match std::env::var_os("PAGER") {
            None => Some(Self::Less),
            Some(name) if name.is_empty() || name == "cat" => None,
            Some(name) => Some(Self::Named(name)),
        }
    }

    /// Whether the text was shown.
    fn show(&self, text: &[u8]) -> bool {
        let mut command = match self {
            Self::Named(line) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(line);
                shell
            }
            Self::Less => {
                let mut less = Command::new("less");
                less.arg("-FRX");
                less
            }
        };
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        match command.stdin(Stdio::piped()).spawn() {
            Ok(child) => fed(child, text),
            Err(_) => false,
        }
    }
}

/// Gives the pager its text and waits until the user has seen enough of it.
fn fed(mut child: Child, text: &[u8]) -> bool {
    let _ours = Uninterrupted::begin();
    if let Some(mut pipe) = child.stdin.take() {
        // The user may leave before the end.
        let _left = pipe.write_all(text);
    }
    // The shell's answer for a command that does not exist: nothing was shown.
    !child.wait().is_ok_and(|status| status.code() == Some(127))
}

/// Ctrl-C is the pager's while it runs: it stops a search there.
struct Uninterrupted(libc::sighandler_t);

impl Uninterrupted {
    fn begin() -> Self {
        // SAFETY: ignoring a signal runs no code of ours.
        Self(unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) })
    }
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        // SAFETY: what `signal` gave is what it takes.
        unsafe { libc::signal(libc::SIGINT, self.0) };
    }
}
