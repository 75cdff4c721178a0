//! Ranks that have not called MPI, in the list of a job's processes.

use mpiscope_job::acquire::{Acquired, Entry, ImageEntry, images};
use mpiscope_job::silent::{Silent, environment, ranks};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Adds those of the jobs of the processes that were found, and of the named ones, to the list. Processes of `host` are those of
/// this host.
pub fn add(found: &mut Acquired, named: &[u32], host: &str, here: impl Fn(&str) -> bool) {
    let listed = found.processes.iter().filter(|entry| here(&entry.place.host) && !entry.gone);
    let pids: BTreeSet<u32> = named.iter().copied().chain(listed.map(|entry| entry.place.pid)).collect();
    let jobs: BTreeSet<(u32, String)> = pids.into_iter().filter_map(job_of).collect();
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

/// Processes that have called MPI and are of the jobs that these are of; nothing if one of these was not started under `mpiscope
/// run`.
pub fn others(named: &[u32]) -> Option<Vec<u32>> {
    let jobs: BTreeSet<(u32, String)> = named.iter().map(|pid| job_of(*pid)).collect::<Option<_>>()?;
    if jobs.is_empty() {
        return None;
    }
    let records = images::all().into_iter().filter(|record| !record.entry.gone);
    let of_job = records.filter(|record| jobs.contains(&(record.owner, record.job.clone())));
    Some(of_job.map(|record| record.entry.place.pid).collect())
}

/// A launcher's table may have it already, which does not know that it is silent.
fn list(found: &mut Acquired, silent: Silent, here: impl Fn(&str) -> bool) {
    let same = |entry: &&mut Entry| entry.place.pid == silent.pid && here(&entry.place.host);
    if let Some(entry) = found.processes.iter_mut().find(same) {
        entry.silent = true;
        return;
    }
    found.processes.push(images::silent(&silent));
}

/// The user and the job that a process was started in under `mpiscope run`.
fn job_of(pid: u32) -> Option<(u32, String)> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let environment = environment(pid)?;
    Some((owner, String::from_utf8_lossy(environment.get(&b"MPISCOPE_JOB"[..])?).into_owned()))
}
