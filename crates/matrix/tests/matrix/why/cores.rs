//! The verdict on a hanging job is also obtained from core files of its ranks.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::Needs;

use super::{PYTHON, Scenario, differs, missing};
use crate::inspected::fortran_waits::core_of;
use crate::inspected::job::{Job, json};
use crate::views::cores::without_ages;

/// Number of scenarios per kind of verdict that are also tested with core files, each on one
/// library.
const DUMPED: usize = 2;
/// The libraries that take turns.
const DUMPING: [&str; 7] =
    ["mpich-4.0", "mpich-5.0", "openmpi-4.1", "openmpi-5.0", "intel", "mpich-5.0-abi", "intel-abi"];
/// Kinds that not every library supports are tested on the first of these that does.
const NEWEST: [&str; 2] = ["mpich-5.0", "openmpi-5.0"];
/// Core files do not show what requires comparing two samples, or what only the kernel knows.
const NOT_IN_CORES: [&str; 2] = ["running", "rank-stopped"];

/// The scenarios that are tested with core files on this library: the libraries take turns.
pub fn dumped(scenarios: &[Scenario], library: &Library) -> Vec<String> {
    let Some(own) = DUMPING.iter().position(|name| *name == library.name) else { return Vec::new() };
    let mut kinds: Vec<&str> = scenarios.iter().map(|scenario| scenario.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.retain(|kind| !NOT_IN_CORES.contains(kind));
    let of_kind = |(turn, kind): (usize, &&str)| {
        let on_all = |s: &&Scenario| {
            s.kind == **kind
                && s.without.is_empty()
                && s.source.needs == Needs::Nothing
                && s.source.file != PYTHON
        };
        let all: Vec<&Scenario> = scenarios.iter().filter(on_all).take(DUMPED).collect();
        if all.is_empty() {
            let here = |s: &&Scenario| {
                let has_it = NEWEST.iter().find(|name| !s.without.iter().any(|without| without == *name));
                s.kind == **kind
                    && has_it == Some(&library.name.as_str())
                    && missing(s.source, library).is_none()
            };
            return scenarios.iter().filter(here).take(1).map(|scenario| scenario.name.clone()).collect();
        }
        let ours = |(number, scenario): (usize, &Scenario)| {
            ((turn * DUMPED + number) % DUMPING.len() == own).then(|| scenario.name.clone())
        };
        all.into_iter().enumerate().filter_map(ours).collect::<Vec<_>>()
    };
    kinds.iter().enumerate().flat_map(of_kind).collect()
}

/// Checks that core files of all ranks yield the same verdict, and that `core` states it too.
pub fn check(job: &Job, scenario: &Scenario) -> Result<()> {
    let ranks = json(&["ps", &job.target(), "--here", "--json"])?["ranks"].take();
    let ranks =
        ranks.as_array().filter(|ranks| ranks.len() == scenario.ranks).context("ranks are missing")?;
    let dir = tempfile::tempdir()?;
    let files: Vec<String> =
        ranks.iter().map(|rank| core_of(&rank["pid"], dir.path())).collect::<Result<_>>()?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let said = json(&[&["why", "--json"][..], &files].concat())?;
    // These constantly read the time, which is a system call on some machines.
    let says = scenario.says.clone().filter(|says| says != "computing");
    let wrong = differs(&said, &Scenario { says, ..scenario.clone() });
    ensure!(wrong.is_none(), "core files: {wrong:?}\n{said:#}");
    let postmortem = json(&[&["core", "--json"][..], &files].concat())?["why"].take();
    ensure!(without_ages(&postmortem) == without_ages(&said), "core: {postmortem:#}\nwhy: {said:#}");
    Ok(())
}
