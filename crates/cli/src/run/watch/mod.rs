//! The watcher: reports unasked when a job hangs, in the log of that job.
//!
//! It reads images from outside and costs the ranks nothing. When for `--hang-after` seconds no rank has
//! completed a call other than polling, it consults [`why`](crate::why). It reports a verdict only if it is a
//! problem, once, and again only if it changes. A job that computes, sleeps, reads files or is slow gets no
//! such verdict. While ranks do complete calls, it checks at the same interval whether some of them can never
//! proceed ([`Partly`]). When a job is ended that does not hang but had stalled, it reports who held it up.
//!
//! There is a watcher on every host, and one of them reports ([`Scope`]):
//!
//! ```text
//! mpiscope run mpirun -hosts n1,n2 ./app     hosts report their progress; the starting process asks them for snapshots
//! mpirun -hosts n1,n2 mpiscope run ./app     the host of rank 0 queries the others, as `mpiscope why` does, when
//!                                            nothing happens on it or another host has noted that a rank stalls
//! ```

mod partly;
mod reading;
mod reporter;
mod scope;

pub use scope::Scope;

use super::Options;
use super::hosts::FromHost;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::questions::live::Progress;
use partly::Partly;
use reading::Reading;
use reporter::Reporter;
use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Interval between the two snapshots of a verdict.
const APART: Duration = Duration::from_secs(1);
/// Bounds of the maximum interval between two readings of the ranks' progress.
const READINGS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Interval between readings that cost next to nothing. Short enough to know, when a user ends a job, that it
/// had stalled for a second.
const SHORTEST_PAUSE: Duration = Duration::from_millis(400);
/// The pause after a reading is this many times as long as the reading.
const SPARING: u32 = 200;

/// Watches a job until it is dropped.
pub struct Watch {
    reporter: Arc<Reporter>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts watching, unless `--hang-after 0` disables it.
    pub fn begin(job: &str, options: &Options, screen: Option<File>, scope: Scope) -> Self {
        let after = Duration::try_from_secs_f64(options.hang_after).unwrap_or_default();
        let reporter = Arc::new(Reporter::new(job, options, screen, scope));
        let mut watch = Self { reporter, stop: None, thread: None };
        if options.hang_after > 0.0 {
            let (stop, stopped) = channel();
            let reporter = Arc::clone(&watch.reporter);
            let work = move || follow(&reporter, after, &stopped);
            watch.thread = thread::Builder::new().name("watch".into()).spawn(work).ok();
            watch.stop = Some(stop);
        }
        watch
    }

    /// Sets the ranks that the launcher assigned to the processes of this host.
    pub fn ranks(&self, now: Vec<u32>) {
        self.reporter.scope.ranks(now);
    }

    /// Called when a signal is about to end the job: reports what is wrong with it, if anything.
    pub fn last_look(&self) {
        if self.stop.is_some() {
            self.reporter.ends();
            self.reporter.last_look();
        }
    }

    /// Called when the terminal has sent the job a signal, so that it may end at any moment: reports what was
    /// wrong with it, if it had stalled for a while.
    pub fn look_back(&self) {
        if self.stop.is_some() {
            self.reporter.ends();
            self.reporter.look_back();
        }
    }

    /// Called after the job's end with the ends of local processes and the final data of other hosts: reports
    /// what was wrong, if the job was ended by signals and had stalled for a while.
    pub fn look_back_on(mut self, ends: &[(u64, ProcessEnd)], others: &[FromHost]) {
        let watches = self.stop.is_some();
        self.stop();
        if watches {
            self.reporter.look_back_on(ends, others);
        }
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the watcher panicked, that was reported.
            let _ended = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the pause after a reading that took `reading`.
fn pause_after(reading: Duration, hang_after: Duration) -> Duration {
    let longest = (hang_after / 8).clamp(READINGS.0, READINGS.1);
    (reading * SPARING).clamp(SHORTEST_PAUSE.min(longest), longest)
}

/// Looks more closely whenever nothing has happened for long.
fn follow(reporter: &Reporter, after: Duration, stopped: &Receiver<()>) {
    let mut pause = pause_after(Duration::ZERO, after);
    // How long the ranks had stalled at the last closer look.
    let mut looked = Duration::ZERO;
    let mut partly = Partly::new(after);
    while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let began = Instant::now();
        let now: Option<Progress> = reporter.progress();
        let is_reporter = reporter.scope.is_reporter(now.as_ref());
        let stalled = now.as_ref().map_or(Duration::ZERO, |now| now.stalled);
        pause = pause_after(began.elapsed(), after);
        let still = reporter.note(now).map_or(Duration::ZERO, |since: Instant| since.elapsed());
        if still < looked {
            looked = Duration::ZERO;
        }
        if is_reporter && still >= after && still >= looked.mul_f64(reporter.scope.sparing()) {
            looked = still;
            reporter.look(APART, &reporter.scope.stood(still));
        } else if !is_reporter {
            reporter.note_stall(stalled);
        } else if still < after || reporter.scope.has_all() {
            partly.look(reporter, reporter.stalled_anywhere(stalled));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_reads_are_frequent_and_no_read_takes_more_than_a_hundredth_of_the_time() {
        let pause = |reading, after| pause_after(Duration::from_millis(reading), Duration::from_secs(after));
        assert_eq!(pause(0, 60), SHORTEST_PAUSE);
        assert_eq!(pause(10, 60), Duration::from_secs(2));
        assert_eq!(pause(400, 60), READINGS.1);
        assert_eq!(pause(0, 1), Duration::from_millis(125), "as short as asked for");
    }
}
