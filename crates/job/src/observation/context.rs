//! What an observation asks the operating system.

use crate::model::process::Process;

/// Whether what a thread does, as text for users, is that it was stopped.
#[must_use]
pub fn is_stopped(doing: &str) -> bool {
    doing.starts_with("stopped")
}

/// What the system knows about threads, where it can be asked: their state and the innermost frame of user
/// code. A context that cannot answer a question keeps the default method.
pub trait Context {
    /// Returns what a thread does outside MPI: "computing", "sleeping", "stopped", …; empty if unknown.
    fn doing(&self, _tid: u32) -> String {
        String::new()
    }

    /// Returns what has stopped a thread, inside or outside MPI: `stopped by a signal`; `None` if nothing has.
    fn stopped(&self, tid: u32) -> Option<String> {
        Some(self.doing(tid)).filter(|doing| is_stopped(doing))
    }

    /// Returns the innermost frame of user code: `function at file:line`.
    fn at(&self, _tid: u32) -> Option<String> {
        None
    }

    /// Returns whether a thread sleeps for a time it has set itself, as loops do that alternate polling and
    /// pausing.
    fn pauses(&self, _tid: u32) -> bool {
        false
    }

    /// Returns threads that have never called MPI but could do so without being woken, or once a thread inside MPI
    /// released a lock.
    fn others(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns whether calls that send and receive are counted by source line, as a verdict needs. Not where
    /// ranks are sampled over and over.
    fn compares_calls(&self) -> bool {
        true
    }

    /// Returns how the process ended, as text for users; `None` while it exists.
    fn ended(&self) -> Option<String> {
        None
    }

    /// Returns whether the process makes no more calls.
    fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    /// Returns the seconds from a moment in ticks (not zero) to the snapshot, or to the end of the process.
    fn age(&self, process: &Process, since: u64) -> Option<f64> {
        let clock = &process.clock;
        Some(clock.end_ns().saturating_sub(clock.ns_at(since)) as f64 / 1e9)
    }
}
