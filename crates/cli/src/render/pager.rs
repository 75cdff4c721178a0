//! Shows long terminal output in a pager.
#![allow(unsafe_code)]

use rustix::termios::tcgetwinsize;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a terminal of unknown size.
const DEFAULT_ROWS: usize = 24;

static REFUSED: AtomicBool = AtomicBool::new(false);

/// Disables the pager from now on.
pub fn refuse() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Standard output, buffered until it is flushed if a pager may be needed.
pub struct Paged {
    out: io::StdoutLock<'static>,
    /// The buffered output; `None` if output is not buffered.
    kept: Option<Vec<u8>>,
}

impl Paged {
    /// Locks standard output, and buffers it if it is a terminal that a pager can use.
    pub fn stdout() -> Self {
        let out = io::stdout().lock();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let wanted = out.is_terminal() && !dumb && !REFUSED.load(Ordering::Relaxed);
        Self { kept: (wanted && Pager::chosen().is_some()).then(Vec::new), out }
    }

    /// Returns the underlying output.
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

/// The pager to use.
enum Pager {
    /// A shell command.
    Named(OsString),
    /// `less`, which exits at once if the text fits on the screen, shows colors, and leaves the text on the
    /// screen.
    Less,
}

impl Pager {
    /// Returns the command in PAGER, or `less` if unset; empty or `cat` means no pager.
    fn chosen() -> Option<Self> {
        match std::env::var_os("PAGER") {
            None => Some(Self::Less),
            Some(name) if name.is_empty() || name == "cat" => None,
            Some(name) => Some(Self::Named(name)),
        }
    }

    /// Shows the text. Returns whether that worked.
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

/// Writes the text to the pager and waits for it to end. Returns whether the text was shown.
fn fed(mut child: Child, text: &[u8]) -> bool {
    let _ours = Uninterrupted::begin();
    if let Some(mut pipe) = child.stdin.take() {
        // The user may quit before the end.
        let _left = pipe.write_all(text);
    }
    // Status 127 is the shell's way to report a missing command: nothing was shown.
    !child.wait().is_ok_and(|status| status.code() == Some(127))
}

/// While it exists, Ctrl-C is left to the pager, where it stops a search.
struct Uninterrupted(libc::sighandler_t);

impl Uninterrupted {
    fn begin() -> Self {
        // SAFETY: ignoring a signal runs no code of ours.
        Self(unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) })
    }
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        // SAFETY: restores a handler that `signal` returned.
        unsafe { libc::signal(libc::SIGINT, self.0) };
    }
}
