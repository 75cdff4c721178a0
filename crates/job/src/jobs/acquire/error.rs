//! Why processes cannot be acquired.

use crate::base::refusal::Refusal;
use std::path::PathBuf;

/// Each message ends with the next thing to try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process cannot be read.
    #[error(transparent)]
    Target(#[from] mpiscope_target::Error),
    /// The process has the symbol, but not the block that the document specifies.
    #[error("process {pid}: {what} at {address:#x}; was it written by another version of the interface?")]
    #[allow(missing_docs)]
    Block { pid: u32, address: u64, what: String },
    /// An inconsistent table; reading it again did not help.
    #[error(
        "process {pid}: {what}; the tables are damaged, or the process is changing them right now: try again"
    )]
    #[allow(missing_docs)]
    Table { pid: u32, what: String },
    /// No source knows the process.
    #[error(
        "process {pid} ({}) does not belong to any MPI job that can be found: neither it nor a descendant has an \
         MPI2DD_info with tables, a filled MPIR_proctable or an image. Start the job with `mpiscope run mpirun ...`",
        name.display()
    )]
    #[allow(missing_docs)]
    Nothing { pid: u32, name: PathBuf },
    /// Another host could not be reached.
    #[error(
        "host {host}: {why}; can you log in there without a password (`{trial}`)? Set MPISCOPE_SSH to use another command"
    )]
    #[allow(missing_docs)]
    Unreached { host: String, why: String, trial: String },
    /// Another host was asked, but its answer cannot be used.
    #[error("host {host}: {why}")]
    #[allow(missing_docs)]
    Remote { host: String, why: String },
    /// Another host was asked and has no answer.
    #[error("host {host}: {refusal}")]
    #[allow(missing_docs)]
    Refused { host: String, refusal: Refusal },
    /// Another host did not answer in time.
    #[error("host {host} did not answer within {seconds} s")]
    #[allow(missing_docs)]
    TimedOut { host: String, seconds: f64 },
    /// A table or an answer contains an invalid host name.
    #[error(
        "{host:?} is not a valid host name, so that host was not asked: run `mpiscope procs --here` there"
    )]
    #[allow(missing_docs)]
    HostName { host: String },
}
