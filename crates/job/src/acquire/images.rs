//! The third source of processes: the images that processes of a job hold on this host. They know the ranks of a process that
//! is gone, as long as `mpiscope run` keeps its image.

use super::{Entry, ProcessLocation};
use crate::discover;
use mpiscope_image::layout::{Process, SectionKind, State};
use std::collections::BTreeSet;

/// What an image says about its process.
#[derive(Debug, Clone)]
pub struct ImageEntry {
    /// Name of the job.
    pub job: String,
    /// The user whose job it is.
    pub owner: u32,
    /// The process. Before `MPI_Init` has returned its world has no name yet.
    pub entry: Entry,
}

/// All processes of all jobs on this host that this user may see and that have called MPI, but for those that have ended
/// properly.
pub fn all() -> Vec<ImageEntry> {
    let jobs = discover::discover();
    jobs.iter().flat_map(|job| job.images.iter().filter_map(|found| record(job, found))).collect()
}

fn record(job: &discover::Job, found: &discover::Found) -> Option<ImageEntry> {
    let image = found.open().ok()?;
    let state = State(image.header().ok()?.state.get());
    let table = image.table::<Process>(SectionKind::PROCESS).ok()?;
    let facts = image.get::<Process>(&table, 0).ok()?.value;
    let pid = facts.pid.get();
    let alive = found.alive(pid);
    let size = facts.size.get();
    let rank = Some(facts.rank.get()).filter(|rank| *rank != u32::MAX && (size != 0 || *rank != 0));
    if state == State::UNCLAIMED || (state == State::FINALIZED && !alive) {
        return None;
    }
    Some(ImageEntry {
        job: job.name.clone(),
        owner: job.owner,
        entry: Entry {
            world: if state == State::STARTED { String::new() } else { facts.world.text().into_owned() },
            rank,
            place: ProcessLocation { host: facts.host.text().into_owned(), pid },
            executable: facts.executable.text().into_owned().into(),
            spawned: None,
            gone: !alive,
            silent: false,
        },
    })
}

/// What images say about the jobs to which the processes belong. The number of a process that is gone may be another's
/// by now: its image says nothing about that one.
pub fn of_jobs_with(records: Vec<ImageEntry>, known: &BTreeSet<ProcessLocation>) -> Vec<ImageEntry> {
    let jobs: BTreeSet<(u32, String)> = records
        .iter()
        .filter(|r| !r.entry.gone && known.contains(&r.entry.place))
        .map(|r| (r.owner, r.job.clone()))
        .collect();
    records.into_iter().filter(|r| jobs.contains(&(r.owner, r.job.clone()))).collect()
}
