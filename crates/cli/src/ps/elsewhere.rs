//! Ranks of the job on other hosts: which there are, the job's tables say; what they do, `mpiscope ps` says there.

use super::Report;
use crate::procs;
use mpiscope_job::acquire::{self, Place, Start};
use std::collections::BTreeMap;

/// Adds what other hosts know.
pub fn add(report: &mut Report) {
    // Any rank knows all; one that is about to end may not answer any more.
    let places = report.ranks.iter().filter(|rank| rank.alive).find_map(|rank| places(rank.pid));
    let mut hosts: BTreeMap<String, u32> = BTreeMap::new();
    for place in places.unwrap_or_default() {
        hosts.entry(place.host).or_insert(place.pid);
    }
    for (host, pid) in hosts {
        let words = ["ps", "--json", "--here", &pid.to_string()].map(str::to_owned);
        match procs::system().run::<Report>(&host, &words) {
            Ok(there) => {
                report.ranks.extend(there.ranks);
                report.silent += there.silent;
                report.errors.extend(there.errors.into_iter().map(|error| format!("{host}: {error}")));
            }
            Err(e) => report.errors.push(e.to_string()),
        }
    }
}

/// Processes of the job that are not on this host.
fn places(pid: u32) -> Option<Vec<Place>> {
    acquire::acquire(&procs::system(), Start::Pids(vec![pid]), false).ok().map(|found| found.elsewhere)
}
