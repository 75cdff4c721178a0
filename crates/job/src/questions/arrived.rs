//! Messages that other processes have sent to a process and that it has not yet asked for, which debuggers
//! call its unexpected messages. The process itself does not know about them; the senders do.
//!
//! Messages are paired as in [`why`] and [`queues`](super::queues), from one snapshot of the process's job on
//! this host.

use super::live;
use super::why::{self, Arrivals};
use crate::jobs::discover::discover;
use crate::model::locate::NoSymbols;
use crate::model::process::Process;
use crate::observation::Observation;

/// Returns the messages sent to a process, as far as the rest of its job can be read on this host; `None` if
/// it is not running here or has made progress since `process` was read.
#[must_use]
pub fn arrived(process: &Process) -> Option<Arrivals> {
    let jobs = discover().into_iter().filter(|job| job.name == process.job);
    jobs.map(|job| live::look(&job, &NoSymbols).observations)
        .find_map(|observations| why::arrived(&observations, |seen| is_of(seen, process)))
}

/// Whether the observation is of this process at the moment `process` was read: a core file may belong to a
/// process that is still running.
fn is_of(seen: &Observation, process: &Process) -> bool {
    let calls = seen.threads.iter().map(|thread| thread.calls.saturating_add(thread.polls));
    let same_moment = calls.sum::<u64>() == process.threads.iter().map(|thread| thread.calls).sum::<u64>();
    (seen.pid, seen.rank, seen.world.as_str()) == (process.pid, process.rank, process.world.as_str())
        && same_moment
}
