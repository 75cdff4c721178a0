//! Other jobs that a job is connected with by `MPI_Comm_accept`, `MPI_Comm_connect` or `MPI_Comm_join`. A
//! view of one job does not contain their ranks, and says so if the jobs cannot be identified.

use crate::jobs::acquire::JobKey;
use crate::jobs::job::Job;
use crate::jobs::other_worlds::Connected;
use crate::jobs::scan::{Found, Scan};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the connections of the job's processes on this host.
#[must_use]
pub fn of_job(job: &Job) -> BTreeSet<Connected> {
    let scan = job.scan.as_deref();
    scan.map(|scan| of_scanned(scan, &(job.owner, job.name.clone()))).unwrap_or_default()
}

/// Returns the connections of the processes of a job that a scan of this host has found.
#[must_use]
pub fn of_scanned(scan: &Scan, job: &JobKey) -> BTreeSet<Connected> {
    let of = |found: &Found| found.told().map(|told| told.connected.clone()).unwrap_or_default();
    let open: BTreeSet<Connected> = scan.of_job(job.0, &job.1).flat_map(of).collect();
    if open.is_empty() {
        return open;
    }
    let others = scan.images().filter(|found| found.job != *job);
    let known: BTreeSet<u64> = others.flat_map(of).map(|connection| connection.identity).collect();
    let look =
        |connection: Connected| Connected { found: known.contains(&connection.identity), ..connection };
    open.into_iter().map(look).collect()
}

/// Describes the connections that lead to processes of a job that no host has found.
#[must_use]
pub fn unseen(connected: &BTreeSet<Connected>) -> Option<String> {
    let found: BTreeSet<u64> = connected.iter().filter(|one| one.found).map(|one| one.identity).collect();
    let mut open: BTreeMap<u64, (&str, u32)> = BTreeMap::new();
    for connection in connected.iter().filter(|connection| !found.contains(&connection.identity)) {
        open.insert(connection.identity, (&connection.by, connection.processes));
    }
    let processes: u64 = open.values().map(|(_, processes)| u64::from(*processes)).sum();
    let by: BTreeSet<&str> = open.values().map(|(by, _)| *by).collect();
    let by = by.into_iter().collect::<Vec<_>>().join(", ");
    let (process, are) = if processes == 1 { ("process", "is") } else { ("processes", "are") };
    (processes > 0).then(|| {
        format!(
            "{processes} {process} of another job, which this one is connected to ({by}), {are} not seen: that job is \
             on another host, or runs without libmpiscope.so; run `mpiscope ps` on its hosts to see it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(identity: u64, by: &str, processes: u32, found: bool) -> Connected {
        Connected { identity, by: by.to_owned(), processes, found }
    }

    fn said<const N: usize>(all: [Connected; N]) -> String {
        unseen(&all.into()).unwrap_or_default()
    }

    #[test]
    fn each_connection_to_a_job_that_no_host_found_is_reported_once() {
        let one_side = || [one(1, "MPI_Comm_accept", 2, false), one(2, "MPI_Comm_accept", 1, false)];
        let [first, second] = one_side();
        let text = said([first, second, one(3, "MPI_Comm_connect", 4, true)]);
        assert!(text.starts_with("3 processes of another job, which "), "{text}");
        assert!(text.contains("(MPI_Comm_accept), are not seen"), "{text}");
        // One host of this job has found the other job, the next has not.
        let [first, second] = one_side();
        let text = said([first, second, one(1, "MPI_Comm_accept", 2, true)]);
        assert!(
            text.starts_with("1 process of another job, which ") && text.contains("is not seen"),
            "{text}"
        );
        assert_eq!(said([one(1, "MPI_Comm_accept", 2, true)]), "");
    }
}
