//! A process after `MPI_Finalize`, and a child that it forked: what is gone is not shown as if it existed.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;
use std::path::Path;

use super::job::{Job, json, mpiscope, text, words};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "left", ranks: 1, needs: Needs::Nothing };

const IN_SESSION: Program = Program { name: "left_world", ranks: 2, needs: Needs::Mpi4Parts };

/// Names of communicators with their states after `MPI_Finalize`.
const ENDED: [(&str, &str); 3] =
    [("MPI_COMM_SELF", "ended"), ("MPI_COMM_WORLD", "ended"), ("solver", "ended")];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[], &[])?;
    job.each_has("held")?;
    let dir = job.path().to_owned();
    job.until("the child", || Ok(child(&dir).is_some()))?;
    let child = child(&dir).context("no child")?;
    for verb in ["inspect", "queues", "ps", "why"] {
        let outcome = mpiscope(&words(&[verb, &child]))?;
        let said = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(outcome.code() == 2 && outcome.stdout.is_empty(), "{verb}: {}", outcome.describe());
        ensure!(said.contains("was forked from the MPI process"), "{verb}: {}", outcome.describe());
    }
    // It leads to the job, but is no process of it.
    let processes = text(&["procs", &child])?;
    let pids: Vec<&str> = processes.lines().skip(1).filter_map(|row| row.split_whitespace().nth(3)).collect();
    ensure!(pids.len() == 1 && pids != [child.as_str()], "{processes}");
    ensure!(standing(&job.target(), "comm")?.iter().all(|(_, standing)| standing == "live"));
    job.signal("go")?;
    job.each_has("left")?;
    let target = job.target();
    let mut comms = standing(&target, "comm")?;
    comms.sort();
    ensure!(comms.iter().map(|(n, s)| (n.as_str(), s.as_str())).eq(ENDED), "{comms:?}");
    let infos = standing(&target, "info")?;
    ensure!(!infos.is_empty() && infos.iter().all(|(_, standing)| standing == "live"), "{infos:?}");
    ensure!(text(&["inspect", &target])?.contains("NOT FREED"));
    job.signal("end")?;
    job.finish()
}

/// Intel MPI rejects `MPI_Init` after a session has been opened.
pub fn no_sessions_beside_a_world(library: &Library) -> Option<String> {
    let refuses =
        library.name.starts_with("intel").then(|| "MPI_Init fails after MPI_Session_init".to_owned());
    IN_SESSION.needs.missing_in(library).map(String::from).or(refuses)
}

/// Ranks that have left the world, but use a session, are not finished.
pub fn check_session(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&IN_SESSION, subject, library, &[], &[])?;
    job.each_has("left")?;
    let target = job.target();
    job.until("a deadlock", || Ok(mpiscope(&words(&["why", &target]))?.stdout.starts_with("deadlock: ")))?;
    for wanted in [("MPI_COMM_WORLD", "ended"), ("solver", "ended"), ("open", "live")] {
        let comms = standing(&target, "comm")?;
        ensure!(comms.iter().any(|(n, s)| (n.as_str(), s.as_str()) == wanted), "{wanted:?}: {comms:?}");
    }
    Ok(())
}

/// The child's process id, from the name of the file that it made.
fn child(dir: &Path) -> Option<String> {
    let names = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| Some(name.to_str()?.strip_prefix("child.")?.to_owned())).next()
}

fn standing(target: &str, kind: &str) -> Result<Vec<(String, String)>> {
    let answer = json(&["inspect", target, "--kind", kind, "--json"])?;
    let objects = answer["ranks"][0]["objects"].as_array();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let objects = objects.with_context(|| format!("no objects in {answer}"))?;
    Ok(objects.iter().map(|object| (word(&object["name"]), word(&object["standing"]))).collect())
}
