//! Ranks of the job on this host that have not called MPI: nothing of theirs is recorded, so they are found by the environment
//! that the launcher and `mpiscope run` gave them.

use super::Report;
use crate::run::start_form;
use mpiscope_job::discover::Job;
use mpiscope_job::rank_status::RankStatus;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Adds a row for each, and counts those no more that have one.
pub fn add(report: &mut Report, job: &Job) {
    let known: HashSet<Option<u32>> = report.ranks.iter().map(|rank| rank.rank).collect();
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in processes(job.owner) {
        match rank_in(job, pid) {
            Some(rank) if !known.contains(&Some(rank)) => found.entry(rank).or_default().push(pid),
            _ => {}
        }
    }
    // All of them are in one world, as far as anybody knows.
    let world = report.ranks.first().map(|rank| rank.world.clone()).unwrap_or_default();
    let host = report.ranks.first().map(|rank| rank.host.clone()).unwrap_or_default();
    for (rank, pids) in found {
        let Some(pid) = innermost(&pids) else { continue };
        report.silent = report.silent.saturating_sub(1);
        let status = RankStatus::silent(pid, Some(rank), host.clone());
        report.ranks.push(RankStatus { world: world.clone(), ..status });
    }
}

/// Processes of a user.
fn processes(owner: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let of_user = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|about| about.uid() == owner);
    let entries = entries.flatten().filter(of_user);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The rank that a process of the job was started as. Only one that the layer is in counts.
fn rank_in(job: &Job, pid: u32) -> Option<u32> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment: HashMap<&[u8], &[u8]> = bytes
        .split(|byte| *byte == 0)
        .filter_map(|word| {
            let equals = word.iter().position(|byte| *byte == b'=')?;
            Some((word.get(..equals)?, word.get(equals + 1..)?))
        })
        .collect();
    if environment.get(&b"MPISCOPE_JOB"[..]) != Some(&job.name.as_bytes()) {
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
