//! A job without a process on this host: all its hosts are asked by its name.

use super::several::Jobs;
use super::{Elsewhere, missing, open, who_else, words};
use crate::base::host_name::same_host;
use crate::base::parallel;
use crate::base::refusal::Refusal;
use crate::jobs::acquire::{Error, Hosts, SystemHosts, Whom};
use crate::jobs::evidence::Evidence;
use crate::jobs::job::{Job, Parts};
use crate::observation::Observation;
use crate::sources::host_identity::HostIdentity;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Maximum number of rounds in which hosts named by other hosts are asked.
const MOST_ROUNDS: u32 = 4;

/// Adds the ranks of all hosts to those on this host, if any.
pub fn join(job: &mut Job, parts: &Parts, hosts: &SystemHosts, pause: Duration, stacks: bool) -> Elsewhere {
    let mut all = Gathering::new(job, hosts);
    let mut next = parts.hosts.clone();
    next.retain(|host| job.images.is_empty() || !hosts.here(host));
    let mut missing = None;
    for _ in 0..MOST_ROUNDS {
        let answers = parallel::ask(&next, |host| {
            let bytes = hosts.remote().output(host, &words(&parts.name, pause, stacks), pause);
            open(host, bytes?)
        });
        for (host, answer) in next.drain(..).zip(answers) {
            all.take_in(job, host, answer);
        }
        if let Some(several) = all.jobs.several(&parts.name) {
            // A question about one job must not be answered with a mixture.
            (job.images, job.silent, job.name) = (Vec::new(), Vec::new(), parts.name.clone());
            return Elsewhere { not_seen: vec![several], ..Elsewhere::default() };
        }
        missing = all.unexplained(job);
        if missing.is_some() {
            next = all.unknown(job, parts, hosts);
        }
        if next.is_empty() {
            break;
        }
    }
    let mut elsewhere = all.elsewhere;
    elsewhere.lacks(all.failures);
    let nowhere = |missing| format!("{missing}: no host that is known to run the job has them");
    elsewhere.not_seen.extend(missing.map(nowhere));
    if job.images.is_empty() && job.silent.is_empty() && elsewhere.not_seen.is_empty() {
        elsewhere.not_seen.push(nobody(parts));
    }
    elsewhere
}

/// The answers received so far.
#[derive(Default)]
struct Gathering {
    elsewhere: Elsewhere,
    jobs: Jobs,
    /// Hosts by identity rather than name.
    known: BTreeSet<String>,
    /// Names of the hosts that were asked, and whether they have ranks of the job.
    asked: BTreeMap<String, bool>,
    failures: Vec<String>,
    /// Whether the ranks of some host have ended.
    ended: bool,
}

impl Gathering {
    fn new(job: &Job, hosts: &SystemHosts) -> Self {
        let mut new = Self::default();
        if !job.images.is_empty() {
            new.known.insert(HostIdentity::here().key());
            new.jobs.add(&hosts.host(), job);
        }
        new
    }

    fn take_in(&mut self, job: &mut Job, host: String, answer: Result<Evidence, Error>) {
        self.asked.insert(host.clone(), answer.is_ok());
        let Evidence { manifest, job: there, .. } = match answer {
            Ok(answer) => answer,
            Err(Error::Refused { refusal: Refusal::NoneHere, .. }) => return self.ended = true,
            Err(Error::Refused { refusal: Refusal::SeveralHere { jobs, .. }, .. }) => {
                return self.jobs.add_named(&host, &jobs);
            }
            Err(why) => return self.failures.push(format!("{why}; its ranks are missing")),
        };
        // A host with two names is asked twice, but counts once.
        let identity = manifest.host.as_ref().map_or_else(|| host.clone(), |host| host.key());
        if !self.known.insert(identity) {
            return;
        }
        self.jobs.add(&host, &there);
        // It is trusted about its own ranks only.
        let name = manifest.host.map_or_else(|| host.clone(), |host| host.name);
        job.owner = there.owner;
        job.take_in(there, |process| process.host == name || process.host == host);
        let own = |seen: &Observation| seen.host == name || seen.host == host;
        self.elsewhere.before.extend(manifest.before.into_iter().filter(own));
        self.elsewhere.not_seen.extend(manifest.not_seen.iter().map(|why| format!("{host}: {why}")));
    }

    /// Names ranks that are missing although each host that was asked has some.
    fn unexplained(&self, job: &Job) -> Option<String> {
        (self.failures.is_empty() && !self.ended).then(|| missing::ranks(job))?
    }

    /// Returns hosts that have not been asked but have ranks of the job, according to the starter or to hosts
    /// that have answered: the starter learns of its hosts one after the other, and some ranks know all
    /// hosts.
    fn unknown(&self, job: &Job, parts: &Parts, hosts: &SystemHosts) -> Vec<String> {
        let mut named: BTreeSet<String> =
            hosts.announced(&(job.owner, parts.name.clone())).into_iter().collect();
        let whom = Whom { jobs: [parts.name.clone()].into(), ..Whom::default() };
        let answered = self.asked.iter().filter(|(_, has_ranks)| **has_ranks);
        let known = who_else(hosts, job.owner, answered.map(|(host, _)| (host, whom.clone())));
        named.extend(known.into_iter().map(|place| place.host));
        let asked = |host: &String| self.asked.keys().any(|known| same_host(known, host));
        named.into_iter().filter(|host| !asked(host) && !hosts.here(host)).collect()
    }
}

/// Maximum number of hosts named in the error.
const MOST_NAMED: usize = 8;

fn nobody(parts: &Parts) -> String {
    let named: Vec<&str> = parts.hosts.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if named.len() < parts.hosts.len() { ", ..." } else { "" };
    format!(
        "{}: none of its processes is on its hosts ({}{more}): it runs without the layer, or has ended",
        parts.name,
        named.join(", ")
    )
}
