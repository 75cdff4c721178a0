//! Descriptions of signals.

use mpiscope_target::{Crash, signal_name};
use serde::Serialize;

/// `si_code` of faults for which the processor does not report an address.
const SI_KERNEL: i32 = 128;
/// Faults below this address come from a null pointer plus an offset.
const NULL_PAGE: u64 = 4096;

/// The signal that killed a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Its name (`SIGSEGV`).
    pub name: String,
    /// `si_code`: why it was sent; zero or less when a process sent it.
    pub code: i32,
    /// Human-readable meaning.
    pub meaning: String,
    /// The address whose use caused the fault.
    pub fault_address: Option<u64>,
    /// The process that sent it.
    pub sender: Option<u32>,
    /// The process itself is the cause: a fault, or it sent the signal to itself (`abort`).
    pub own: bool,
}

impl Signal {
    /// Describes `crash` of the process with this id (zero if unknown).
    pub fn new(crash: &Crash, pid: u32) -> Self {
        let sender = crash.sender.map(|sender| sender.pid);
        let own = crash.code > 0 || sender.is_some_and(|sender| sender == pid);
        Self {
            number: crash.signal,
            name: signal_name(crash.signal).map_or_else(|| format!("signal {}", crash.signal), str::to_owned),
            code: crash.code,
            meaning: meaning(crash, own),
            fault_address: crash.fault_address.filter(|_| crash.code != SI_KERNEL),
            sender: sender.filter(|_| !own),
            own,
        }
    }
}

impl Signal {
    /// The same fault, whose address is lost, described as one at the lowest address of a stack of
    /// `bytes` bytes.
    pub fn at_the_end_of_a_stack(self, bytes: u64) -> Self {
        let mib = bytes as f64 / f64::from(1 << 20);
        let meaning = format!(
            "a fault at the lowest address of a stack of {mib:.1} MiB: a stack overflow? (`ulimit -s`)"
        );
        Self { meaning, ..self }
    }

    /// The same fault, described as a stack overflow.
    pub fn of_overflow(self) -> Self {
        let meaning = format!(
            "stack overflow at {:#x}: endless recursion, or large local arrays (`ulimit -s` raises the limit)",
            self.fault_address.unwrap_or(0)
        );
        Self { meaning, ..self }
    }
}

fn meaning(crash: &Crash, own: bool) -> String {
    let at = crash.fault_address.unwrap_or(0);
    match (crash.signal, crash.code) {
        (libc::SIGSEGV, SI_KERNEL) => "an address that no program can have was accessed".into(),
        (libc::SIGSEGV, 1) if at < NULL_PAGE => format!("null pointer accessed (address {at:#x})"),
        (libc::SIGSEGV, 1) => format!("nothing is mapped at {at:#x}"),
        (libc::SIGSEGV, 2) => format!("this access to {at:#x} is not allowed"),
        (libc::SIGBUS, 1) => format!("misaligned address {at:#x}"),
        (libc::SIGBUS, 2) => {
            format!("{at:#x} is past the end of a mapped file; is a disk or /dev/shm full?")
        }
        (libc::SIGFPE, 1) => "integer division by zero".into(),
        (libc::SIGFPE, 2) => "integer overflow".into(),
        (libc::SIGFPE, 3) => "floating point division by zero".into(),
        (libc::SIGFPE, 4) => "floating point overflow".into(),
        (libc::SIGFPE, 7) => "invalid floating point operation".into(),
        (libc::SIGILL, 1..) => "illegal instruction; built for another processor?".into(),
        (libc::SIGABRT, _) if own => "the program called abort (an assertion, or the MPI library)".into(),
        (libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL, _) if own => {
            "a fault that a signal handler raised again (its address is lost)".into()
        }
        _ if own => "raised by the process itself".into(),
        (_, ..=0) => match crash.sender.filter(|sender| sender.pid != 0) {
            Some(sender) => format!("sent by process {}", sender.pid),
            None => "sent from outside".into(),
        },
        (_, code) => format!("code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_target::Sender;

    fn crash(signal: i32, code: i32, fault_address: Option<u64>, sender: Option<u32>) -> Crash {
        Crash { signal, code, fault_address, sender: sender.map(|pid| Sender { pid, user: 0 }) }
    }

    #[test]
    fn a_fault_is_caused_by_the_process_and_names_the_address() {
        let signal = Signal::new(&crash(libc::SIGSEGV, 1, Some(16), None), 7);
        assert_eq!((signal.name.as_str(), signal.own), ("SIGSEGV", true));
        assert_eq!(signal.meaning, "null pointer accessed (address 0x10)");
    }

    #[test]
    fn an_abort_is_caused_by_the_process_but_a_signal_from_another_one_is_not() {
        assert!(Signal::new(&crash(libc::SIGABRT, -6, None, Some(7)), 7).own);
        let killed = Signal::new(&crash(libc::SIGTERM, 0, None, Some(3)), 7);
        assert_eq!((killed.own, killed.sender), (false, Some(3)));
        assert_eq!(killed.meaning, "sent by process 3");
    }

    #[test]
    fn a_fault_without_an_address_shows_none() {
        let signal = Signal::new(&crash(libc::SIGSEGV, SI_KERNEL, Some(0), None), 7);
        assert_eq!((signal.fault_address, signal.own), (None, true));
    }

    #[test]
    fn an_unknown_signal_is_named_by_its_number() {
        assert_eq!(Signal::new(&crash(40, -1, None, None), 7).name, "signal 40");
    }
}
