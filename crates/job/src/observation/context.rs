//! What an observation asks of the system.

use crate::model::process::Process;

/// What the system says of a thread, where it can be asked: its state, and the innermost frame of the user's code. Whoever cannot
/// be asked something leaves that function as it is.
pub trait Context {
    /// What a thread does outside of MPI: "computing", "sleeping", "stopped", …; empty if that is not known.
    fn doing(&self, _tid: u32) -> String {
        String::new()
    }

    /// The innermost frame of the user's code: `function at file:line`.
    fn at(&self, _tid: u32) -> Option<String> {
        None
    }

    /// Whether a thread sleeps for a time that it has set itself, as loops do that ask and pause in turn.
    fn pauses(&self, _tid: u32) -> bool {
        false
    }

    /// Threads that have never called MPI, and that could do so without being woken.
    fn others(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Whether a verdict is wanted, for which its calls that send and receive are counted line by line: not where ranks are looked at
    /// again and again.
    fn compares_calls(&self) -> bool {
        true
    }

    /// How the process ended, for people; `None` while it is there.
    fn ended(&self) -> Option<String> {
        None
    }

    /// Seconds from a moment in ticks (not zero) to the look, or to the end of the process.
    fn age(&self, process: &Process, since: u64) -> Option<f64> {
        let clock = &process.clock;
        Some(clock.end_ns().saturating_sub(clock.ns_at(since)) as f64 / 1e9)
    }
}
