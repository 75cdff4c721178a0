//! One report of a job on many hosts.
//!
//! ```text
//! mpiscope run srun ./app ──► srun ──► n1: mpiscope run ./app ─┬─ collector of n1 ─┐  evidence file of the host,
//!       ▲ gather                   └─► n2: mpiscope run ./app ─┴─ collector of n2 ─┤  over TCP, sealed
//!       └──────────────────────────────────────────────────────────────────────────┘
//!
//! srun mpiscope run ./app:  the collectors put their files into a folder that the hosts share; the one of rank 0's host
//!                           reports
//! ```
//!
//! * [`wrapped`]: the launcher's command with `mpiscope run` before the program;
//! * [`sealed`]: a connection that only those can make and read who know the job's secret; [`message`]: what is said on it;
//! * [`gather`]: the side that reports, [`uplink`]: the side of a host;
//! * [`shared`]: the same through a folder.

pub mod gather;
pub mod join;
mod message;
mod sealed;
pub mod shared;
pub mod uplink;
pub mod wrapped;

use mpiscope_job::base::clock_offset::HostClock;
use mpiscope_job::jobs::evidence::Evidence;
use std::time::Duration;

/// Where a host finds the process that reports: `PORT ADDRESS…`.
pub const PLACE: &str = "MPISCOPE_UPLINK";
/// What both sides know, and nobody else: 64 hexadecimal digits.
pub const SECRET: &str = "MPISCOPE_SECRET";

/// How the layer starts a collector where a world is spawned to a host without ranks of the first one.
pub const COMPANION: &str = "MPISCOPE_COMPANION";

/// What is said of a host that was there and does not answer any more.
const SILENT: &str = "it did not answer";

/// What came from a host.
pub struct FromHost {
    /// Its name.
    pub host: String,
    /// The ranks that its wrappers stand for.
    pub ranks: Vec<u32>,
    /// How far its clock is from ours, if it could be asked.
    pub clock: Option<HostClock>,
    /// What it knows, or why that is not there.
    pub evidence: Result<Evidence, String>,
}

/// How long a host may take for what it has to say: `MPISCOPE_HOST_SECONDS`.
pub fn patience() -> Duration {
    mpiscope_job::jobs::acquire::host_limit()
}
