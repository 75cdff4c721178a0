//! Messages that others have sent to one process and that it has not asked for: what its debugger calls its unexpected
//! messages. A process cannot say; those who sent them can.
//!
//! The pairing is that of [`why`] and [`queues`](super::queues), of one look at the process's job on this host.

use super::live;
use super::why::{self, Arrivals};
use crate::jobs::discover::discover;
use crate::model::locate::NoSymbols;
use crate::model::process::Process;
use crate::observation::Observation;

/// What has been sent to a process, as far as the others of its job can be read on this host; `None` if it is not running
/// here, or has gone on since `process` was read.
#[must_use]
pub fn arrived(process: &Process) -> Option<Arrivals> {
    let jobs = discover().into_iter().filter(|job| job.name == process.job);
    jobs.map(|job| live::look(&job, &NoSymbols).observations)
        .find_map(|observations| why::arrived(&observations, |seen| is_of(seen, process)))
}

/// Whether somebody observed the process at the moment at which it was read: a core file may be of a process that still runs.
fn is_of(seen: &Observation, process: &Process) -> bool {
    let calls = seen.threads.iter().map(|thread| thread.calls.saturating_add(thread.polls));
    let same_moment = calls.sum::<u64>() == process.threads.iter().map(|thread| thread.calls).sum::<u64>();
    (seen.pid, seen.rank, seen.world.as_str()) == (process.pid, process.rank, process.world.as_str())
        && same_moment
}
