//! A scheduler's job may contain several MPI jobs, in sequence or in parallel: their parts on different hosts
//! must not be merged into one.

use crate::jobs::acquire::LastStage;
use crate::jobs::job::Job;
use std::collections::BTreeSet;

/// The MPI jobs known to hosts.
#[derive(Debug, Default)]
pub struct Jobs(Vec<One>);

/// One MPI job. If the launcher gives it no name, each host has its own name for it; ranks past `MPI_Init`
/// know their world.
#[derive(Debug, Default)]
struct One {
    /// Whether it is known to differ from the others: ranks in `MPI_Init` may belong to any job.
    certain: bool,
    names: BTreeSet<String>,
    worlds: BTreeSet<String>,
    hosts: Vec<String>,
}

impl Jobs {
    /// Adds what a host knows of one job.
    pub fn add(&mut self, host: &str, job: &Job) {
        let members = job.images.iter().filter_map(|image| image.who());
        let mut worlds = BTreeSet::new();
        for who in members.filter(|who| who.stage != LastStage::Starting) {
            worlds.extend(who.entry.spawned.map(|by| by.world));
            worlds.insert(who.entry.world);
        }
        self.join(host, &job.name, worlds, false);
    }

    /// Adds several jobs that a host reported when it was asked about one.
    pub fn add_named(&mut self, host: &str, names: &[String]) {
        names.iter().for_each(|name| self.join(host, name, BTreeSet::new(), true));
    }

    fn join(&mut self, host: &str, name: &str, worlds: BTreeSet<String>, certain: bool) {
        let is_it = |one: &One| one.names.contains(name) || !one.worlds.is_disjoint(&worlds);
        let (same, others): (Vec<One>, Vec<One>) = std::mem::take(&mut self.0).into_iter().partition(is_it);
        self.0 = others;
        let mut one = same.into_iter().fold(One::default(), |mut all, one| {
            all.names.extend(one.names);
            all.worlds.extend(one.worlds);
            all.hosts.extend(one.hosts);
            all.certain |= one.certain;
            all
        });
        one.names.insert(name.to_owned());
        one.certain |= certain || !worlds.is_empty();
        one.worlds.extend(worlds);
        one.hosts.push(host.to_owned());
        self.0.push(one);
    }

    /// Explains why `scheduled` is not one job, if it is several.
    #[must_use]
    pub fn several(&self, scheduled: &str) -> Option<String> {
        let mut certain: Vec<&One> = self.0.iter().filter(|one| one.certain).collect();
        certain.sort_by_key(|one| &one.names);
        let all: Vec<String> = certain.iter().map(|one| one.shown(scheduled)).collect();
        (all.len() > 1)
            .then(|| format!("{scheduled} contains several MPI jobs; name one: {}", all.join(", ")))
    }
}

/// Maximum number of hosts named per job.
const MOST_NAMED: usize = 4;

impl One {
    /// Describes its names and hosts.
    fn shown(&self, scheduled: &str) -> String {
        let more = if self.hosts.len() > MOST_NAMED { ", ..." } else { "" };
        let hosts: Vec<&str> = self.hosts.iter().take(MOST_NAMED).map(String::as_str).collect();
        let names: Vec<String> = match self.names.len() {
            1 => self.names.iter().map(|name| format!("{scheduled}:{name}")).collect(),
            _ => self.names.iter().take(MOST_NAMED).cloned().collect(),
        };
        format!("{} on {}{more}", names.join(" or "), hosts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worlds(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn jobs_of_several_hosts_are_one_if_they_share_a_name_or_world() {
        let mut jobs = Jobs::default();
        jobs.join("n1", "a", worlds(&["w"]), false);
        jobs.join("n2", "b", worlds(&["w", "spawned"]), false);
        jobs.join("n3", "c", worlds(&["spawned"]), false);
        jobs.join("n4", "c", worlds(&[]), false);
        // It may be part of the same job, which has no common name.
        jobs.join("n5", "d", worlds(&[]), false);
        assert_eq!(jobs.several("slurm:7"), None);
    }

    #[test]
    fn jobs_that_share_neither_are_separate_and_each_is_named() {
        let mut jobs = Jobs::default();
        jobs.join("n1", "a", worlds(&["w"]), false);
        jobs.join("n3", "b", worlds(&["v"]), false);
        jobs.add_named("n2", &["a", "b"].map(str::to_owned));
        let said = "slurm:7 contains several MPI jobs; name one: slurm:7:a on n1, n2, slurm:7:b on n3, n2";
        assert_eq!(jobs.several("slurm:7").as_deref(), Some(said));
        let mut jobs = Jobs::default();
        jobs.add_named("n2", &["a", "b"].map(str::to_owned));
        assert!(jobs.several("slurm:7").is_some());
    }
}
