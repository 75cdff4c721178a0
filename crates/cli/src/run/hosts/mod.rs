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
mod launcher_options;
mod message;
mod sealed;
pub mod shared;
pub mod uplink;
pub mod wrapped;

use mpiscope_job::evidence::Evidence;
use std::time::Duration;

/// Where a host finds the process that reports: `PORT ADDRESS…`.
pub const PLACE: &str = "MPISCOPE_UPLINK";
/// What both sides know, and nobody else: 64 hexadecimal digits.
pub const SECRET: &str = "MPISCOPE_SECRET";

/// What is said of a host that was there and does not answer any more.
const SILENT: &str = "it did not answer";

/// What came from a host.
pub struct FromHost {
    /// Its name.
    pub host: String,
    /// The ranks that its wrappers stand for.
    pub ranks: Vec<u32>,
    /// What the clock of this host is ahead of its own, and how wrong that may be.
    pub clock: Option<Offset>,
    /// What it knows, or why that is not there.
    pub evidence: Result<Evidence, String>,
}

/// How far one clock is ahead of another, from a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Offset {
    /// Nanoseconds, of `CLOCK_MONOTONIC`.
    pub later_ns: i64,
    /// Half of the time of the round trip: the error is no greater.
    pub error_ns: u64,
}

impl Offset {
    /// A question sent at `sent`, answered with the time `theirs`, heard at `heard`; sent and heard by our clock.
    pub fn of(sent: u64, theirs: u64, heard: u64) -> Self {
        let half = heard.saturating_sub(sent) / 2;
        let middle = sent.saturating_add(half);
        Self { later_ns: (i128::from(middle) - i128::from(theirs)) as i64, error_ns: half + 1 }
    }

    /// The better of two.
    pub fn better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns { other } else { self }
    }
}

/// How long a host may take for what it has to say: `MPISCOPE_HOST_SECONDS`.
pub fn patience() -> Duration {
    mpiscope_job::acquire::host_limit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_clock_is_within_half_a_round_trip_of_the_truth() {
        // Their clock is 1000 behind; the way there takes 10, the way back 30.
        let offset = Offset::of(5000, 5010 - 1000, 5040);
        assert_eq!(offset.later_ns, 1010);
        assert!(offset.later_ns.abs_diff(1000) <= offset.error_ns);
        let (behind, ahead) = (Offset::of(0, u64::MAX / 4, 2), Offset::of(u64::MAX / 4, 0, u64::MAX / 4 + 2));
        assert!(behind.later_ns < 0 && ahead.later_ns > 0);
        let (good, bad) = (Offset { later_ns: 1, error_ns: 1 }, Offset { later_ns: 9, error_ns: 9 });
        assert_eq!((good.better(bad), bad.better(good)), (good, good));
    }
}
