//! How the process of a core file ended.

use super::signal::Signal;
use super::stack::{self, Stack};
use mpiscope_target::Core;
use serde::Serialize;

/// What killed a process, according to its core file and its image.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// What killed it; `None` for a core file of a process that survived.
    pub signal: Option<Signal>,
    /// The original fault, if a signal handler caught it and raised `signal`.
    pub cause: Option<Signal>,
    /// Error code passed to `MPI_Abort`.
    pub abort_code: Option<i32>,
}

impl End {
    /// Determines the end of process `pid`, which may have called `MPI_Abort`. `stack` is the stack of the
    /// thread that died.
    pub fn of(core: &Core, pid: u32, abort_code: Option<i32>, stack: &Stack) -> Self {
        let overflow = |signal| overflow(core, stack, signal);
        let cause = stack.fault.as_ref().map(|fault| overflow(Signal::new(fault, pid)));
        let signal = core.crash().map(|crash| Signal::new(crash, pid));
        let signal = if cause.is_some() { signal } else { signal.map(overflow) };
        Self { signal, cause, abort_code }
    }

    /// Whether the process itself caused its death.
    pub fn own(&self) -> bool {
        self.cause.is_some() || self.signal.as_ref().is_some_and(|s| s.own) || self.abort_code.is_some()
    }

    /// Returns what killed it: the original fault rather than the signal raised because of it.
    pub fn killer(&self) -> Option<&Signal> {
        self.cause.as_ref().or(self.signal.as_ref())
    }

    /// Describes how the process failed. A process killed from outside, for example by its launcher, did not
    /// fail: it is shown where it was.
    pub fn failure(&self) -> Option<String> {
        match (self.abort_code, self.killer()) {
            (Some(code), _) => Some(format!("it called MPI_Abort with {code}")),
            (None, Some(signal)) if self.own() => Some(format!("it died of {}", signal.name)),
            (None, _) => None,
        }
    }
}

/// Returns the signal, described as a stack overflow if it is one.
fn overflow(core: &Core, stack: &Stack, signal: Signal) -> Signal {
    match (signal.fault_address, stack.pointer) {
        (Some(fault), Some(pointer)) if stack::is_overflow(core, pointer, fault) => signal.of_overflow(),
        (None, Some(pointer)) if signal.own && signal.number == libc::SIGSEGV => {
            match stack::at_the_end_of(core, pointer) {
                Some(bytes) => signal.at_the_end_of_a_stack(bytes),
                None => signal,
            }
        }
        _ => signal,
    }
}
