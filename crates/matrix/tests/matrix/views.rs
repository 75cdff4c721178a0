//! Consistency of all views of a rank, from inside and from outside, by all commands that show it.

pub mod cores;
mod names;
mod spawned;
mod threads;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use crate::inspected::job::{Job, json, text};
use crate::subject::Subject;

const ROLES: Program = Program { name: "thread_roles", ranks: 2, needs: Needs::Nothing };

const LATE: Program = Program { name: "late_start", ranks: 2, needs: Needs::Nothing };

const CORES: &str = "core_files_of_a_hung_job_give_the_same_in_core_why_ps_and_inspect";
const BOUND: Program = Program { name: "bound_values", ranks: 2, needs: Needs::Nothing };

const SPAWNED: &str = "the_variables_of_each_rank_of_two_worlds_are_its_own_live_and_saved";

type Check = fn(&Subject, &Library) -> Result<()>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let checks: [(&'static str, Check); 9] = [
        ("variables_of_objects_are_the_same_from_inside_and_outside", bound),
        ("a_polling_thread_does_not_hide_the_one_that_communicates", roles),
        ("one_thread_in_mpi_is_shown_next_to_the_main_thread", threads::one),
        ("two_threads_in_mpi_are_shown_next_to_the_main_thread", threads::two),
        ("eight_threads_in_mpi_are_shown_next_to_the_main_thread", threads::eight),
        ("a_rank_that_has_not_called_mpi_is_shown_with_one_that_waits_for_it", late),
        ("an_object_that_one_rank_has_named_has_one_label_in_all_views", names::check),
        (CORES, cores::check),
        (SPAWNED, spawned::check),
    ];
    let trial = |(what, check): (&'static str, Check)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        let missing = paths::in_path("gcore").is_none() && what == CORES;
        let name = format!("{}::views::{what}", library.name);
        if missing {
            return crate::skipped(name, "gcore is not installed (package gdb)");
        }
        if what == CORES && library.family == Family::Intel {
            return crate::skipped(name, "its ranks end while a debugger takes core files of them");
        }
        if what == SPAWNED
            && let Some(why) = spawned::unusable(&library)
        {
            return crate::skipped(name, why);
        }
        checked(name, move || check(&subject, &library))
    };
    checks.into_iter().map(trial).collect()
}

/// Values by name and class; elements are separated by spaces.
type Values = BTreeMap<(String, String), String>;

/// The values that the program read through `MPI_T`.
fn inside(job: &Job, stage: &str, rank: usize, suffix: &str) -> Result<Values> {
    let text = fs::read_to_string(job.path().join(format!("{stage}.{rank}{suffix}")))?;
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let key = (words.next()?.to_owned(), words.next()?.to_owned());
        Some((key, words.next()?.to_owned()))
    };
    text.lines().map(|l| line(l).with_context(|| format!("unexpected line {l:?}"))).collect()
}

/// The values of our variables of a rank in `mpiscope vars`.
fn outside(report: &Value, rank: usize) -> Result<Values> {
    let items = report["items"].as_array().context("no items")?;
    let mut values = Values::new();
    for item in items.iter().filter(|item| item["kind"] == "pvar") {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        for held in item["values"].as_array().into_iter().flatten() {
            let unbound = held["object"].is_null();
            if unbound && members(held["ranks"].as_str().unwrap_or_default()).contains(&rank) {
                let value = held["value"].as_str().unwrap_or_default();
                values.insert((text("name"), text("class")), value.to_owned());
            }
        }
    }
    Ok(values)
}

/// The ranks of `3` or `[0-1,3]`.
fn members(set: &str) -> Vec<usize> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    set.trim_matches(['[', ']']).split(',').filter_map(range).flatten().collect()
}

/// Checks that all variables have the same values from both sides. Times depend on the processor's clock
/// rate, which the process measures once and each command measures anew; shares change meanwhile, so they are
/// read before and after.
fn agree(job: &Job, stage: &str, rank: usize, report: &Value) -> Result<()> {
    let (before, after) = (inside(job, stage, rank, "")?, inside(job, stage, rank, ".after")?);
    let outside = outside(report, rank)?;
    let (mut compared, mut wrong) = (0, Vec::new());
    for (key, output) in &before {
        // The high watermark of live objects is known only to tools inside.
        if key.0 == "mpiscope_live_objects_high" {
            continue;
        }
        let Some(seen) = outside.get(key) else {
            wrong.push(format!("{key:?} is not visible from outside"));
            continue;
        };
        let later = after.get(key).unwrap_or(output);
        if !same(output, later, seen) {
            wrong.push(format!(
                "{key:?}: inside {}, then {}; outside {}",
                brief(output),
                brief(later),
                brief(seen)
            ));
        }
        compared += 1;
    }
    ensure!(wrong.is_empty(), "rank {rank}, {stage}:\n{}", wrong.join("\n"));
    ensure!(compared > 60, "only {compared} variables were compared");
    Ok(())
}

fn same(before: &str, after: &str, seen: &str) -> bool {
    let numbers = |text: &str| text.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>();
    match (numbers(before), numbers(after), numbers(seen)) {
        (Ok(before), Ok(after), Ok(seen)) if before.len() == seen.len() && after.len() == seen.len() => {
            let within = |((a, b), s): ((&f64, &f64), &f64)| {
                let slack = if a.fract() == 0.0 && s.fract() == 0.0 {
                    0.0
                } else {
                    1e-6 + 2e-2 * a.abs().max(b.abs())
                };
                a.min(*b) - slack <= *s && *s <= a.max(*b) + slack
            };
            before.iter().zip(&after).zip(&seen).all(within)
        }
        _ => before == seen,
    }
}

fn brief(value: &str) -> String {
    value.chars().take(200).collect()
}

/// The thread of a rank that called `MPI_Init`, in the output of `ps`.
fn communicating(report: &Value, rank: usize) -> Result<&Value> {
    let ranks = report["ranks"].as_array().context("no ranks")?;
    let rank =
        ranks.iter().find(|r| r["rank"] == rank).with_context(|| format!("no rank {rank}: {report}"))?;
    let threads = rank["threads"].as_array().context("no threads")?;
    threads.iter().find(|t| t["main"] == true).with_context(|| format!("no main thread: {rank}"))
}

fn roles(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&ROLES, subject, library, &[], &[])?;
    let target = job.target();
    // The states are the values of `mpiscope_state`.
    let stages = [
        ("blocked", "4", "blocked in a receive or probe", "MPI_Recv"),
        ("left", "1", "computing", "MPI_Barrier"),
        ("polling", "9", "polling", "MPI_Iprobe"),
    ];
    for (stage, state, status, function) in stages {
        job.each_has(&format!("ready.{stage}"))?;
        let vars = json(&["vars", &target, "--json"])?;
        let ps = json(&["ps", &target, "--here", "--json"])?;
        job.signal(&format!("go.{stage}"))?;
        let next = job.path().to_owned();
        job.until("both have written their variables", || {
            Ok((0..2).all(|rank| next.join(format!("{stage}.{rank}.after")).exists()))
        })?;
        for rank in 0..2 {
            let known = inside(&job, stage, rank, "")?;
            let key = ("mpiscope_state".to_owned(), "STATE".to_owned());
            ensure!(
                known.get(&key).map(String::as_str) == Some(state),
                "{stage}: {:?} inside",
                known.get(&key)
            );
            let seen = outside(&vars, rank)?;
            ensure!(
                seen.get(&key).map(String::as_str) == Some(state),
                "{stage}: {:?} outside",
                seen.get(&key)
            );
            if stage != "polling" {
                agree(&job, stage, rank, &vars)?;
            }
            let thread = communicating(&ps, rank)?;
            let call = if thread["call"].is_null() { &thread["last_call"] } else { &thread["call"] };
            ensure!(call["function"] == function, "{stage}: {thread}");
            ensure!(
                thread["call"].is_null() != (stage == "blocked") || stage == "polling",
                "{stage}: {thread}"
            );
            ensure!(thread["polling_s"].is_null() != (stage == "polling"), "{stage}: {thread}");
            let of_rank = ps["ranks"].as_array().and_then(|ranks| ranks.iter().find(|r| r["rank"] == rank));
            let of_rank = of_rank.context("a rank is missing")?;
            ensure!(of_rank["activity"] == status, "{stage}: {of_rank}");
            let last = (stage == "left").then_some(&thread["thread"]);
            ensure!(stage == "polling" || of_rank.get("last_thread") == last, "{stage}: {of_rank}");
        }
    }
    job.finish()?;
    shares(&job.report()?)
}

/// Rank 0 waits for rank 1 in `MPI_Init`, or has already left it if the library does not wait.
fn late(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&LATE, subject, library, &[], &[])?;
    job.all_ready()?;
    let target = job.target();
    let mut states = Vec::new();
    job.until("both ranks are shown", || {
        let Ok(ps) = json(&["ps", &target, "--here", "--json"]) else { return Ok(false) };
        let state = |rank: usize| {
            let ranks = ps["ranks"].as_array()?;
            ranks.iter().find(|r| r["rank"] == rank)?["state"].as_str().map(str::to_owned)
        };
        states = vec![state(0), state(1)];
        let begun = states.first().cloned().flatten().is_some_and(|s| s == "in MPI_Init" || s == "running");
        Ok(begun && states.last() == Some(&Some("has not called MPI".to_owned())))
    })
    .with_context(|| format!("last seen: {states:?}"))?;
    let ps = json(&["ps", &target, "--here", "--json"])?;
    let pid = |rank: usize| {
        let ranks = ps["ranks"].as_array().context("no ranks")?;
        let of = ranks.iter().find(|r| r["rank"] == rank).context("a rank is missing")?;
        of["pid"].as_u64().with_context(|| format!("no process: {of}"))
    };
    waited_for(&mut job, &target)?;
    listed(pid(0)?, pid(1)?)?;
    listed(pid(1)?, pid(1)?)?;
    kept(&job, &target, pid(1)?)?;
    job.signal("go")?;
    job.finish()
}

/// Checks that `why` says the same about it as `ps`, and that the other rank waits for it.
fn waited_for(job: &mut Job, target: &str) -> Result<()> {
    let mut verdict = Value::Null;
    job.until("the rank is waited for", || {
        verdict = json(&["why", target, "--here", "--json"])?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let culprit = &verdict["culprits"][0];
        let lines = verdict["evidence"].as_array().context("no evidence")?;
        // If MPI_Init does not wait, the rank waits in the barrier after it.
        let awaited = ["waiting for rank 1 to call MPI_Init", "not entered by rank 1"];
        let says = |line: &Value| awaited.iter().any(|words| text(&line["what"]).contains(words));
        Ok(verdict["kind"] == "slow"
            && culprit["ranks"] == "1"
            && text(&culprit["what"]).starts_with("has not called MPI_Init yet: ")
            && lines.iter().any(says)
            && verdict["unseen"] == "")
    })
    .with_context(|| format!("last: {verdict}"))
}

/// Checks that `procs` lists the rank that has not called MPI, whichever process it starts from, and that
/// `attach` reaches it.
fn listed(from: u64, silent: u64) -> Result<()> {
    let from = from.to_string();
    let procs = json(&["procs", &from, "--here", "--json"])?;
    let listed = procs["processes"].as_array().context("no processes")?;
    let is_it = |entry: &&Value| entry["pid"] == silent;
    let of: Vec<&Value> = listed.iter().filter(is_it).collect();
    ensure!(of.len() == 1 && of[0]["rank"] == 1 && of[0]["silent"] == true, "from {from}: {procs}");
    ensure!(listed.iter().filter(|entry| entry["silent"] == true).count() == 1, "from {from}: {procs}");
    let table = text(&["procs", &from, "--here"])?;
    ensure!(table.lines().any(|line| line.contains("(has not called MPI)")), "{table}");
    let answer = text(&["attach", &from, "--ranks", "1", "--batch", "info inferiors"])?;
    ensure!(answer.contains("rank 1 (1 process)") && answer.contains(&silent.to_string()), "{answer}");
    Ok(())
}

/// Checks that an evidence file shows it like the views of the running job.
fn kept(job: &Job, target: &str, silent: u64) -> Result<()> {
    let file = job.path().join("late.mpiscope");
    let file = file.to_str().context("the path is not valid text")?;
    text(&["save", target, file, "--here"])?;
    let ps = json(&["ps", file, "--json"])?;
    let ranks = ps["ranks"].as_array().context("no ranks")?;
    let is_it = |rank: &&Value| rank["pid"] == silent;
    let of: Vec<&Value> = ranks.iter().filter(is_it).collect();
    ensure!(of.len() == 1 && of[0]["rank"] == 1 && of[0]["state"] == "has not called MPI", "{ps}");
    ensure!(ps["silent"] == 0, "counted in addition to its row: {ps}");
    let why = json(&["why", file, "--json"])?;
    let culprit = &why["culprits"][0];
    let what = culprit["what"].as_str().unwrap_or_default();
    ensure!(culprit["ranks"] == "1" && what.starts_with("has not called MPI_Init yet: "), "{why}");
    let procs = json(&["procs", file, "--json"])?;
    let listed = procs["processes"].as_array().context("no processes")?;
    let of: Vec<&Value> = listed.iter().filter(is_it).collect();
    ensure!(of.len() == 1 && of[0]["rank"] == 1 && of[0]["silent"] == true, "{procs}");
    Ok(())
}

/// Checks the values of variables that are bound to objects, each with its object's name.
fn bound(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(&BOUND, subject, library, &[], &[])?;
    job.all_ready()?;
    let target = job.target();
    let report = json(&["vars", &target, "--json"])?;
    let table = text(&["vars", &target])?;
    let length = fs::read_to_string(job.path().join("length"))?;
    job.signal("go")?;
    job.finish()?;
    ensure!(length == "1 0", "a tool in the process counted {length} messages");
    for (variable, object, rank, value) in [
        ("MPI_T_UMQ_LENGTH", "grid", 1, "1"),
        ("mpiscope_unexpected_messages", "grid", 1, "1"),
        ("mpiscope_unexpected_messages", "grid", 0, "0"),
        ("mpiscope_unexpected_messages", "halves", 1, "0"),
        ("mpiscope_messages_sent", "grid", 0, "0 3"),
        ("mpiscope_bytes_sent", "grid", 0, "0 12"),
        ("mpiscope_comm_size", "MPI_COMM_WORLD", 1, "2"),
        ("mpiscope_collectives", "MPI_COMM_SELF", 1, "0"),
        ("mpiscope_puts", "board", 0, "1"),
        ("mpiscope_window_size", "board", 1, "4"),
    ] {
        let seen = of_object(&report, variable, object, rank)?;
        ensure!(seen == value, "{variable} of {object}, rank {rank}: {seen}, not {value}");
    }
    let at = table.find("  mpiscope_unexpected_messages\n").with_context(|| table.clone())?;
    ensure!(table[at..].lines().nth(1).is_some_and(|l| l.starts_with("      of \"grid\" = ")), "{table}");
    Ok(())
}

/// A rank's value of a variable for the object with this name.
fn of_object(report: &Value, variable: &str, object: &str, rank: usize) -> Result<String> {
    let items = report["items"].as_array().context("no items")?;
    let item = items.iter().find(|item| item["kind"] == "pvar" && item["name"] == variable);
    let item = item.with_context(|| format!("no {variable}"))?;
    let is_it = |held: &&Value| {
        let ranks = members(held["ranks"].as_str().unwrap_or_default());
        held["object"]["name"] == object && ranks.contains(&rank)
    };
    let held = item["values"].as_array().and_then(|values| values.iter().find(is_it));
    let held = held.with_context(|| format!("no value for {object}, rank {rank}: {item}"))?;
    Ok(held["value"].as_str().unwrap_or_default().to_owned())
}

/// Checks that shares are parts of a whole, and that polling loops are recognized.
fn shares(report: &Value) -> Result<()> {
    shares_are_parts(report)?;
    for rank in report["ranks"].as_array().context("no ranks")? {
        ensure!(part(rank, "polling_share")? > 0.0, "{rank}");
    }
    Ok(())
}

fn part(of: &Value, key: &str) -> Result<f64> {
    of[key].as_f64().with_context(|| format!("no {key}: {of}"))
}

/// Checks the shares of the job, of each rank and of each thread.
fn shares_are_parts(report: &Value) -> Result<()> {
    let whole = |of: &Value| -> Result<()> {
        let sum = part(of, "mpi_share")? + part(of, "polling_share")?;
        ensure!(sum <= 1.0 + 1e-9, "{of}");
        Ok(())
    };
    for rank in report["ranks"].as_array().context("no ranks")? {
        whole(rank)?;
        rank["by_thread"].as_array().context("no threads")?.iter().try_for_each(whole)?;
    }
    whole(report)
}
