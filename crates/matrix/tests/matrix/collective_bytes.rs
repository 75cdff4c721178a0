//! Bytes of collectives: every view agrees with the program's own numbers for each rank.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use crate::inspected::job::{Job, json, text};
use crate::subject::{Subject, word};
use crate::sums;
use crate::totals::members;

const PROGRAM: Program = Program { name: "collective_bytes", ranks: 3, needs: Needs::Nothing };

/// Bytes by function.
pub type Parts = BTreeMap<String, u64>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let (subject, own) = (Arc::clone(subject), Arc::clone(library));
    let name = format!("{}::bytes_of_collectives_are_those_of_each_rank", library.name);
    vec![checked(name, move || check(&subject, &own))]
}

/// Starts a program with a trace, and waits until it has made all calls that are checked.
pub fn ready(subject: &Subject, library: &Library, program: &Program) -> Result<Job> {
    let what = [word(&subject.binary(program, library)?)];
    let mut job = Job::start_words(library, program.ranks, &what, &|command| {
        command.env("MPISCOPE_TRACE", "4M");
    })?;
    job.all_ready()?;
    Ok(job)
}

fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = ready(subject, library, &PROGRAM)?;
    let known: Vec<Parts> = (0..PROGRAM.ranks).map(|rank| known(&job, rank)).collect::<Result<_>>()?;
    let variables = variables(&job.target())?;
    job.signal("go")?;
    job.finish()?;
    let report = job.report()?;
    sums::add_up(&report)?;
    let ranks = report["ranks"].as_array().context("no ranks")?;
    ensure!(ranks.len() == known.len(), "{} ranks", ranks.len());
    for (rank, known) in ranks.iter().zip(&known) {
        let who = &rank["rank"];
        for (name, bytes) in known {
            let found = &rank["calls"][name]["bytes"];
            ensure!(*found == *bytes, "rank {who}: {name}: {found}, the program counted {bytes}");
        }
        ensure!(rank["bytes"] == known.values().sum::<u64>(), "rank {who}: {}", rank["bytes"]);
    }
    let all: u64 = known.iter().flat_map(Parts::values).sum();
    ensure!(variables == all, "mpiscope_bytes: {variables}, the program counted {all}");
    let of_sites = |list: &str| -> u64 {
        report[list].as_array().into_iter().flatten().filter_map(|site| site["collective"].as_u64()).sum()
    };
    let of_sites = of_sites("sites") + of_sites("other_calls");
    ensure!(of_sites == all, "call sites: {of_sites}, the program counted {all}");
    let on = |name: &str| -> u64 {
        let comms = report["sections"]["collectives"].as_array().into_iter().flatten();
        comms.filter_map(|comm| comm[name].as_u64()).sum()
    };
    ensure!(on("bytes") == all, "on communicators {}, the program counted {all}", on("bytes"));
    let out = job.path().join("out").display().to_string();
    for (rank, known) in traced(&out, PROGRAM.ranks)?.iter().zip(&known) {
        let (rank, known) = (by_start(rank), by_start(known));
        ensure!(rank == known, "the trace has {rank:?}, the program counted {known:?}");
    }
    Ok(())
}

/// A trace shows the bytes of a persistent collective where it is started rather than where it is created;
/// the program starts them with `MPI_Start` and `MPI_Startall` in turn.
fn by_start(known: &Parts) -> Parts {
    let mut all = Parts::new();
    for (name, bytes) in known.iter().filter(|(_, bytes)| **bytes > 0) {
        let persistent = name.ends_with("_init") || name.ends_with("_init_c") || name == "MPI_Startall";
        let name = if persistent { "MPI_Start" } else { name };
        *all.entry(name.to_owned()).or_default() += bytes;
    }
    all
}

/// The bytes moved by the calls of each rank that are in the trace.
pub fn traced(out: &str, ranks: usize) -> Result<Vec<Parts>> {
    let mut all = vec![Parts::new(); ranks];
    for line in text(&["trace", "--format", "jsonl", out])?.lines() {
        let call: Value = serde_json::from_str(line)?;
        let (Some(name), Some(bytes)) = (call["function"].as_str(), call["bytes"].as_u64()) else {
            continue;
        };
        let rank = call["rank"].as_u64().and_then(|rank| all.get_mut(rank as usize));
        *rank.context("no such rank")?.entry(name.to_owned()).or_default() += bytes;
    }
    Ok(all)
}

fn known(job: &Job, rank: usize) -> Result<Parts> {
    let text = fs::read_to_string(job.path().join(format!("bytes.{rank}")))?;
    let one = |line: &str| {
        let (name, bytes) = line.split_once(' ').with_context(|| line.to_owned())?;
        Ok((name.to_owned(), bytes.parse()?))
    };
    text.lines().map(one).collect()
}

/// The sum over all ranks from the tool interface.
fn variables(target: &str) -> Result<u64> {
    let all = json(&["vars", "--json", target])?;
    let items = all["items"].as_array().context("no variables")?;
    let item = items.iter().find(|item| item["name"] == "mpiscope_bytes").context("no mpiscope_bytes")?;
    let of_ranks = |value: &Value| {
        let each: u64 = value["value"].as_str()?.parse().ok()?;
        Some(each * members(value["ranks"].as_str()?) as u64)
    };
    let values = item["values"].as_array().context("no values")?;
    values.iter().map(|value| of_ranks(value).with_context(|| value.to_string())).sum()
}
