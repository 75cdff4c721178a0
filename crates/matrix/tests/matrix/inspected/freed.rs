//! Objects freed by the program are marked for freeing while MPI still holds them, and freed afterward.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use super::job::{Job, json};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "freed", ranks: 1, needs: Needs::Nothing };

/// Kinds of objects that the program frees, with their states in order of creation. A library before MPI 4
/// has no persistent reduction that could hold its operation.
const HELD: [(&str, &[&str]); 5] = [
    ("comm", &["marked", "freed"]),
    ("errhandler", &["marked", "freed"]),
    ("keyval", &["marked", "freed"]),
    ("datatype", &["marked", "freed", "marked"]),
    ("op", &["marked", "freed"]),
];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[], &[])?;
    job.each_has("held")?;
    let target = job.target();
    let reductions = objects(&target, "request")?.iter().any(|r| r["class"] == "collective");
    for (kind, expected) in HELD {
        let expected: &[&str] = if kind == "op" && !reductions { &["freed", "freed"] } else { expected };
        stand(&target, kind, expected)?;
    }
    requests(&target)?;
    fortran_type(&target)?;
    job.signal("go")?;
    job.each_has("gone")?;
    for (kind, expected) in HELD {
        stand(&target, kind, &vec!["freed"; expected.len()])?;
    }
    job.signal("end")?;
    job.finish()
}

fn objects(target: &str, kind: &str) -> Result<Vec<Value>> {
    let answer = json(&["inspect", target, "--kind", kind, "--freed", "--json"])?;
    let objects = answer["ranks"][0]["objects"].as_array();
    Ok(objects.with_context(|| format!("no objects in {answer}"))?.clone())
}

/// Checks the objects that the program freed, in order of creation.
fn stand(target: &str, kind: &str, expected: &[&str]) -> Result<()> {
    let mut all = objects(target, kind)?;
    all.retain(|object| object["predefined"] == false && object["freed"].is_object());
    all.sort_by_key(|object| object["uid"].as_u64());
    let standing: Vec<&str> = all.iter().filter_map(|object| object["standing"].as_str()).collect();
    let first = standing.get(..expected.len());
    ensure!(first == Some(expected), "{kind}: {standing:?}, not {expected:?}: {all:#?}");
    let counts = json(&["inspect", target, "--json"])?;
    let counted = &counts["ranks"][0]["counts"][kind]["marked"];
    let marked = standing.iter().filter(|standing| **standing == "marked").count();
    ensure!(counted.as_u64() == Some(marked as u64), "{kind}: {counted} counted, {marked} listed: {counts}");
    Ok(())
}

/// A live request is not freed, whatever request used its record before.
fn requests(target: &str) -> Result<()> {
    let all = objects(target, "request")?;
    let live: Vec<&Value> = all.iter().filter(|request| request["standing"] == "live").collect();
    ensure!(live.len() >= 2, "{all:#?}");
    for request in live {
        ensure!(request["freed"].is_null(), "{request}");
    }
    Ok(())
}

fn fortran_type(target: &str) -> Result<()> {
    let all = objects(target, "datatype")?;
    for real in all.iter().filter(|datatype| datatype["combiner"] == "f90_real") {
        ensure!(real["size"] == 4, "{real}");
    }
    Ok(())
}
