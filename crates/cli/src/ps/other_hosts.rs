//! Ranks of the job on other hosts: which there are, the job's tables say; what they do, `mpiscope ps` says there.

use super::Report;
use crate::procs;
use mpiscope_job::acquire::{self, Hosts, ProcessLocation, Scope, Start};
use mpiscope_job::rank_status::RankStatus;
use std::collections::{BTreeMap, BTreeSet};

/// Adds what other hosts know.
pub fn add(report: &mut Report) {
    let mut hosts: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for place in places(report) {
        hosts.entry(place.host).or_default().insert(place.pid);
    }
    let system = procs::system();
    for (host, pids) in hosts {
        let Some(pid) = pids.first() else { continue };
        let words = ["ps", "--json", "--here", &pid.to_string()].map(str::to_owned);
        match system.run::<Report>(&host, &words) {
            Ok(there) => {
                // A host is believed of its own ranks only; it may call itself by another name than the tables do.
                let own = |rank: &RankStatus| {
                    !system.here(&rank.host) && (rank.host == host || pids.contains(&rank.pid))
                };
                report.ranks.extend(there.ranks.into_iter().filter(own));
                report.silent += there.silent;
                report.errors.extend(there.errors.into_iter().map(|error| format!("{host}: {error}")));
            }
            Err(e) => report.errors.push(e.to_string()),
        }
    }
}

/// Processes of the job that are not on this host, as the tables of those here say: any rank knows all, and one that is
/// about to end may not answer any more.
fn places(report: &Report) -> Vec<ProcessLocation> {
    let pids = report.ranks.iter().filter(|rank| rank.alive).map(|rank| rank.pid).collect();
    let found = acquire::acquire(&procs::system(), Start::Pids(pids), &Scope::default());
    found.map_or_else(|_| Vec::new(), |found| found.elsewhere)
}
