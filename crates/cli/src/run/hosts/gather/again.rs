//! Hosts that connect several times, and several hosts with the same name.
//!
//! The connection of a host ends with its collector. If ranks remain or others are started later, another
//! collector connects, which may have what the first one did not send. Each missing rank is reported once,
//! and only if no connection delivered it.

use super::super::message::Identity;
use super::Known;
use mpiscope_job::Process;
use mpiscope_job::base::clock::Moment;
use std::collections::BTreeSet;

/// Returns the display name of a host: its name, with a number if other hosts have the same name.
pub fn shown(hosts: &[Known], from: &Identity) -> String {
    if let Some(known) = hosts.iter().find(|known| known.id == from.id) {
        return known.host.clone();
    }
    let same = hosts.iter().filter(|known| known.name == from.host).map(|known| &known.id);
    match same.collect::<BTreeSet<_>>().len() {
        0 => from.host.clone(),
        others => format!("{} ({})", from.host, others + 1),
    }
}

/// Returns the names by which the hosts are reached, without duplicates.
pub fn names(hosts: &[Known]) -> Vec<String> {
    let mut named = BTreeSet::new();
    hosts.iter().map(|known| &known.name).filter(|name| named.insert(*name)).cloned().collect()
}

/// With more hosts than this, they do not learn of each other.
const MOST_ANNOUNCED: usize = 4096;

/// Tracks what one host has been told of the others.
#[derive(Default)]
pub struct Tells {
    announced: usize,
    before: usize,
}

impl Tells {
    /// Returns the names of all hosts if the list has grown since it was last sent, but not since the last
    /// call. This debounce keeps a job of a thousand hosts from sending the list a thousand times.
    pub fn news(&mut self, hosts: &[Known]) -> Option<Vec<String>> {
        let (now, before) = (hosts.len(), std::mem::replace(&mut self.before, hosts.len()));
        if now != before || now == self.announced || !(2..=MOST_ANNOUNCED).contains(&now) {
            return None;
        }
        self.announced = now;
        Some(names(hosts))
    }
}

/// Returns everything that was sent, and one entry for each host from which something is missing.
pub fn once(hosts: Vec<Known>) -> Vec<Known> {
    let now_ns = Moment::now().monotonic_ns;
    let (sent, lost): (Vec<Known>, Vec<Known>) =
        hosts.into_iter().partition(|known| matches!(known.outcome, Some(Ok(_))));
    let mut open: Vec<Known> = Vec::new();
    for mut host in lost {
        let lost_ns =
            now_ns.saturating_sub(u64::try_from(host.heard.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let had_some = !host.ranks.is_empty();
        // What another connection has sent may be in the snapshot as well.
        host.snapshot.take_if(|_| sent.iter().any(|other| other.id == host.id));
        for other in sent.iter().filter(|other| other.id == host.id) {
            let came = ranks_that_began_before(lost_ns, other);
            host.ranks.retain(|rank| !came.contains(rank));
        }
        if had_some && host.ranks.is_empty() {
            continue;
        }
        match open.iter_mut().find(|known| known.id == host.id) {
            Some(known) => {
                let more = host.ranks.into_iter().filter(|rank| !known.ranks.contains(rank));
                known.ranks.extend(more.collect::<Vec<_>>());
                known.snapshot = host.snapshot.or(known.snapshot.take());
            }
            None => open.push(host),
        }
    }
    sent.into_iter().chain(open).collect()
}

/// Returns the ranks that a host sent, restricted to those that began before `ns` on our clock: later ones
/// belong to another program, which has the same rank numbers.
fn ranks_that_began_before(ns: u64, host: &Known) -> BTreeSet<u32> {
    let Some(Ok(evidence)) = &host.outcome else { return BTreeSet::new() };
    let images = evidence.job.images.iter();
    let processes = images.filter_map(|found| Process::read(&found.open().ok()?, Some(found.moment())).ok());
    processes
        .filter(|process| host.clock.ours(process.begin_ns) < ns)
        .filter_map(|process| process.rank)
        .collect()
}
