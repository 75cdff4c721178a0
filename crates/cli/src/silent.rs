//! Ranks of a job on this host that have not called MPI: nothing of theirs is recorded, so they are found by the environment
//! that the launcher and `mpiscope run` gave them.

use crate::run::start_form;
use mpiscope_job::acquire::{Acquired, Entry, ImageEntry, ProcessLocation, images};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A rank, as the launcher numbers it, and its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    /// Its rank.
    pub rank: u32,
    /// The process.
    pub pid: u32,
}

/// The ranks of a user's job that have not called MPI. `has_called` says of a rank, with one of its processes, whether it has.
pub fn ranks(owner: u32, job: &str, has_called: impl Fn(u32, u32) -> bool) -> Vec<Silent> {
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in processes(owner) {
        if let Some(rank) = rank_in(job, pid) {
            found.entry(rank).or_default().push(pid);
        }
    }
    found.retain(|rank, pids| !pids.iter().any(|pid| has_called(*rank, *pid)));
    found.iter().filter_map(|(rank, pids)| Some(Silent { rank: *rank, pid: innermost(pids)? })).collect()
}

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
            list(found, silent, host, &here);
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
fn list(found: &mut Acquired, silent: Silent, host: &str, here: impl Fn(&str) -> bool) {
    let same = |entry: &&mut Entry| entry.place.pid == silent.pid && here(&entry.place.host);
    if let Some(entry) = found.processes.iter_mut().find(same) {
        entry.silent = true;
        return;
    }
    found.processes.push(Entry {
        world: String::new(),
        rank: Some(silent.rank),
        place: ProcessLocation { host: host.to_owned(), pid: silent.pid },
        executable: fs::read_link(format!("/proc/{}/exe", silent.pid)).unwrap_or_default(),
        spawned: None,
        gone: false,
        silent: true,
    });
}

/// The user and the job that a process was started in under `mpiscope run`.
fn job_of(pid: u32) -> Option<(u32, String)> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let environment = environment(pid)?;
    Some((owner, String::from_utf8_lossy(environment.get(&b"MPISCOPE_JOB"[..])?).into_owned()))
}

/// Processes of a user.
fn processes(owner: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let of_user = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|about| about.uid() == owner);
    let entries = entries.flatten().filter(of_user);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn environment(pid: u32) -> Option<HashMap<Vec<u8>, Vec<u8>>> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let words = bytes.split(|byte| *byte == 0).filter_map(|word| {
        let equals = word.iter().position(|byte| *byte == b'=')?;
        Some((word.get(..equals)?.to_vec(), word.get(equals + 1..)?.to_vec()))
    });
    Some(words.collect())
}

/// The rank that a process of the job was started as. Only one that the layer is in counts.
fn rank_in(job: &str, pid: u32) -> Option<u32> {
    let environment = environment(pid)?;
    if environment.get(&b"MPISCOPE_JOB"[..])? != job.as_bytes() {
        return None;
    }
    let get = |name: &str| Some(String::from_utf8_lossy(environment.get(name.as_bytes())?).into_owned());
    let rank = start_form::place(get)?.rank?;
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    let layer = b"libmpiscope.so";
    maps.windows(layer.len()).any(|window| window == layer).then_some(rank)
}

/// Of a shell and the program that it started, both of which have the rank's environment, the program.
fn innermost(pids: &[u32]) -> Option<u32> {
    let parents: HashSet<u32> = pids.iter().filter_map(|pid| parent(*pid)).collect();
    pids.iter().copied().rfind(|pid| !parents.contains(pid))
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}
