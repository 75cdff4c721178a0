//! Ranks with the same number in two worlds: `vars`, `ps` and the report tell them apart, and `vars` shows the same of a saved
//! job.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use crate::events::CANNOT_MEET;
use crate::inspected::job::{Job, json, text};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "hang_more", ranks: 1, needs: Needs::Nothing };
/// One process that has started two others waits for one of them, and they for it.
const SCENARIO: &str = "parent_and_children";

/// Returns why the scenario cannot run on a library, if so.
pub fn unusable(library: &Library) -> Option<&'static str> {
    match (library.family, &*library.name) {
        (Family::Intel, _) => {
            Some("it starts further processes only with other settings than this program has")
        }
        (_, "mpich-4.0") => Some(CANNOT_MEET),
        _ => None,
    }
}

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[SCENARIO], &[])?;
    let target = job.target();
    job.until("the ranks hang", || {
        Ok(json(&["why", &target, "--for", "0.3", "--json"]).unwrap_or_default()["kind"] == "deadlock")
    })?;
    let report = json(&["report", &target, "--json"])?;
    let vars = json(&["vars", &target, "--json"])?;
    let ps = json(&["ps", &target, "--json"])?;
    let completed = by_rank(&vars, "mpiscope_calls_total", "value")?;
    let current = by_rank(&vars, "mpiscope_function", "named")?;
    ensure!(completed.len() == 3, "{completed:?}");
    for rank in report["ranks"].as_array().context("no ranks")? {
        let calls = rank["calls"].as_object().context("no calls")?.values();
        let counted: u64 = calls.filter_map(|calls| calls["count"].as_u64()).sum();
        let ps = ps["ranks"].as_array().into_iter().flatten().find(|one| one["pid"] == rank["pid"]);
        let ps = ps.with_context(|| format!("ps lacks {rank}"))?;
        let who = match ps["world_number"].as_u64() {
            None | Some(0) => rank["rank"].to_string(),
            Some(world) => format!("{world}.{}", rank["rank"]),
        };
        ensure!(completed.get(&who) == Some(&counted.to_string()), "{who}: {counted} calls, {completed:?}");
        let function = rank["in_call"].as_str().map(str::to_owned);
        ensure!(current.get(&who) == function.as_ref(), "{who}: in {function:?}, {current:?}");
    }
    let shown = text(&["vars", &target])?;
    ensure!(shown.contains("ranks 0, 1.[0-1], "), "{shown}");
    let shown = text(&["inspect", &target, "--kind", "comm"])?;
    ensure!(shown.contains("MPI_COMM_WORLD: 2 processes, ranks 1.[0-1]\n"), "{shown}");
    kept(&job, &target, &vars)
}

/// Checks that an evidence file has the same values of the layer's variables, except shares of time.
fn kept(job: &Job, target: &str, live: &Value) -> Result<()> {
    let file = job.path().join("job.mpiscope");
    let file = file.to_str().context("the path is not valid text")?;
    text(&["save", target, file, "--for", "0"])?;
    let kept = json(&["vars", file, "--json"])?;
    let mut compared = 0;
    for item in kept["items"].as_array().context("no variables")? {
        let same = |other: &&Value| ["kind", "name", "class"].iter().all(|key| other[key] == item[key]);
        let other = live["items"].as_array().into_iter().flatten().find(same);
        let other = other.with_context(|| format!("only in the file: {item}"))?;
        if item["class"] == "PERCENTAGE" || item["class"] == "TIMER" {
            continue;
        }
        ensure!(item["values"] == other["values"], "saved: {item}\nrunning: {other}");
        compared += 1;
    }
    ensure!(compared > 20, "only {compared} variables were compared");
    Ok(())
}

/// A property of a variable's values by rank, for ranks such as `0` and `1.0`.
fn by_rank(vars: &Value, variable: &str, property: &str) -> Result<BTreeMap<String, String>> {
    let items = vars["items"].as_array().context("no variables")?;
    let item = items.iter().find(|item| item["name"] == variable).context("no such variable")?;
    let mut found = BTreeMap::new();
    for held in item["values"].as_array().context("no values")? {
        let value = held[property].as_str().context("no value")?;
        for part in held["ranks"].as_str().context("no ranks")?.split(", ") {
            let (world, ranks) = part.split_once('.').map_or(("", part), |(world, ranks)| (world, ranks));
            for rank in super::members(ranks) {
                let who = if world.is_empty() { rank.to_string() } else { format!("{world}.{rank}") };
                ensure!(found.insert(who, value.to_owned()).is_none(), "{part} twice: {item}");
            }
        }
    }
    Ok(found)
}
