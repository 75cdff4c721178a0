//! What hosts sent, as parts of the report and of the evidence file.

use super::FromHost;
use mpiscope_job::discover::Job;
use mpiscope_job::living::Reader;
use mpiscope_job::report::{Observed, of_job};
use mpiscope_job::{JobReport, RankSet};
use std::path::Path;

/// The processes of other hosts, and what could not be had.
pub fn observed(others: &[FromHost]) -> (Vec<Observed>, Vec<String>) {
    let (mut processes, mut problems) = (Vec::new(), Vec::new());
    let reader = Reader::default();
    for other in others {
        let later = other.clock.map_or(0, |clock| clock.later_ns);
        match &other.evidence {
            Ok(evidence) => {
                for image in &evidence.job.images {
                    match of_job::of_kept(image, &reader, later) {
                        Ok(one) => processes.push(one),
                        Err(why) => problems.push(format!("{}: {why}", other.host)),
                    }
                }
                let there = evidence.manifest.not_seen.iter();
                problems.extend(there.map(|why| format!("{}: {why}", other.host)));
            }
            Err(why) => problems.push(lost(other, why)),
        }
    }
    (processes, problems)
}

/// A host that is missing, with its ranks.
fn lost(other: &FromHost, why: &str) -> String {
    let ranks: RankSet = other.ranks.iter().copied().collect();
    let host = &other.host;
    let why =
        if why == super::SILENT { "did not answer".to_owned() } else { format!("sent nothing ({why})") };
    match other.ranks.len() {
        0 => format!("host {host} {why}: its ranks are missing"),
        1 => format!("host {host} {why}: rank {ranks} missing"),
        _ => format!("host {host} {why}: ranks {ranks} missing"),
    }
}

/// By which way parts came that came through no connection.
pub fn through(parts: &[FromHost], folder: &Path) -> Option<String> {
    let hosts = match parts.len() {
        0 => return None,
        1 => "the part of another host".to_owned(),
        n => format!("the parts of {n} other hosts"),
    };
    Some(format!("{hosts} came through {}", folder.display()))
}

/// The ranks of the first world that no host has sent, if that is not said already.
pub fn missing(report: &JobReport, others: &[FromHost]) -> Option<String> {
    let world = report.worlds.first()?;
    let lost = |rank: &u32| others.iter().any(|other| other.evidence.is_err() && other.ranks.contains(rank));
    let silent = |rank: &u32| report.silent.iter().any(|silent| silent.rank == Some(*rank));
    let unseen = |rank: &u32| !world.ranks.0.contains(rank) && !lost(rank) && !silent(rank);
    let ranks: RankSet = (0..world.size).filter(unseen).collect();
    (!ranks.0.is_empty()).then(|| format!("ranks {ranks} missing: nobody has sent them"))
}

/// All of the job as one: `here`, if there is something, and the parts of others.
pub fn job(name: &str, here: Option<Job>, others: Vec<FromHost>) -> Job {
    let mut job = here.unwrap_or_else(|| Job { name: name.to_owned(), ..Job::default() });
    for evidence in others.into_iter().filter_map(|other| other.evidence.ok()) {
        job.owner = evidence.job.owner;
        job.take_in(evidence.job, |_| true);
    }
    job
}
