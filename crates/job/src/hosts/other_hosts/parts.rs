//! A job without a process on this host: all its hosts are asked by its name.

use super::several::Jobs;
use super::{Elsewhere, open, words};
use crate::base::parallel;
use crate::jobs::acquire::{Hosts, SystemHosts};
use crate::jobs::evidence::Evidence;
use crate::jobs::job::NONE_HERE;
use crate::jobs::job::{Job, Parts};
use crate::sources::host_identity::HostIdentity;
use std::collections::BTreeSet;
use std::time::Duration;

/// Adds the ranks of all hosts to those that are here, if some are.
pub fn join(job: &mut Job, parts: &Parts, hosts: &SystemHosts, pause: Duration, stacks: bool) -> Elsewhere {
    let mut elsewhere = Elsewhere::default();
    let remote = hosts.remote();
    let (mut known, mut jobs) = (BTreeSet::new(), Jobs::default());
    let mut failures = Vec::new();
    let has_own = !job.images.is_empty();
    if has_own {
        known.insert(HostIdentity::here().key());
        jobs.add(&hosts.host(), job);
    }
    let asked: Vec<&String> = parts.hosts.iter().filter(|host| !has_own || !hosts.here(host)).collect();
    let answers = parallel::ask(&asked, |host| {
        let bytes = remote.output(host, &words(&parts.name, pause, stacks), pause);
        open(host, &bytes.map_err(|why| why.to_string())?)
    });
    for (host, answer) in asked.into_iter().zip(answers) {
        match answer {
            Ok(Evidence { manifest, job: there, .. }) => {
                // A host that has two names is asked twice, and counts once.
                let identity = manifest.host.as_ref().map_or_else(|| host.clone(), |host| host.key());
                if !known.insert(identity) {
                    continue;
                }
                jobs.add(host, &there);
                // It is believed of its own ranks only.
                let name = manifest.host.map_or_else(|| host.clone(), |host| host.name);
                job.owner = there.owner;
                job.take_in(there, |process| process.host == name || process.host == *host);
                elsewhere.before.extend(
                    manifest.before.into_iter().filter(|seen| seen.host == name || seen.host == *host),
                );
                elsewhere.not_seen.extend(manifest.not_seen.iter().map(|why| format!("{host}: {why}")));
            }
            Err(why) if why.contains(NONE_HERE) || jobs.add_named(host, &why) => {}
            Err(why) => failures.push(format!("{why}; its ranks are missing")),
        }
    }
    if let Some(several) = jobs.several(&parts.name) {
        // What is asked about one is not answered about a mixture.
        (job.images, job.silent, job.name) = (Vec::new(), Vec::new(), parts.name.clone());
        return Elsewhere { not_seen: vec![several], ..Elsewhere::default() };
    }
    elsewhere.lacks(failures);
    if job.images.is_empty() && job.silent.is_empty() && elsewhere.not_seen.is_empty() {
        elsewhere.not_seen.push(nobody(parts));
    }
    elsewhere
}

/// Hosts that are named where there is nothing.
const MOST_NAMED: usize = 8;

fn nobody(parts: &Parts) -> String {
    let named: Vec<&str> = parts.hosts.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if named.len() < parts.hosts.len() { ", …" } else { "" };
    format!(
        "{}: no process of it is on its hosts ({}{more}): it runs without the layer, or has ended",
        parts.name,
        named.join(", ")
    )
}
