//! Collects the ranks of a job on other hosts: each host saves what it knows of the job as an evidence file
//! and sends it.
//!
//! ```text
//! tables of the ranks here ──► hosts and process ids ──► `mpiscope save --here PID -` on each, side by side
//!                                                                 │ one round trip, a limit of time
//!                              Job with images of all hosts ◄─────┘
//! ```
//!
//! The answers are read by the code that reads evidence files, so every view of a job covers all its hosts.
//! If a host does not answer in time, only its own ranks are missing, and the host is named.

mod missing;
mod parts;
mod several;

use crate::base::host_name::same_host;
use crate::base::parallel;
use crate::base::refusal::Refusal;
use crate::jobs::acquire::{
    self, Error, Hosts, LastStage, ProcessLocation, Scope, Start, SystemHosts, Users, WhoIs, Whom,
};
use crate::jobs::connected;
use crate::jobs::evidence::{self, Evidence, Seekable};
use crate::jobs::job::{Job, Parts};
use crate::jobs::job_image::JobImage;
use crate::jobs::scan::Found;
use crate::jobs::scheduler::Allocation;
use crate::jobs::spawned;
use crate::observation::Observation;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// Magic bytes of a ZIP archive; login shells on other hosts may print messages before it.
const ARCHIVE: &[u8] = b"PK\x03\x04";

/// What other hosts sent.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// What an earlier sample there showed.
    pub before: Vec<Observation>,
    /// What could not be obtained, and from which host.
    pub not_seen: Vec<String>,
    /// Whether the last of these is a host that did not answer.
    pub unanswered: bool,
}

impl Elsewhere {
    /// Records that these hosts did not answer.
    fn lacks(&mut self, failures: Vec<String>) {
        self.unanswered |= !failures.is_empty();
        self.not_seen.extend(failures);
    }
}

/// Adds the ranks of other hosts to a job that runs here, with their stacks if requested. Each host samples
/// twice, `pause` apart.
pub fn join(job: &mut Job, hosts: &SystemHosts, pause: Duration, stacks: bool) -> Elsewhere {
    let own = spawned::of_job(job);
    job.spawned.extend(own);
    let own = connected::of_job(job);
    job.connected.extend(own);
    let mut elsewhere = parts_of(job, hosts, pause, stacks);
    if elsewhere.unanswered {
        let missing = missing::ranks(job);
        let last = elsewhere.not_seen.last_mut();
        last.into_iter().zip(missing).for_each(|(last, missing)| last.push_str(&format!(" ({missing})")));
    }
    elsewhere.not_seen.extend(spawned::unseen_of_job(job));
    elsewhere.not_seen.extend(connected::unseen(&job.connected));
    elsewhere
}

fn parts_of(job: &mut Job, hosts: &SystemHosts, pause: Duration, stacks: bool) -> Elsewhere {
    if let Some(parts) = job.parts.clone().or_else(|| scheduled(job)) {
        return parts::join(job, &parts, hosts, pause, stacks);
    }
    let mut elsewhere = Elsewhere::default();
    let asked = places(job, hosts);
    let remote = hosts.remote();
    let job_name = job.name.clone();
    let mut failures = Vec::new();
    let answers = parallel::ask(&asked, |(host, pids)| {
        let whom = pids.first().map_or_else(|| job_name.clone(), u32::to_string);
        let bytes = remote.output(host, &words(&whom, pause, stacks), pause);
        open(host, bytes?)
    });
    for ((host, pids), answer) in asked.iter().zip(answers) {
        match answer {
            Ok(Evidence { manifest, job: there, .. }) => {
                // A host is trusted about its own ranks only; it may call itself by another name than the
                // tables do.
                let name = manifest.host.as_ref().map(|host| host.name.as_str());
                let name = name.filter(|name| asked.iter().all(|(other, _)| other == host || other != name));
                // By pid alone only if the host reports no name: a process on any host may have the same pid.
                let named = |at: &str, pid: u32| name.map_or_else(|| pids.contains(&pid), |name| at == name);
                let own = |at: &str, pid: u32| !hosts.here(at) && (at == host || named(at, pid));
                job.take_in(there, |process| own(&process.host, process.pid));
                let before = manifest.before.into_iter().filter(|seen| own(&seen.host, seen.pid));
                elsewhere.before.extend(before);
                elsewhere.not_seen.extend(manifest.not_seen.iter().map(|why| format!("{host}: {why}")));
            }
            // An announced host where all ranks have ended.
            Err(Error::Refused { refusal: Refusal::NoneHere, .. }) if pids.is_empty() => {}
            Err(why) if pids.is_empty() => failures.push(format!("{why}; its ranks are missing")),
            Err(why) => {
                let processes =
                    if pids.len() == 1 { "process of the job is" } else { "processes of the job are" };
                failures.push(format!("{why}; {} {processes} there", pids.len()));
            }
        }
    }
    elsewhere.lacks(failures);
    elsewhere
}

/// Returns all hosts of the scheduler's job by which the job was named, if that may contain several jobs.
fn scheduled(job: &Job) -> Option<Parts> {
    let found = Allocation::of(job.named.as_ref()?).ok()?;
    Some(Parts { hosts: found.hosts(), name: found.id.to_string(), slurm: Some(found.id), starter: None })
}

/// The arguments for another host.
fn words(whom: &str, pause: Duration, stacks: bool) -> Vec<String> {
    let seconds = pause.as_secs_f64().to_string();
    let stacks = stacks.then_some("--stacks");
    let words = ["save", "--here", "--for", &seconds].into_iter().chain(stacks).chain([whom, "-"]);
    words.map(str::to_owned).collect()
}

/// Returns the hosts with processes of the job according to the tables of the processes here. Any rank will
/// do, and one that is about to end may not answer any more.
fn places(job: &Job, hosts: &SystemHosts) -> Vec<(String, BTreeSet<u32>)> {
    let pid = |found: &Found| {
        let WhoIs { stage, entry, .. } = &found.told()?.who;
        let running = !matches!(stage, LastStage::Silent | LastStage::Finalized);
        running.then(|| found.image.outer_pid(found.image.host_pid(entry.place.pid)))?
    };
    let pids: Vec<u32> = job.found_here().filter_map(pid).collect();
    let here = pids.len();
    let found = acquire::acquire(hosts, Start::Pids(pids), &Scope::default());
    let mut places: Places = BTreeMap::new();
    let add = |places: &mut Places, place: ProcessLocation| {
        if !hosts.here(&place.host) {
            places.entry(place.host).or_default().insert(place.pid);
        }
    };
    found
        .map_or_else(|_| Vec::new(), |found| found.elsewhere)
        .into_iter()
        .for_each(|place| add(&mut places, place));
    let known = |places: &Places| here + places.values().map(BTreeSet::len).sum::<usize>();
    // Only rank 0 knows all others: if it is on another host, that host is asked about them.
    if known(&places) < size(job) {
        let whom = |pids: &BTreeSet<u32>| Whom { pids: pids.clone(), ..Whom::default() };
        let directories = places.iter().map(|(host, pids)| (host, whom(pids)));
        for place in who_else(hosts, job.owner, directories) {
            add(&mut places, place);
        }
    }
    for host in job.announced.iter().filter(|host| !hosts.here(host)) {
        if !places.keys().any(|known| same_host(known, host)) {
            places.insert(host.clone(), BTreeSet::new());
        }
    }
    places.into_iter().collect()
}

/// Processes by host.
type Places = BTreeMap<String, BTreeSet<u32>>;

/// Number of hosts that are asked about further ones: rank 0 of a world knows all its ranks, the others know
/// rank 0.
const MOST_DIRECTORIES: usize = 4;

/// Returns processes known to some hosts, on these and on other hosts.
fn who_else<'a>(
    hosts: &SystemHosts,
    owner: u32,
    directories: impl Iterator<Item = (&'a String, Whom)>,
) -> Vec<ProcessLocation> {
    let (directories, owner): (Vec<_>, _) =
        (directories.take(MOST_DIRECTORIES).collect(), Users::only(owner));
    let answers = parallel::ask(&directories, |(host, whom)| hosts.ask(host, whom, &owner));
    let places = answers
        .into_iter()
        .flatten()
        .flat_map(|answer| answer.processes.into_iter().map(|entry| entry.place).chain(answer.elsewhere));
    places.collect()
}

/// Size of the largest world that has ranks here.
fn size(job: &Job) -> usize {
    let sizes = job.found_here().filter_map(|found| Some(found.told()?.who.size));
    sizes.max().map_or(0, |size| size as usize)
}

/// A longer answer is kept in a file.
const LONGEST_IN_MEMORY: usize = 256 << 10;

/// Opens the evidence file that a host sent.
fn open(host: &str, mut bytes: Vec<u8>) -> Result<Evidence, Error> {
    let fail = |why: String| Error::Remote { host: host.to_owned(), why };
    let at = bytes.windows(ARCHIVE.len()).position(|window| window == ARCHIVE).ok_or_else(|| {
        fail("its answer is not an evidence file; is another version of mpiscope installed there?".to_owned())
    })?;
    // Drop anything that a shell printed first.
    bytes.drain(..at);
    let kept = keep(bytes).map_err(|why| fail(why.to_string()))?;
    let opened = evidence::read(Path::new(host), kept).map_err(|why| {
        fail(format!("its answer cannot be read: {}", why.to_string().replace(&format!("{host}: "), "")))
    })?;
    // Unpack now, while other hosts are awaited.
    opened.job.images.iter().for_each(JobImage::unpack_early);
    Ok(opened)
}

fn keep(archive: Vec<u8>) -> io::Result<Box<dyn Seekable>> {
    if archive.len() <= LONGEST_IN_MEMORY {
        return Ok(Box::new(Cursor::new(archive)));
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&archive)?;
    file.rewind()?;
    Ok(Box::new(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_an_evidence_file_is_an_error_that_names_the_host() {
        let open = |host, bytes: &[u8]| open(host, bytes.to_vec());
        for bytes in [&b""[..], b"good morning\n", b"PK\x03\x04 and nothing else"] {
            assert!(open("node7", bytes).is_err());
        }
        assert!(open("node7", b"good morning").is_err_and(|why| why.to_string().starts_with("host node7: ")));
        let cut = open("node7", b"PK\x03\x04 and nothing else").err().unwrap();
        assert!(cut.to_string().starts_with("host node7: its answer cannot be read: not a "), "{cut}");
    }
}
