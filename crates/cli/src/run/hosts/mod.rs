//! One report of a job on many hosts.
//!
//! ```text
//! mpiscope run srun ./app ──► srun ──► n1: mpiscope run ./app ─┬─ collector of n1 ─┐  evidence file of the host,
//!       ▲ gather                   └─► n2: mpiscope run ./app ─┴─ collector of n2 ─┤  over TCP, sealed
//!       └──────────────────────────────────────────────────────────────────────────┘
//!
//! srun mpiscope run ./app:  the collectors put their files into a shared folder; the one on rank 0's host reports
//! ```
//!
//! * [`wrapped`]: the launcher's command with `mpiscope run` before the program;
//! * [`sealed`]: a connection that requires the job's secret to make and to read; [`message`]: the messages
//!   on it;
//! * [`gather`]: the reporting side; [`uplink`]: the host's side;
//! * [`shared`]: the same through a folder;
//! * [`meetings`]: how processes of the job on different hosts find each other when they spawn or connect;
//!   [`relay`]: how a host's processes take part.

pub mod gather;
pub mod join;
pub mod meetings;
mod message;
pub mod relay;
mod sealed;
pub mod shared;
pub mod uplink;
pub mod wrapped;

use mpiscope_job::base::clock_offset::HostClock;
use mpiscope_job::jobs::evidence::Evidence;
use std::time::Duration;

/// Where a host finds the reporting process: `PORT ADDRESS…`.
pub const PLACE: &str = "MPISCOPE_UPLINK";
/// The secret shared by both sides: 64 hexadecimal digits.
pub const SECRET: &str = "MPISCOPE_SECRET";

/// The command by which the layer starts a collector when a world is spawned on a host without ranks of the
/// first world.
pub const COMPANION: &str = "MPISCOPE_COMPANION";

/// The message for a host that was connected and no longer answers.
const SILENT: &str = "it did not answer";

/// The data received from a host.
pub struct FromHost {
    pub host: String,
    /// The ranks of its wrappers.
    pub ranks: Vec<u32>,
    /// The offset of its clock from ours, if it could be queried.
    pub clock: Option<HostClock>,
    /// Its evidence, or the reason why there is none.
    pub evidence: Result<Evidence, String>,
    /// A snapshot of its ranks, if there is no evidence.
    pub earlier: Option<Earlier>,
    /// Whether the evidence is that snapshot.
    pub is_snapshot: bool,
}

/// A snapshot of a host's ranks while they ran.
pub struct Earlier {
    pub evidence: Evidence,
    /// How long before the last sign of life of the host it arrived.
    pub before: Duration,
}

/// Returns how long a host may take to deliver its data: `MPISCOPE_HOST_SECONDS`.
pub fn patience() -> Duration {
    mpiscope_job::jobs::acquire::host_limit()
}
