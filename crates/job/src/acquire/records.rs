//! The third source: the images that processes of a job hold on this host. They know the ranks of a process that
//! is gone, as long as `mpiscope run` keeps its image.

use super::{Entry, Place};
use crate::discover;
use mpiscope_image::layout::{Process, SectionKind, State};
use std::collections::BTreeSet;

/// What an image says about its process.
#[derive(Debug, Clone)]
pub struct Record {
    /// Name of the job.
    pub job: String,
    /// The process. Before `MPI_Init` has returned its world has no name yet.
    pub entry: Entry,
}

/// All processes of all jobs of this user on this host that have called MPI, but for those that have ended
/// properly.
pub fn all() -> Vec<Record> {
    let jobs = discover::discover();
    jobs.iter().flat_map(|job| job.images.iter().filter_map(|found| record(&job.name, found))).collect()
}

fn record(job: &str, found: &discover::Found) -> Option<Record> {
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
    Some(Record {
        job: job.to_owned(),
        entry: Entry {
            world: if state == State::STARTED { String::new() } else { facts.world.text().into_owned() },
            rank,
            place: Place { host: facts.host.text().into_owned(), pid },
            executable: facts.executable.text().into_owned().into(),
            spawned: None,
            gone: !alive,
        },
    })
}

/// What images say about the jobs to which the processes belong. The number of a process that is gone may be another's
/// by now: its image says nothing about that one.
pub fn of_jobs_with(records: Vec<Record>, known: &BTreeSet<Place>) -> Vec<Record> {
    let jobs: BTreeSet<String> = records
        .iter()
        .filter(|r| !r.entry.gone && known.contains(&r.entry.place))
        .map(|r| r.job.clone())
        .collect();
    records.into_iter().filter(|r| jobs.contains(&r.job)).collect()
}
