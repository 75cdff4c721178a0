//! `mpiscope run --trace` and `mpiscope trace`: every call and message, compared with what a program of
//! random traffic says that it sent and received, and with the report of the same run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::reported::{RANKS, ledger};
use crate::subject::LIMIT;
use crate::tool::build;

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let name = format!("{}::a_trace_has_every_call_and_message_of_random_traffic", library.name);
    let (one, other) = (Arc::clone(library), Arc::clone(library));
    let window = format!("{}::a_trace_has_the_calls_in_its_window_and_none_while_it_is_paused", library.name);
    let (size, third) =
        (format!("{}::a_trace_needs_no_more_room_than_announced", library.name), Arc::clone(library));
    vec![
        checked(name, move || random_traffic(&one)),
        checked(window, move || windows(&other)),
        checked(size, move || room(&third)),
    ]
}

/// What `run` announces is an upper limit of what the images grow by, which is at least the trace of one thread.
fn room(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    build(library, &paths::programs().join("traffic.c"), &dir.path().join("traffic"), &[])?;
    let (without, _) = images(library, dir.path(), None)?;
    for size in ["64K", "8M"] {
        let (with, said) = images(library, dir.path(), Some(size))?;
        let [per_thread, messages] = announced(&said).with_context(|| format!("not announced: {said}"))?;
        for ((before, _), (now, threads)) in without.iter().zip(&with) {
            let (grown, most) = (now.saturating_sub(*before) as f64, *threads as f64 * per_thread + messages);
            // Sections of the image end at multiples of its pages; what is announced has three digits.
            ensure!(grown <= 1.01 * most + 65536.0, "{size}: {grown} bytes more, announced {most}");
            ensure!(grown >= per_thread, "{size}: only {grown} bytes more, announced {most}");
        }
    }
    Ok(())
}

/// Runs the program; returns the size of each rank's image with the number of its threads, and what was printed.
fn images(library: &Library, dir: &Path, trace: Option<&str>) -> Result<(Vec<(u64, u64)>, String)> {
    let (mpiscope, out) = (paths::mpiscope().context("no mpiscope command")?, dir.join("sized"));
    let mut command = Command::new(&mpiscope);
    command.arg("run").args(trace.map(|size| format!("--trace={size}"))).arg("--out").arg(&out);
    library.set_environment(&mut command);
    command.env("TRAFFIC_OUT", dir.join("ledger")).env("COLUMNS", "300");
    command
        .arg(&library.mpirun)
        .args(library.launch_arguments(RANKS))
        .arg(dir.join("traffic"))
        .args(["11", "3"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let report: Value = serde_json::from_slice(&std::fs::read(out.join("report.json"))?)?;
    let (ranks, memory) = (&report["ranks"], &report["sections"]["memory"]);
    let both = ranks.as_array().into_iter().flatten().zip(memory.as_array().into_iter().flatten());
    let sizes: Vec<_> = both
        .filter_map(|(rank, memory)| Some((memory["image"].as_u64()?, rank["threads"].as_u64()?)))
        .collect();
    ensure!(sizes.len() == RANKS, "{report:#}");
    Ok((sizes, outcome.stderr))
}

/// The two sizes in `the trace needs up to 8.39 MB for each thread that calls MPI, and up to 7.34 MB for …`.
fn announced(said: &str) -> Option<[f64; 2]> {
    let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, text) = text.split_once("the trace needs up to ")?;
    let (first, text) = text.split_once(" for each thread that calls MPI, and up to ")?;
    let bytes = |text: &str| {
        let (number, unit) = text.split_once(' ')?;
        let unit = ["B", "kB", "MB", "GB"].iter().position(|one| *one == unit)?;
        Some(number.parse::<f64>().ok()? * 1000_f64.powi(i32::try_from(unit).ok()?))
    };
    Some([bytes(first)?, bytes(text.split_once(" for the messages")?.0)?])
}

fn random_traffic(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = dir.path().join("traffic");
    build(library, &paths::programs().join("traffic.c"), &binary, &[])?;
    let whole = traced(library, dir.path(), "--trace=4M")?;
    messages(&whole, dir.path())?;
    calls(&whole, dir.path())?;
    bytes(&whole, dir.path())?;
    archive(&whole, dir.path())?;
    // Room for 64 calls per thread: the last ones are kept, and the others are counted.
    let last = traced(library, dir.path(), "--trace=4K")?;
    calls(&last, dir.path())?;
    let threads: Vec<&Value> = of(&last, "thread").collect();
    ensure!(threads.len() >= RANKS, "{threads:?}");
    for thread in threads {
        let (calls, gone) = (thread["calls"].as_u64().unwrap_or(0), thread["gone"].as_u64().unwrap_or(0));
        ensure!(calls <= 64 && (gone == 0 || calls == 64), "{thread}");
    }
    ensure!(last[0]["gone"].as_u64().is_some_and(|gone| gone > 0), "{}", last[0]);
    Ok(())
}

/// The lines of the trace of one run.
fn traced(library: &Library, dir: &Path, size: &str) -> Result<Vec<Value>> {
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let out = dir.join("out");
    let mut command = Command::new(&mpiscope);
    command.args(["run", "--quiet", size, "--out"]).arg(&out);
    library.set_environment(&mut command);
    command.env("TRAFFIC_OUT", dir.join("ledger"));
    let arguments = library.launch_arguments(RANKS);
    command.arg(&library.mpirun).args(arguments).arg(dir.join("traffic")).args(["11", "3"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let mut command = Command::new(&mpiscope);
    let outcome = run::bounded(command.args(["trace", "--format", "jsonl"]).arg(&out), LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    outcome.stdout.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// A time window with some calls in it and others before and after it, and a program that pauses the trace.
fn windows(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    build(library, &paths::programs().join("trace_window.c"), &dir.path().join("program"), &[])?;
    let (lines, ledger) = limited(library, dir.path(), &["--trace-window=0.3,1.3"], "1600")?;
    let [from, until] = [300_000_000, 1_300_000_000_u64];
    let start = lines[0]["start_unix_ns"].as_u64().context("no start")?;
    for call in of(&lines, "call") {
        let at = |name: &str| Some(start + call[name].as_u64()?);
        let rank = call["rank"].as_u64().context("no rank")?;
        let [before, behind, _] = ledger.get(&rank).with_context(|| format!("no output of rank {rank}"))?;
        // The rank's first call begins between the two. The clocks of a process are read one after the other.
        let slack = 5_000_000;
        let in_time =
            at("end_ns") >= Some(before + from - slack) && at("begin_ns") < Some(behind + until + slack);
        ensure!(in_time, "not in the window: {call}, {ledger:?}, {start}");
    }
    let ranks = |lines: &[Value], function: &str| -> Vec<u64> {
        let calls = of(lines, "call").filter(|call| call["function"] == function);
        let mut ranks: Vec<u64> = calls.filter_map(|call| call["rank"].as_u64()).collect();
        ranks.sort_unstable();
        ranks
    };
    let mut seen = ranks(&lines, "MPI_Barrier");
    seen.dedup();
    ensure!(seen.len() == RANKS, "ranks {seen:?} have calls in the window");
    let (lines, _) = limited(library, dir.path(), &[], "0")?;
    let all: Vec<u64> = (0..RANKS as u64).flat_map(|rank| [rank; 3]).collect();
    let (paused, later) = (ranks(&lines, "MPI_Bcast"), ranks(&lines, "MPI_Exscan"));
    ensure!(paused.is_empty() && later == all, "while paused {paused:?}, later {later:?}");
    ensure!(!ranks(&lines, "MPI_Barrier").is_empty(), "no calls before the pause");
    Ok(())
}

/// Times printed by each rank: before and after `MPI_Init`, and at the end.
type Printed = BTreeMap<u64, [u64; 3]>;

fn limited(library: &Library, dir: &Path, options: &[&str], argument: &str) -> Result<(Vec<Value>, Printed)> {
    let (mpiscope, out) = (paths::mpiscope().context("no mpiscope command")?, dir.join("out"));
    let mut command = Command::new(&mpiscope);
    command.args(["run", "--quiet", "--trace"]).args(options).arg("--out").arg(&out);
    library.set_environment(&mut command);
    command.arg(&library.mpirun).args(library.launch_arguments(RANKS)).arg(dir.join("program")).arg(argument);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let ledger = outcome.stdout.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse);
        Some((numbers.next()?.ok()?, [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?]))
    });
    let ledger = ledger.collect();
    let outcome =
        run::bounded(Command::new(&mpiscope).args(["trace", "--format", "jsonl"]).arg(&out), LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let lines = outcome.stdout.lines().map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<_>>()?;
    Ok((lines, ledger))
}

fn of<'a>(lines: &'a [Value], event: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["event"] == event)
}

/// Checks that the OTF2 archive has as many events as there are lines, for users of other tools.
fn archive(lines: &[Value], dir: &Path) -> Result<()> {
    let Some(print) = paths::in_path("otf2-print") else {
        eprintln!(
            "the OTF2 archive is not checked: otf2-print is not installed (package otf2-tools on Debian)"
        );
        return Ok(());
    };
    let (mpiscope, folder) = (paths::mpiscope().context("no mpiscope command")?, dir.join("archive"));
    let mut command = Command::new(mpiscope);
    let command = command.args(["trace", "--format", "otf2", "-o"]).arg(&folder).arg(dir.join("out"));
    let outcome = run::bounded(command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let outcome = run::bounded(Command::new(&print).arg(folder.join("traces.otf2")), LIMIT)?;
    ensure!(outcome.success() && outcome.stderr.is_empty(), "{}", outcome.describe());
    let printed = |names: &[&str]| {
        let events = outcome.stdout.lines().filter_map(|line| line.split_whitespace().next());
        events.filter(|event| names.contains(event)).count()
    };
    let all = of(lines, "call").count();
    ensure!(
        printed(&["ENTER"]) == all && printed(&["LEAVE"]) == all,
        "not {all} calls: {}",
        outcome.describe()
    );
    let (sent, received) = (printed(&["MPI_SEND", "MPI_ISEND"]), printed(&["MPI_RECV", "MPI_IRECV"]));
    let with = |time: &str| of(lines, "message").filter(|message| !message[time].is_null()).count();
    ensure!((sent, received) == (with("begin_ns"), with("end_ns")), "{sent} sent, {received} received");
    let collectives =
        of(lines, "call").filter(|call| call["function"] == "MPI_Barrier" || call["function"] == "MPI_Bcast");
    let (begun, ended) = (printed(&["MPI_COLLECTIVE_BEGIN"]), printed(&["MPI_COLLECTIVE_END"]));
    let collectives = collectives.count();
    ensure!(
        (begun, ended) == (collectives, collectives),
        "{begun} and {ended} collectives, not {collectives}"
    );
    let definitions = run::bounded(Command::new(print).arg("-G").arg(folder.join("traces.otf2")), LIMIT)?;
    let well = definitions.success() && definitions.stderr.is_empty();
    ensure!(well && definitions.stdout.contains("MPI_COMM_WORLD"), "{}", definitions.describe());
    Ok(())
}

/// Checks messages and bytes from rank to rank.
fn messages(lines: &[Value], dir: &Path) -> Result<()> {
    let mut found = BTreeMap::new();
    for message in of(lines, "message") {
        let number = |name: &str| message[name].as_u64().with_context(|| format!("{message}"));
        let slot: &mut [u64; 2] =
            found.entry((number("rank")? as usize, number("to_rank")? as usize)).or_default();
        slot[0] += 1;
        slot[1] += number("bytes")?;
        // The ticks of each rank are converted separately.
        let late = number("end_ns")? + 1_000_000;
        ensure!(number("begin_ns")? <= late, "received before it was sent: {message}");
    }
    let (ledger, _) = ledger(dir)?;
    let ledger: BTreeMap<_, _> = ledger.into_iter().map(|(key, [.., n, bytes])| (key, [n, bytes])).collect();
    ensure!(found == ledger, "the trace has {found:?}, the program counted {ledger:?}");
    Ok(())
}

/// Checks that the calls of each function moved as many bytes as in the report: those of a receive count for the call that
/// started it, however it was completed.
fn bytes(lines: &[Value], dir: &Path) -> Result<()> {
    if lines[0]["gone"].as_u64() != Some(0) {
        return Ok(());
    }
    let report: Value = serde_json::from_slice(&std::fs::read(dir.join("out/report.json"))?)?;
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    for call in of(lines, "call") {
        *found.entry(call["function"].as_str().context("no function")?).or_default() +=
            call["bytes"].as_u64().context("no bytes")?;
    }
    let functions = report["functions"].as_array().context("no functions")?;
    let reported =
        functions.iter().filter_map(|one| Some((one["name"].as_str()?, one["total"]["bytes"].as_u64()?)));
    let moving =
        |all: BTreeMap<_, _>| all.into_iter().filter(|(_, bytes)| *bytes > 0).collect::<BTreeMap<_, _>>();
    let (found, reported) = (moving(found), moving(reported.collect()));
    ensure!(found == reported, "the trace has {found:?}, the report {reported:?}");
    Ok(())
}

/// Checks that calls in the trace plus those lost from it equal the report's, for each function except
/// look-ups, which have no times.
fn calls(lines: &[Value], dir: &Path) -> Result<()> {
    let report: Value = serde_json::from_slice(&std::fs::read(dir.join("out/report.json"))?)?;
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    let mut collectives: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    for call in of(lines, "call") {
        *found.entry(call["function"].as_str().context("no function")?).or_default() += 1;
        ensure!(call["begin_ns"].as_u64() <= call["end_ns"].as_u64(), "{call}");
        if let (Some("MPI_COMM_WORLD"), Some(number)) = (call["object"].as_str(), call["collective"].as_u64())
        {
            *collectives.entry(("MPI_COMM_WORLD", number)).or_default() += 1;
        }
    }
    let functions = report["functions"].as_array().context("no functions")?;
    let reported = functions.iter().filter_map(|function| {
        let (name, total) = (function["name"].as_str()?, &function["total"]);
        total["time_s"].as_f64().and(Some((name, total["count"].as_u64()?)))
    });
    let reported: BTreeMap<&str, u64> = reported.filter(|(_, count)| *count > 0).collect();
    // Polling loops may have filled a ring of any size; then some calls are missing, as many as stated.
    let gone = lines[0]["gone"].as_u64().context("no count")?;
    let fits = found.iter().all(|(name, count)| reported.get(name).is_some_and(|all| count <= all));
    ensure!(fits, "the trace has {found:?}, the report {reported:?}");
    let (kept, all) = (found.values().sum::<u64>(), reported.values().sum::<u64>());
    ensure!(kept + gone == all, "{kept} calls plus {gone} missing ones are not {all}");
    let alike = |count: &u64| *count as usize == RANKS;
    ensure!(gone > 0 || !collectives.is_empty() && collectives.values().all(alike), "{collectives:?}");
    Ok(())
}
