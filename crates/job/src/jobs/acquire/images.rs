//! The third source of processes: the images that processes of a job hold on this host. They still know the
//! ranks of a process that has ended, as long as `mpiscope run` keeps its image.

use super::{Acquired, Entry, JobKey, LastStage, ProcessLocation, WhoIs};
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::scan::{Found, Scan};
use crate::jobs::silent::Silent;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What an image tells about its process.
#[derive(Debug, Clone)]
pub struct ImageEntry {
    /// Name of the job.
    pub job: String,
    /// The user who owns the job.
    pub owner: u32,
    /// The process's pid in its own namespace, which tables contain. It differs from the host's if the
    /// process has a separate pid namespace.
    pub own_pid: u32,
    /// The process. Before `MPI_Init` returns, its world has no name.
    pub entry: Entry,
}

/// Returns all processes of all jobs that a scan of this host has found and that have called MPI, except those
/// that ended properly.
#[must_use]
pub fn of_scan(scan: &Scan) -> Vec<ImageEntry> {
    let of = |found: &Found| record(&found.job, &found.image, found.told()?.who.clone());
    scan.images().filter_map(of).collect()
}

/// Returns the processes of a job saved in an evidence file. Which world spawned another is recorded only in
/// tables of living processes.
#[must_use]
pub fn of_kept(job: &Job) -> Acquired {
    let mut found = Acquired::default();
    for image in &job.images {
        match image.about() {
            Some(about) if about.silent => {
                let place = image.untouched();
                if !job.silent.iter().any(|silent| silent.is(&place)) {
                    found.processes.push(untouched(place));
                }
            }
            _ => match image.open() {
                Ok(opened) => {
                    let key = (job.owner, job.name.clone());
                    let record = WhoIs::of(&opened).and_then(|who| record(&key, image, who));
                    found.processes.extend(record.map(|record| record.entry));
                }
                Err(why) => found.problems.push(why.to_string()),
            },
        }
    }
    found.processes.extend(job.silent.iter().map(silent));
    found.sort();
    found
}

/// Returns the entry of a rank that has not called MPI.
#[must_use]
pub fn silent(silent: &Silent) -> Entry {
    Entry {
        rank: Some(silent.rank),
        executable: silent.executable.clone(),
        ..untouched(ProcessLocation { host: silent.host.clone(), pid: silent.pid })
    }
}

/// A process that has not called MPI: only its pid is known.
fn untouched(place: ProcessLocation) -> Entry {
    Entry {
        world: String::new(),
        rank: None,
        place,
        executable: PathBuf::new(),
        spawned: None,
        gone: false,
        silent: true,
    }
}

fn record((owner, job): &JobKey, found: &JobImage, who: WhoIs) -> Option<ImageEntry> {
    let WhoIs { stage, mut entry, .. } = who;
    let own_pid = entry.place.pid;
    entry.place.pid = found.host_pid(own_pid);
    entry.gone = !found.alive(entry.place.pid);
    if stage == LastStage::Silent || (stage == LastStage::Finalized && entry.gone) {
        return None;
    }
    Some(ImageEntry { job: job.clone(), owner: *owner, own_pid, entry })
}

/// Returns what images tell about the jobs to which the known processes belong. The pid of a process that is
/// gone may have been reused: its image tells nothing about the new process.
pub fn of_jobs_with(records: Vec<ImageEntry>, known: &BTreeSet<ProcessLocation>) -> Vec<ImageEntry> {
    let jobs: BTreeSet<(u32, String)> = records
        .iter()
        .filter(|r| !r.entry.gone && known.contains(&r.entry.place))
        .map(|r| (r.owner, r.job.clone()))
        .collect();
    records.into_iter().filter(|r| jobs.contains(&(r.owner, r.job.clone()))).collect()
}
