//! A communicator and a window that one rank has named: every view calls them so on both ranks.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use crate::inspected::fortran_waits::core_of;
use crate::inspected::job::{Job, json, mpiscope, words};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "named_by_one", ranks: 2, needs: Needs::Nothing };
/// The communicator, named by rank 0.
const COMM: &str = "\"solver\"";
/// The window, named by rank 1.
const WINDOW: &str = "\"halo\"";

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[], &[])?;
    let target = job.target();
    job.until("the ranks hang", || {
        let found = json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default();
        Ok(found["problem"] == true)
    })?;
    let ps = json(&["ps", &target, "--here", "--json"])?;
    let calls = |rank: u64, name: &str| {
        let rank = ps["ranks"].as_array()?.iter().find(|one| one["rank"] == rank)?;
        let call = rank["threads"].as_array()?.iter().map(|thread| &thread["call"]).find(|c| !c.is_null())?;
        (call["object"]["name"] == name).then_some(())
    };
    // Each rank is in a call on the object that the other one has named.
    calls(0, "halo").and(calls(1, "solver")).with_context(|| format!("{ps:#}"))?;
    shows(&["ps", &target, "--here"], &[COMM, WINDOW])?;
    shows(&["why", &target, "--for", "0.3"], &[COMM, WINDOW])?;
    shows(&["queues", &target], &[COMM])?;
    // The receives have different sources.
    for (kind, wanted, rows) in [("comm", COMM, 1), ("win", WINDOW, 1), ("request", COMM, 2)] {
        let shown = shows(&["inspect", &target, "--kind", kind], &[wanted])?;
        ensure!(shown.matches(wanted).count() == rows, "not {rows} rows:\n{shown}");
    }
    for name in [COMM, WINDOW] {
        let found = json(&["inspect", &target, "--handle", name, "--json"])?;
        let both =
            found["shared"].as_array().is_some_and(|all| all.iter().any(|one| one["ranks"] == "[0-1]"));
        ensure!(both, "{name}: {found:#}");
    }
    let report = json(&["report", &target, "--json"])?;
    ensure!(sites(&report["sites"], COMM) == ["[0-1]"], "{:#}", report["sites"]);
    if paths::in_path("gcore").is_some() && library.family != Family::Intel {
        cores(&job, &ps)?;
    }
    Ok(())
}

/// Runs a command whose output has these labels, and no label by identity.
fn shows(command: &[&str], labels: &[&str]) -> Result<String> {
    // The exit status says that the job hangs.
    let shown = mpiscope(&words(command))?.stdout;
    ensure!(labels.iter().all(|label| shown.contains(label)), "{command:?}: not {labels:?} in\n{shown}");
    ensure!(!shown.contains(" id:"), "{command:?}: an identity in\n{shown}");
    Ok(shown)
}

/// The ranks of each row of the report for the receives on an object.
fn sites(sites: &Value, object: &str) -> Vec<String> {
    let receives = sites.as_array().into_iter().flatten().filter(|site| site["function"] == "MPI_Irecv");
    let row =
        |site: &Value| (site["object"] == object).then(|| site["ranks"].as_str().unwrap_or_default().into());
    receives.map(|site| row(site).unwrap_or_else(|| site.to_string())).collect()
}

/// Core files of both ranks.
fn cores(job: &Job, ps: &Value) -> Result<()> {
    let folder = job.path().join("cores");
    std::fs::create_dir(&folder)?;
    let ranks = ps["ranks"].as_array().context("no ranks")?;
    let files: Vec<String> =
        ranks.iter().map(|rank| core_of(&rank["pid"], &folder)).collect::<Result<_>>()?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for verb in ["core", "ps", "why"] {
        shows(&[&[verb][..], &files].concat(), &[COMM, WINDOW])?;
    }
    Ok(())
}
