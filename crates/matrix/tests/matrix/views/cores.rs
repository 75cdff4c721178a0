//! Core files of hanging ranks: every command that reads them says the same, and the same as for the live
//! ranks.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use crate::inspected::fortran_waits::core_of;
use crate::inspected::job::{Job, json, text};
use crate::subject::Subject;

const HANG: Program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };

/// Ranks that wait for each other's requests, so that there are calls, requests and a cycle to compare.
const SCENARIO: &str = "wait_for_receives";

/// Properties of a call that `ps` shows for a live rank and for its core file.
const CALL: [&str; 5] = ["function", "object", "count", "place", "return_address"];

/// Properties of a request that `inspect` and `core` show.
const REQUEST: [&str; 8] = ["handle", "uid", "operation", "object", "peer", "tag", "count", "datatype"];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&HANG, subject, library, &[SCENARIO], &[])?;
    let target = job.target();
    let mut live = Value::Null;
    job.until("the ranks hang", || {
        live = json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default();
        Ok(live["kind"] == "deadlock")
    })?;
    let ranks = json(&["ps", &target, "--here", "--json"])?["ranks"].take();
    let ranks = ranks.as_array().filter(|ranks| ranks.len() == HANG.ranks).context("ranks are missing")?;
    let folder = job.path().join("cores");
    std::fs::create_dir(&folder)?;
    let files: Vec<String> =
        ranks.iter().map(|rank| core_of(&rank["pid"], &folder)).collect::<Result<_>>()?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let core = json(&[&["core", "--json"][..], &files].concat())?;
    verdicts(&live, &core["why"], &json(&[&["why", "--json"][..], &files].concat())?)?;
    names(&json(&["vars", &target, "--json"])?, &json(&[&["vars", "--json"][..], &files].concat())?)?;
    elements(&text(&[&["vars", "--search", "mpiscope_"][..], &files].concat())?)?;
    for (rank, file) in ranks.iter().zip(&files) {
        let deaths = core["deaths"].as_array().context("no deaths")?;
        let death = deaths.iter().find(|d| d["rank"] == rank["rank"]).context("a rank is missing")?;
        let kept = json(&["ps", file, "--json"])?["ranks"][0].take();
        calls(rank, &kept, death)?;
        requests(&json(&["inspect", file, "--kind", "request", "--json"])?, death)?;
        times(&json(&["report", file, "--json"])?, &kept)?;
    }
    Ok(())
}

/// Checks that values of mpiscope's variables have the same names as in the running job, whose library knows them.
fn names(live: &Value, kept: &Value) -> Result<()> {
    let items = |report: &Value| report["items"].as_array().cloned().unwrap_or_default();
    let mut compared = 0;
    for item in items(kept).iter().filter(|item| item["kind"] != "enumeration") {
        let same = |other: &&Value| ["kind", "name", "class"].iter().all(|key| other[key] == item[key]);
        let lives = items(live);
        let Some(other) = lives.iter().find(same) else { continue };
        for held in item["values"].as_array().into_iter().flatten() {
            let values = other["values"].as_array();
            let there = values.and_then(|all| all.iter().find(|one| one["value"] == held["value"]));
            let Some(there) = there else { continue };
            ensure!(there["named"] == held["named"], "running: {there}\nof core files: {held}");
            compared += usize::from(held["named"].is_string());
        }
    }
    ensure!(compared >= 5, "only {compared} names were compared: {kept:#}");
    Ok(())
}

/// Checks that the elements of arrays are named in the text, not numbered.
fn elements(text: &str) -> Result<()> {
    for (variable, element) in [("mpiscope_calls", " = MPI_"), ("mpiscope_live_objects", " = MPI_")] {
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{variable} = ")));
        ensure!(line.is_some_and(|line| line.contains(element)), "{variable}: {text}");
    }
    Ok(())
}

/// Checks that `report` counts the time in the open call until the end of the process, as `ps` does.
fn times(report: &Value, kept: &Value) -> Result<()> {
    let age_s = main_thread(kept)?["age_s"].as_f64().context("no age")?;
    let rank = &report["ranks"][0];
    let (wall_s, in_call_s) = (rank["wall_s"].as_f64(), rank["in_call_s"].as_f64());
    let (wall_s, in_call_s) = (wall_s.context("no wall time")?, in_call_s.context("no open call")?);
    // Every command measures the clock rate of the processor anew.
    let close = |one: f64, other: f64| (one - other).abs() <= 0.05 + other / 10.0;
    ensure!(
        wall_s + 0.05 >= age_s && close(in_call_s, age_s),
        "ps: in the call for {age_s} s; report: wall {wall_s} s, in the call {in_call_s} s"
    );
    Ok(())
}

/// Checks that `core` has the verdict of `why` for the files, and that both match the one for the live ranks.
fn verdicts(live: &Value, core: &Value, why: &Value) -> Result<()> {
    ensure!(without_ages(core) == without_ages(why), "core: {core:#}\nwhy: {why:#}");
    for key in ["verdict", "kind", "cycle", "stuck"] {
        ensure!(live[key] == why[key], "{key}, live: {live:#}\nof core files: {why:#}");
    }
    let seen = |verdict: &Value| -> Vec<Value> {
        let facts = |line: &Value| ["ranks", "what", "place", "stuck"].map(|key| line[key].clone());
        verdict["evidence"].as_array().into_iter().flatten().flat_map(facts).collect()
    };
    ensure!(seen(live) == seen(why), "live: {:#?}\nof core files: {:#?}", seen(live), seen(why));
    Ok(())
}

/// Removes ages: they depend on the processor's clock rate, which every command measures anew.
pub fn without_ages(verdict: &Value) -> Value {
    let mut verdict = verdict.clone();
    for line in verdict["evidence"].as_array_mut().into_iter().flatten() {
        line["since_s"].take();
    }
    verdict
}

/// Checks that the open call of a rank's main thread is the same in `ps` of the job, `ps` of the core file,
/// and `core`.
fn calls(live: &Value, kept: &Value, death: &Value) -> Result<()> {
    let call = |rank: &Value| main_thread(rank).map(|thread| thread["call"].clone());
    let (live, kept, dead) = (call(live)?, call(kept)?, call(death)?);
    ensure!(kept == dead, "ps: {kept:#}\ncore: {dead:#}");
    for key in CALL {
        ensure!(live[key] == kept[key], "{key}, live: {}, of the core file: {}", live[key], kept[key]);
    }
    Ok(())
}

fn main_thread(rank: &Value) -> Result<&Value> {
    let threads = rank["threads"].as_array().context("no threads")?;
    threads.iter().find(|thread| thread["main"] == true).context("no main thread")
}

/// Checks that the pending requests are the same in `inspect` and in `core`.
fn requests(inspected: &Value, death: &Value) -> Result<()> {
    let objects = inspected["objects"].as_array().or(inspected["ranks"][0]["objects"].as_array());
    let objects = objects.with_context(|| format!("no objects: {inspected:#}"))?;
    let pending = death["pending"].as_array().context("no requests")?;
    ensure!(!pending.is_empty(), "no pending receive");
    for request in pending {
        let same = |object: &&Value| object["uid"] == request["uid"];
        let object = objects.iter().find(same).with_context(|| format!("missing in inspect: {request:#}"))?;
        for key in REQUEST {
            let (one, other) = (&object[key], &request[key]);
            ensure!(one == other && !one.is_null(), "{key}, inspect: {one}, core: {other}");
        }
    }
    Ok(())
}
