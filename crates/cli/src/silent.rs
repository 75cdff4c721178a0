//! Ranks that have not called MPI, in the list of a job's processes.

use mpiscope_job::jobs::acquire::{Acquired, Entry, ImageEntry, JobKey, images};
use mpiscope_job::jobs::silent::{Silent, job_of, ranks};
use std::collections::{BTreeMap, BTreeSet};

/// Adds the silent ranks of the named jobs, and of the jobs of the processes found, to the list. `host` is
/// the name of this host.
pub fn add(
    found: &mut Acquired,
    named: &BTreeMap<JobKey, BTreeSet<String>>,
    host: &str,
    here: impl Fn(&str) -> bool,
) {
    let listed = found.processes.iter().filter(|entry| here(&entry.place.host) && !entry.gone);
    let listed: BTreeSet<u32> = listed.map(|entry| entry.place.pid).collect();
    let mut jobs: BTreeSet<JobKey> = listed.into_iter().filter_map(job_of).collect();
    jobs.extend(named.keys().cloned());
    if jobs.is_empty() {
        return;
    }
    let records = images::all();
    for (owner, job) in jobs {
        let of_job: Vec<&ImageEntry> = records.iter().filter(|r| r.owner == owner && r.job == job).collect();
        let is_it = |entry: &Entry, rank, pid| entry.rank == Some(rank) || entry.place.pid == pid;
        let has_called = |rank, pid| of_job.iter().any(|record| is_it(&record.entry, rank, pid));
        for silent in ranks(owner, &job, has_called) {
            list(found, Silent { host: host.to_owned(), ..silent }, &here);
        }
    }
    found.sort();
}

/// Adds a silent rank. A launcher's table may already list it, but does not know that it is silent.
fn list(found: &mut Acquired, silent: Silent, here: impl Fn(&str) -> bool) {
    let same = |entry: &&mut Entry| entry.place.pid == silent.pid && here(&entry.place.host);
    if let Some(entry) = found.processes.iter_mut().find(same) {
        entry.silent = true;
        return;
    }
    found.processes.push(images::silent(&silent));
}
