//! Merges the data of hosts into the report and the evidence file.

use super::{Earlier, FromHost};
use crate::render::duration;
use mpiscope_job::base::clock::Moment;
use mpiscope_job::base::clock_offset::{HostClock, Offset};
use mpiscope_job::base::parallel;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::evidence::Evidence;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::live_process::Reader;
use mpiscope_job::performance::monitor::Followed;
use mpiscope_job::performance::report::{Observed, of_job};
use mpiscope_job::{JobReport, RankSet};
use std::path::Path;

/// Returns the processes of other hosts, and the problems in reading them.
pub fn observed(others: &[FromHost]) -> (Vec<Observed>, Vec<String>) {
    let hosts = parallel::work(others, of_host);
    let (processes, problems): (Vec<_>, Vec<_>) = hosts.into_iter().unzip();
    (processes.into_iter().flatten().collect(), problems.concat())
}

fn of_host(other: &FromHost) -> (Vec<Observed>, Vec<String>) {
    let evidence = match &other.evidence {
        Ok(evidence) => evidence,
        Err(why) => return (Vec::new(), vec![lost(other, why)]),
    };
    let (mut processes, mut problems, reader) = (Vec::new(), Vec::new(), Reader::default());
    for image in &evidence.job.images {
        match of_job::of_kept(image, &reader, other.clock.as_ref()) {
            Ok(one) if one.process.called_mpi() => processes.push(one),
            // Its image is untouched and does not name its host.
            Ok(mut one) => {
                let name = evidence.manifest.host.as_ref().map_or(&other.host, |host| &host.name);
                one.process.host.clone_from(name);
                processes.push(one);
            }
            Err(why) => problems.push(format!("{}: {why}", other.host)),
        }
    }
    for one in &mut processes {
        one.end_unseen = other.is_snapshot && one.ended_ns.is_none();
    }
    problems.extend(evidence.manifest.not_seen.iter().map(|why| format!("{}: {why}", other.host)));
    (processes, problems)
}

/// Merges what all hosts saw of their ranks while these ran. Also returns a note on the hosts for which that
/// is missing.
pub fn followed(here: Option<Followed>, others: &[FromHost]) -> (Option<Followed>, Option<String>) {
    let (mut all, mut unseen) = (here, Vec::new());
    for other in others {
        let Ok(evidence) = &other.evidence else { continue };
        match evidence.followed() {
            // A host whose clock could not be queried is assumed to have the same time of day.
            Ok(Some(seen)) => {
                let clock = other.clock.or_else(|| of_day(evidence));
                all.get_or_insert_default().take_in(seen, clock.as_ref());
            }
            Ok(None) => unseen.push(other.host.clone()),
            Err(why) => unseen.push(format!("{} ({why})", other.host)),
        }
    }
    let why = || format!("the windows of the run do not include the ranks of {}", unseen.join(", "));
    (all, (!unseen.is_empty()).then(why))
}

/// Estimates the offset of a host's clock from its wall-clock time.
fn of_day(evidence: &Evidence) -> Option<HostClock> {
    let theirs = evidence.job.images.iter().find_map(|image| image.about())?.moment;
    let boot = |moment: Moment| i128::from(moment.unix_ns) - i128::from(moment.monotonic_ns);
    let later_ns = (boot(theirs) - boot(Moment::now())) as i64;
    Some(HostClock::new(theirs.monotonic_ns, Offset { later_ns, error_ns: u64::MAX }))
}

/// Records in the report how far the clocks of hosts are from ours.
pub fn clocks(report: &mut JobReport, others: &[FromHost]) {
    for other in others {
        let (Some(clock), Ok(evidence)) = (&other.clock, &other.evidence) else { continue };
        let Some(name) = evidence.manifest.host.as_ref().map(|host| &host.name) else { continue };
        let end =
            evidence.job.images.iter().filter_map(|image| Some(image.about()?.moment.monotonic_ns)).max();
        for host in report.hosts.iter_mut().filter(|host| host.host == *name) {
            host.clock_later_s = end.map(|end| clock.later_ns(end) as f64 / 1e9);
            host.clock_error_s = Some(clock.error_ns() as f64 / 1e9);
        }
    }
}

/// Removes which rank ended first if that compares times of hosts whose clocks are unknown. Without other hosts,
/// or with only one rank that ended by itself, nothing is compared.
pub fn order(report: &mut JobReport) {
    let unknown = report.hosts.iter().filter(|host| host.clock_error_s.is_none()).count();
    // The clock of the reporting host is ours.
    report.first_end = report.first_end.filter(|first| first.before_s.is_none() || unknown < 2);
}

/// Makes the sentence for a missing host and its ranks.
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

/// Replaces evidence that never came by earlier snapshots. Returns a note on each of these hosts.
pub fn earlier(others: &mut [FromHost]) -> Vec<String> {
    let of_one = |other: &mut FromHost| {
        let Earlier { evidence, before } = other.earlier.take()?;
        let why = std::mem::replace(&mut other.evidence, Ok(evidence)).err()?;
        other.is_snapshot = true;
        let why =
            if why == super::SILENT { "did not answer" } else { &format!("sent nothing at its end ({why})") };
        let ranks: RankSet = other.ranks.iter().copied().collect();
        let ranks = if ranks.0.is_empty() { "its ranks".to_owned() } else { ranks.named() };
        let (host, before) = (&other.host, duration(before.as_secs_f64()));
        Some(format!(
            "host {host} {why}: what is shown of {ranks} was seen {before} before its last sign of life"
        ))
    };
    others.iter_mut().filter_map(of_one).collect()
}

/// Makes the note on parts that came through the folder.
pub fn through(parts: &[FromHost], folder: &Path) -> Option<String> {
    let hosts = match parts.len() {
        0 => return None,
        1 => "the part of another host".to_owned(),
        n => format!("the parts of {n} other hosts"),
    };
    Some(format!("{hosts} came through {}", folder.display()))
}

/// Adds parts that came through the folder. A host that fell silent may have used the folder; then it is not
/// lost.
pub fn add(others: &mut Vec<FromHost>, parts: Vec<FromHost>) {
    let came: Vec<&FromHost> = parts.iter().filter(|part| part.evidence.is_ok()).collect();
    others.retain(|other| other.evidence.is_ok() || !came.iter().any(|part| part.host == other.host));
    others.extend(parts);
}

/// Makes the note on ranks of the first world that no host has sent, excluding those already reported.
pub fn missing(report: &JobReport, others: &[FromHost]) -> Option<String> {
    let world = report.worlds.first()?;
    let lost = |rank: &u32| others.iter().any(|other| other.evidence.is_err() && other.ranks.contains(rank));
    let silent = |rank: &u32| report.silent.iter().any(|silent| silent.rank == Some(*rank));
    let unseen = |rank: &u32| !world.ranks.0.contains(rank) && !lost(rank) && !silent(rank);
    let ranks: RankSet = (0..world.size).filter(unseen).collect();
    (!ranks.0.is_empty()).then(|| format!("ranks {ranks} missing: no host has sent them"))
}

/// Adds what hosts saw when asked to look while their ranks run.
pub fn elsewhere(job: &mut Job, parts: Vec<FromHost>) -> Elsewhere {
    let mut all = Elsewhere::default();
    for part in parts {
        match part.evidence {
            Ok(Evidence { manifest, job: there, .. }) => {
                job.owner = there.owner;
                job.take_in(there, |_| true);
                all.before.extend(manifest.before);
                all.not_seen.extend(manifest.not_seen.iter().map(|why| format!("{}: {why}", part.host)));
            }
            Err(ref why) => all.not_seen.push(lost(&part, why)),
        }
    }
    all
}

/// Merges the parts of a job: `here`, if present, and those of other hosts.
pub fn job(name: &str, here: Option<Job>, others: &[FromHost]) -> Job {
    let mut job = here.unwrap_or_else(|| Job { name: name.to_owned(), ..Job::default() });
    for evidence in others.iter().filter_map(|other| other.evidence.as_ref().ok()) {
        job.owner = evidence.job.owner;
        job.take_in(evidence.job.part(), |_| true);
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::Members;
    use mpiscope_job::performance::report::{FirstEnd, HostReport};

    #[test]
    fn which_rank_ended_first_is_not_said_across_unknown_clocks() {
        let host = |name: &str, clock_error_s: Option<f64>| HostReport {
            host: name.to_owned(),
            ranks: Members::default(),
            clock_later_s: clock_error_s.map(|_| 1000.0),
            clock_error_s,
        };
        let said = |hosts: Vec<HostReport>, before_s| {
            let first_end = Some(FirstEnd { rank: Some(0), world_number: 0, before_s });
            let mut report = JobReport { hosts, first_end, ..JobReport::default() };
            order(&mut report);
            report.first_end.is_some()
        };
        assert!(said(vec![host("n1", None)], Some(2.0)));
        assert!(said(vec![host("n1", None), host("n2", Some(0.1))], Some(2.0)));
        assert!(!said(vec![host("n1", None), host("n2", None)], Some(1000.0)));
        assert!(said(vec![host("n1", None), host("n2", None)], None), "the only one that ended by itself");
    }
}
