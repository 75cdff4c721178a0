//! How the process of a core file ended.

use super::signal::Signal;
use super::stack::{self, Stack};
use mpiscope_target::Core;
use serde::Serialize;

/// What killed a process, as far as its core file and its image know.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// What killed it; `None` for a core file of a process that lived on.
    pub signal: Option<Signal>,
    /// The fault that a signal handler answered by raising `signal`, if that was so.
    pub cause: Option<Signal>,
    /// Error code given to `MPI_Abort`.
    pub abort_code: Option<i32>,
}

impl End {
    /// The end of process `pid`, which may have called `MPI_Abort`, and whose thread that died had this stack.
    pub fn of(core: &Core, pid: u32, abort_code: Option<i32>, stack: &Stack) -> Self {
        let overflow = |signal| overflow(core, stack, signal);
        let cause = stack.fault.as_ref().map(|fault| overflow(Signal::new(fault, pid)));
        let signal = core.crash().map(|crash| Signal::new(crash, pid));
        let signal = if cause.is_some() { signal } else { signal.map(overflow) };
        Self { signal, cause, abort_code }
    }

    /// Whether the cause of its death lies in the process itself.
    pub fn own(&self) -> bool {
        self.cause.is_some() || self.signal.as_ref().is_some_and(|s| s.own) || self.abort_code.is_some()
    }

    /// What killed it, the fault before the signal that was raised for it.
    pub fn killer(&self) -> Option<&Signal> {
        self.cause.as_ref().or(self.signal.as_ref())
    }

    /// How it failed. Who was killed by somebody else, the launcher for one, did not: it is shown where it was.
    pub fn failure(&self) -> Option<String> {
        match (self.abort_code, self.killer()) {
            (Some(code), _) => Some(format!("it called MPI_Abort with {code}")),
            (None, Some(signal)) if self.own() => Some(format!("it died of {}", signal.name)),
            (None, _) => None,
        }
    }
}

/// The same signal; if it is one of a stack that has come to its end, it says so.
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
