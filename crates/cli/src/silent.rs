//! Ranks that have not called MPI, in the list of a job's processes.

use mpiscope_job::jobs::acquire::{Acquired, Entry, Hosts, ImageEntry, JobKey, SystemHosts, images};
use mpiscope_job::jobs::scan::Scan;
use mpiscope_job::jobs::silent::{Silent, job_of, ranks};
use std::collections::{BTreeMap, BTreeSet};

/// Adds the silent ranks of the named jobs, and of the jobs of the processes found, to the list. `system` has
/// scanned this host to find those.
pub fn add(found: &mut Acquired, named: &BTreeMap<JobKey, BTreeSet<String>>, system: &SystemHosts) {
    let scanned = images::of_scan(system.scan());
    let listed = found.processes.iter().filter(|entry| system.here(&entry.place.host) && !entry.gone);
    let listed: BTreeSet<u32> = listed.map(|entry| entry.place.pid).collect();
    let recorded: BTreeMap<u32, JobKey> =
        scanned.iter().map(|record| (record.entry.place.pid, (record.owner, record.job.clone()))).collect();
    let job = |pid| recorded.get(&pid).cloned().or_else(|| job_of(pid));
    let mut jobs: BTreeSet<JobKey> = listed.into_iter().filter_map(job).collect();
    jobs.extend(named.keys().cloned());
    let mut silent = of_jobs(&jobs, &scanned);
    // They may have called MPI since the scan, while other hosts were asked.
    if !silent.is_empty() {
        silent = of_jobs(&jobs, &images::of_scan(&Scan::now()));
    }
    let host = system.host();
    for one in silent {
        list(found, Silent { host: host.clone(), ..one }, |host| system.here(host));
    }
    found.sort();
}

/// Returns the ranks of these jobs on this host that have not called MPI according to `records`.
fn of_jobs(jobs: &BTreeSet<JobKey>, records: &[ImageEntry]) -> Vec<Silent> {
    let of_one = |(owner, job): &JobKey| {
        let of_job: Vec<&ImageEntry> =
            records.iter().filter(|r| r.owner == *owner && r.job == *job).collect();
        let is_it = |entry: &Entry, rank, pid| entry.rank == Some(rank) || entry.place.pid == pid;
        ranks(*owner, job, |rank, pid| of_job.iter().any(|record| is_it(&record.entry, rank, pid)))
    };
    jobs.iter().flat_map(of_one).collect()
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
