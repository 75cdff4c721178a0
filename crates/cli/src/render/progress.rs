//! A progress line on standard error, shown on a terminal if work takes long.

use super::fit::shorten;
use super::terminal::Terminal;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Work that takes less time is not mentioned.
const LONG: Duration = Duration::from_secs(1);

/// Runs `work`. After a second, a line shows what is being done and for how long; it is erased when the work
/// is done.
pub fn while_working<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let terminal = io::stderr().is_terminal().then(|| Terminal::of(&io::stderr()));
    let _line = terminal.map(|terminal| Line::begin(what, terminal.width, LONG, io::stderr()));
    work()
}

/// A thread that writes the line until this is dropped.
struct Line {
    done: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl Line {
    fn begin(what: &str, width: usize, long: Duration, mut out: impl Write + Send + 'static) -> Self {
        let (done, ended) = channel::<()>();
        let what = what.to_owned();
        let began = Instant::now();
        let write = move || {
            let mut shown = false;
            while ended.recv_timeout(long) == Err(RecvTimeoutError::Timeout) {
                let text = shorten(&format!("mpiscope: {what}, {} s", began.elapsed().as_secs()), width - 1);
                // A closed standard error is not an error.
                shown |= write!(out, "\r{text}\x1b[K").and_then(|()| out.flush()).is_ok();
            }
            if shown {
                let _closed = write!(out, "\r\x1b[K").and_then(|()| out.flush());
            }
        };
        // Without a thread there is no line.
        Self { done: Some(done), writer: thread::Builder::new().spawn(write).ok() }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what is written, and signals each write.
    #[derive(Clone)]
    struct Kept(Arc<Mutex<Vec<u8>>>, Sender<()>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            let _nobody_waits = self.1.send(());
            Ok(())
        }
    }

    #[test]
    fn progress_of_long_work_is_shown_and_erased() {
        let (sender, written) = channel();
        let kept = Kept(Arc::default(), sender);
        let line = Line::begin("reading 4 ranks", 60, Duration::from_millis(1), kept.clone());
        written.recv().unwrap();
        drop(line);
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("\rmpiscope: reading 4 ranks, 0 s\x1b[K"), "{text:?}");
        assert!(text.ends_with("\r\x1b[K"), "{text:?}");
    }

    #[test]
    fn short_work_shows_no_progress() {
        let kept = Kept(Arc::default(), channel().0);
        drop(Line::begin("reading", 60, Duration::from_secs(3600), kept.clone()));
        assert!(kept.0.lock().unwrap().is_empty());
    }
}
