//! Names of signals.

/// The names of signals, from number 1, as numbered on most machines.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// Returns the name of a signal (`SIGSEGV`); `None` for other numbers and for real-time signals.
#[must_use]
pub fn signal_name(number: i32) -> Option<&'static str> {
    NAMES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_names_match_the_numbers_of_the_system() {
        let named = [libc::SIGHUP, libc::SIGSEGV, libc::SIGXCPU, libc::SIGSYS].map(signal_name);
        assert_eq!(named, ["SIGHUP", "SIGSEGV", "SIGXCPU", "SIGSYS"].map(Some));
        assert_eq!([-1, 0, 32, i32::MAX].map(signal_name), [None; 4]);
    }
}
