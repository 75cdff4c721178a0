//! Several threads of a rank in MPI at once: each is shown, and no share exceeds the whole.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use super::{agree, inside, shares_are_parts};
use crate::inspected::job::{Job, json};
use crate::subject::Subject;

const PROGRAM: Program = Program { name: "threads_inside", ranks: 2, needs: Needs::Nothing };
/// The function that the threads are in.
const FUNCTION: &str = "MPI_Recv";
/// The tag that the first of them waits for.
const TAG: i64 = 100;

pub fn one(subject: &Subject, library: &Library) -> Result<()> {
    check(subject, library, 1, "exit")?;
    check(subject, library, 1, "finalize")
}

pub fn two(subject: &Subject, library: &Library) -> Result<()> {
    check(subject, library, 2, "exit")?;
    check(subject, library, 2, "finalize")
}

pub fn eight(subject: &Subject, library: &Library) -> Result<()> {
    check(subject, library, 8, "exit")
}

/// `threads` threads of each rank wait in a receive, while the thread that initialized MPI is outside.
fn check(subject: &Subject, library: &Library, threads: usize, end: &str) -> Result<()> {
    let mut job = Job::start_of(&PROGRAM, subject, library, &[&threads.to_string(), end], &[])?;
    let target = job.target();
    job.each_has("started")?;
    let mut ps = Value::Null;
    job.until("each thread is in its call", || {
        ps = json(&["ps", &target, "--here", "--json"])?;
        Ok((0..2).all(|rank| waiting(&ps, rank).is_ok_and(|tags| tags.len() == threads)))
    })
    .with_context(|| format!("last seen: {ps}"))?;
    job.signal("look")?;
    job.each_has("ready.inside")?;
    let vars = json(&["vars", &target, "--json"])?;
    job.signal("go")?;
    job.each_has("ready.after")?;
    for rank in 0..2 {
        beginner_is_main(&ps, rank, threads)?;
        agree(&job, "inside", rank, &vars)?;
        percentages(&job, rank)?;
    }
    job.signal("end")?;
    job.finish()?;
    let report = job.report()?;
    shares_are_parts(&report)?;
    rows(&report, threads, end == "exit")
}

fn rank_of(report: &Value, rank: usize) -> Result<&Value> {
    let ranks = report["ranks"].as_array().context("no ranks")?;
    ranks.iter().find(|r| r["rank"] == rank).with_context(|| format!("no rank {rank}: {report}"))
}

fn threads_of<'a>(rank: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    rank[key].as_array().with_context(|| format!("no {key}: {rank}"))
}

/// The tags that a rank's threads wait for.
fn waiting(ps: &Value, rank: usize) -> Result<BTreeSet<i64>> {
    let threads = threads_of(rank_of(ps, rank)?, "threads")?;
    let calls = threads.iter().map(|thread| &thread["call"]);
    Ok(calls
        .filter(|call| call["function"] == FUNCTION)
        .filter_map(|call| call["tag"].as_str()?.parse().ok())
        .collect())
}

fn beginner_is_main(ps: &Value, rank: usize, inside: usize) -> Result<()> {
    let tags: Vec<i64> = waiting(ps, rank)?.into_iter().collect();
    ensure!(tags == (TAG..TAG + inside as i64).collect::<Vec<_>>(), "{tags:?}");
    let threads = threads_of(rank_of(ps, rank)?, "threads")?;
    let main: Vec<_> = threads.iter().filter(|thread| thread["main"] == true).collect();
    ensure!(main.len() == 1 && main[0]["call"].is_null(), "{main:?}");
    // Afterward the thread has only looked up its rank.
    ensure!(main[0]["last_call"]["function"] == "MPI_Init_thread", "{main:?}");
    Ok(())
}

/// Checks that percentages read by a tool inside are parts of a whole.
fn percentages(job: &Job, rank: usize) -> Result<()> {
    for suffix in ["", ".after"] {
        for ((name, class), value) in inside(job, "inside", rank, suffix)? {
            let above = |part: &str| part.parse::<f64>().is_ok_and(|part| part > 1.0 + 1e-9);
            ensure!(class != "PERCENTAGE" || !value.split(' ').any(above), "{name} of rank {rank}: {value}");
        }
    }
    Ok(())
}

/// Checks that each thread's open call is in the report, and that the time in it is counted for the function.
fn rows(report: &Value, inside: usize, open: bool) -> Result<()> {
    let (mut all, mut seen) = (0.0, 0.0);
    for rank in 0..2 {
        let of_rank = rank_of(report, rank)?;
        let threads = threads_of(of_rank, "by_thread")?;
        let open_calls = threads.iter().filter(|thread| thread["in_call"] == FUNCTION);
        let wanted = if open { inside } else { 0 };
        ensure!(open_calls.count() == wanted, "{of_rank}");
        ensure!(threads.len() == inside + 1, "{of_rank}");
        all += of_rank["thread_s"].as_f64().context("no thread_s")?;
        seen += threads.iter().filter_map(|thread| thread["in_call_s"].as_f64()).sum::<f64>();
    }
    let functions = report["functions"].as_array().context("no functions")?;
    let receive = functions.iter().find(|f| f["name"] == FUNCTION).context("the receives are missing")?;
    let ranks = receive["max"]["time_s"].as_f64().context("no time")?;
    let time = receive["total"]["time_s"].as_f64().context("no time")?;
    ensure!(time <= all && ranks <= all && (!open || time >= seen - 1e-6), "of {all} s: {receive}");
    let count = receive["total"]["count"].as_u64();
    ensure!(count == Some(if open { 0 } else { 2 * inside as u64 }), "{receive}");
    Ok(())
}
