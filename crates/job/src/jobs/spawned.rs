//! Processes started by `MPI_Comm_spawn` that are not visible: they run without the layer or on an unknown
//! host.
//!
//! The spawning processes know how many there are. Each host reports the spawns of its own processes, so that
//! no image from another host is read for this.

use crate::jobs::job::Job;
use crate::jobs::other_worlds::Spawned;
use crate::jobs::scan::Found;
use std::collections::{BTreeMap, BTreeSet};

/// Returns what processes of this host have spawned and are still connected to.
#[must_use]
pub fn of_job(job: &Job) -> BTreeSet<Spawned> {
    job.found_here().filter_map(Found::told).flat_map(|told| told.spawned.iter().cloned()).collect()
}

/// Describes how many spawned processes are missing, if fewer were seen, apart from the spawning ones, than
/// were started. `worlds` has the world of each process that was seen.
pub fn unseen<'a>(spawned: &BTreeSet<Spawned>, worlds: impl Iterator<Item = &'a str>) -> Option<String> {
    let started: u64 = spawned.iter().map(|one| u64::from(one.processes)).sum();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    worlds.for_each(|world| *seen.entry(world).or_default() += 1);
    let all: u64 = seen.values().sum();
    // Of several worlds that spawned, one was started by the launcher. Assuming the smallest never reports a
    // process that is there.
    let spawners = spawned.iter().map(|one| seen.get(one.world.as_str()).copied().unwrap_or(0)).min()?;
    let missing = started.saturating_sub(all.saturating_sub(spawners));
    let are = if missing == 1 { "is" } else { "are" };
    (missing > 0).then(|| {
        format!(
            "{missing} of the {started} processes that MPI_Comm_spawn started {are} not seen: they have ended, run without \
             libmpiscope.so, or are on an unknown host"
        )
    })
}

/// The same for a running job, once all its parts have been taken in.
#[must_use]
pub fn unseen_of_job(job: &Job) -> Option<String> {
    if job.spawned.is_empty() {
        return None;
    }
    let worlds = job.images.iter().map(|found| found.who().map_or_else(String::new, |who| who.entry.world));
    let worlds: Vec<String> = worlds.collect();
    unseen(&job.spawned, worlds.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(world: &str, identity: u64, processes: u32) -> Spawned {
        Spawned { world: world.to_owned(), identity, processes }
    }

    #[test]
    fn spawned_processes_that_are_missing_are_counted() {
        let spawned = [one("w", 1, 2), one("w", 2, 3)].into_iter().collect();
        let said = |worlds: &[&str]| unseen(&spawned, worlds.iter().copied());
        assert!(said(&["w", "w", "v", "v", "u", "u", "u"]).is_none());
        assert!(said(&["w", "w", "v", "v"]).is_some_and(|why| why.starts_with("3 of the 5 processes ")));
        assert!(said(&["w"]).is_some_and(|why| why.starts_with("5 of the 5 processes ")));
        // In MPI_Init they have no world yet.
        assert!(said(&["w", "w", "", "", "", "", ""]).is_none());
    }

    #[test]
    fn children_that_spawn_still_count_as_children() {
        let spawned = [one("w", 1, 2), one("v", 2, 1)].into_iter().collect();
        assert!(unseen(&spawned, ["w", "w", "v", "v", "u"].into_iter()).is_none());
        assert!(unseen(&spawned, ["w", "v", "v"].into_iter()).is_some());
    }

    #[test]
    fn a_job_that_spawned_nothing_misses_nothing() {
        assert!(unseen(&BTreeSet::new(), ["w"].into_iter()).is_none());
    }
}
