//! Errors of inspecting a program, worded for the user.

use std::io;
use std::path::{Path, PathBuf};

/// The result of reading a target.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be read. Each message ends with the next thing to try, if there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such process, or it has ended.
    #[error(
        "no process {pid}: it has ended, runs on another host or in another PID namespace; \
         list processes with `ps -e`, or give its core file instead"
    )]
    NoProcess {
        /// The requested process.
        pid: u32,
    },
    /// The kernel does not permit reading the memory of the process.
    #[error("no permission to read process {pid}: {advice}")]
    Permission {
        /// The requested process.
        pid: u32,
        /// The rule that forbids it and what to do.
        advice: String,
    },
    /// No memory is mapped at the address, or it is not in the core file.
    #[error("{len} bytes at {address:#x} cannot be read: {why}")]
    Unreadable {
        /// First address of the read, in the target.
        address: u64,
        /// Length of the read in bytes.
        len: usize,
        /// The reason.
        why: &'static str,
    },
    /// A string is not terminated within the limit.
    #[error(
        "string at {address:#x} is not terminated within {limit} bytes: is this the address of a string?"
    )]
    Unterminated {
        /// Where the string starts, in the target.
        address: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A length exceeds what a sane program has.
    #[error(
        "refusing to read {len} bytes at {address:#x}: the limit is {limit}; the data is probably damaged"
    )]
    TooLong {
        /// First address, in the target.
        address: u64,
        /// The requested length in bytes.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file could not be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is not an ELF file that can be parsed.
    #[error("{}: {reason}", path.display())]
    Elf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is ELF but not a core file.
    #[error(
        "{} is {kind}, not a core file: give the core file that the system wrote when the program died, or start the \
         program with `mpiscope run`",
        path.display()
    )]
    NotCore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        kind: &'static str,
    },
    /// The debugger that provides the bytes reported a failure.
    #[error("the debugger could not fetch {len} bytes at {address:#x}")]
    Fetch {
        /// First address, in the target.
        address: u64,
        /// Length in bytes.
        len: usize,
    },
    /// The debugger reported a pointer size that no machine has.
    #[error("the debugger reports a pointer size of {0} bytes; only 4 and 8 are supported")]
    Width(usize),
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    pub(crate) fn elf(path: &Path, reason: impl ToString) -> Self {
        Self::Elf { path: path.to_path_buf(), reason: reason.to_string() }
    }

    /// Whether only this read failed (bad address), so that other reads of the same target may
    /// succeed.
    pub fn is_bad_address(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Fetch { .. })
    }
}
