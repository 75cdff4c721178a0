//! Consistency of reports: between the file of the run and the report from its evidence, and between each sum
//! and its parts.

use anyhow::{Context, Result, bail, ensure};
use mpi_abi::{Flags, FunctionId};
use serde_json::Value;

/// Numbers that were converted to text twice differ in their last digit.
const LAST_DIGIT: f64 = 1e-12;
/// For sums of times that were each rounded.
const ROUNDED: f64 = 1e-6;

/// Fails at the first number that differs.
pub fn same(one: &Value, other: &Value, path: &str) -> Result<()> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names = |of: &serde_json::Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
            ensure!(names(a) == names(b), "{path}: {:?} and {:?}", names(a), names(b));
            a.iter().zip(b.values()).try_for_each(|((name, a), b)| same(a, b, &format!("{path}/{name}")))
        }
        (Value::Array(a), Value::Array(b)) => {
            ensure!(a.len() == b.len(), "{path}: {} and {} elements", a.len(), b.len());
            let mut all = (0..).zip(a.iter().zip(b));
            all.try_for_each(|(at, (a, b))| same(a, b, &format!("{path}/{at}")))
        }
        (Value::Number(a), Value::Number(b)) if near(a.as_f64(), b.as_f64(), LAST_DIGIT) => Ok(()),
        _ if one == other => Ok(()),
        _ => bail!("{path}: {one} and {other}"),
    }
}

/// Checks that sums in a report equal the sums of their parts.
pub fn add_up(report: &Value) -> Result<()> {
    let ranks = list(report, "ranks")?;
    ranks.iter().try_for_each(of_a_rank)?;
    for name in ["thread_s", "bytes", "sent", "received", "lost"] {
        alike(report[name].as_f64(), sum(ranks, |rank| &rank[name]), name)?;
    }
    let moved = ["sent", "received"].map(|name| report[name].as_u64());
    // A receive that is freed early does not report what it received.
    ensure!(moved[1] <= moved[0], "{moved:?} sent and received");
    let longest = ranks.iter().filter_map(|rank| rank["wall_s"].as_f64()).fold(0.0, f64::max);
    alike(report["wall_s"].as_f64(), Some(longest), "wall time")?;
    let product = |a: &str, b: &str| Some(report[a].as_f64()? * report[b].as_f64()?);
    for (whole, a, b) in [
        ("parallel_efficiency", "load_balance", "communication_efficiency"),
        ("communication_efficiency", "serialisation_efficiency", "transfer_efficiency"),
    ] {
        alike(report[whole].as_f64(), product(a, b).or(report[whole].as_f64()), whole)?;
    }
    of_functions(report, ranks)?;
    of_messages(report)?;
    of_waits(report, ranks)?;
    in_sections(report)
}

fn of_a_rank(rank: &Value) -> Result<()> {
    let who = format!("rank {}", rank["rank"]);
    let calls: Vec<Value> = rank["calls"].as_object().context("no calls")?.values().cloned().collect();
    let threads = list(rank, "by_thread")?;
    alike(rank["mpi_s"].as_f64(), sum(&calls, |calls| &calls["time_s"]), &format!("{who}: time in MPI"))?;
    alike(rank["thread_s"].as_f64(), sum(threads, |thread| &thread["time_s"]), &format!("{who}: time"))?;
    alike(sum(&calls, |calls| &calls["count"]), sum(threads, |thread| &thread["calls"]), &who)?;
    for name in ["bytes", "sent", "received"] {
        alike(rank[name].as_f64(), sum(&calls, |calls| &calls[name]), &format!("{who}: {name}"))?;
    }
    let shares =
        ["useful_share", "mpi_share", "polling_share"].map(|name| rank[name].as_f64().unwrap_or(0.0));
    alike(Some(1.0), Some(shares.iter().sum()), &format!("{who}: shares"))
}

/// The totals of a function are the sums over the ranks, and over the call sites plus the calls without a call
/// site.
fn of_functions(report: &Value, ranks: &[Value]) -> Result<()> {
    let others = list(report, "other_calls")?;
    for function in list(report, "functions")? {
        let name = function["name"].as_str().context("no name")?;
        let sites: Vec<Value> = list(report, "sites")?
            .iter()
            .chain(others)
            .filter(|site| site["function"] == name)
            .cloned()
            .collect();
        let counts = [("count", "calls"), ("time_s", "time_s"), ("sent", "sent"), ("received", "received")];
        for (total, of_site) in counts {
            let whole = function["total"][total].as_f64();
            let what = format!("{name}: {total}");
            alike(whole, sum(ranks, |rank| &rank["calls"][name][total]), &format!("{what}, of ranks"))?;
            alike(whole, sum(&sites, |site| &site[of_site]), &format!("{what}, of call sites"))?;
        }
    }
    Ok(())
}

fn of_messages(report: &Value) -> Result<()> {
    let (messages, peers) = (&report["sections"]["messages"], list(&report["sections"], "peers")?);
    let pairs: Vec<Value> =
        peers.iter().filter_map(|one| one["pairs"].as_array()).flatten().cloned().collect();
    alike(messages["sent"].as_f64(), sum(&pairs, |pair| &pair["messages"]), "messages of pairs")?;
    // Calls also move bytes out of a rank in other ways than messages.
    let others = list(report, "functions")?;
    let others = others.iter().filter(|one| matches!(one["name"].as_str(), Some("MPI_Put" | "MPI_Rput")));
    let put: f64 = others.filter_map(|one| one["total"]["bytes"].as_f64()).sum();
    let sent = report["sent"].as_f64().map(|sent| sent - put);
    alike(sent, sum(&pairs, |pair| &pair["bytes"]), "bytes of pairs")?;
    alike(
        report["received"].as_f64(),
        sum(&pairs, |pair| &pair["received_bytes"]),
        "bytes received of pairs",
    )?;
    let sizes = list(messages, "sizes")?;
    alike(messages["sent"].as_f64(), sum(sizes, |class| &class["sent"]), "messages by size")
}

/// Waits are a part of the time in MPI, and the windows contain as many seconds of them as the section that
/// lists them.
fn of_waits(report: &Value, ranks: &[Value]) -> Result<()> {
    let waits = &report["waits"];
    alike(waits["seconds"].as_f64(), sum(list(waits, "list")?, |lost| &lost["seconds"]), "waits")?;
    of_parts(waits)?;
    let not_useful = |rank: &Value| {
        Some(rank["mpi_s"].as_f64()? + rank["polling_share"].as_f64()? * rank["thread_s"].as_f64()?)
    };
    if let Some(found) = waits["sampled"]["seconds"].as_f64() {
        let inside = ranks.iter().filter_map(not_useful);
        let (inside, exact) = (inside.sum::<f64>(), waits["seconds"].as_f64().unwrap_or(0.0));
        ensure!(exact + found <= inside + 1e-3, "{exact} s and {found} s of waits in {inside} s in MPI");
    }
    within_calls(waits, ranks)?;
    let windows = &report["windows"];
    let Some(waited) = windows["waited_s"].as_array() else { return Ok(()) };
    let whole = waits["estimated"]["seconds"].as_f64().or(waits["seconds"].as_f64()).unwrap_or(0.0);
    let sampled = ["seconds", "unsure_s"].map(|name| waits["sampled"][name].as_f64().unwrap_or(0.0));
    let said = whole + sampled.iter().sum::<f64>();
    let counted = sum(waited, |one| one).unwrap_or(0.0);
    // Concurrent waits are counted only up to the time in MPI and polling.
    ensure!(counted <= said + 1e-3, "windows have {counted} s of waits, the section has {said} s");
    for (rank, waited) in list(windows, "ranks")?.iter().zip(waited) {
        let own = ranks.iter().find(|one| Some(one["rank"].to_string().as_str()) == rank.as_str());
        let inside = own.and_then(not_useful).with_context(|| format!("no rank {rank}"))?;
        ensure!(waited.as_f64() <= Some(inside + 1e-3), "rank {rank} waited {waited} s of {inside} s in MPI");
    }
    Ok(())
}

/// No rank waited longer in a function than it was in it. Time between the calls of polling loops counts as
/// waiting, but is not in them.
fn within_calls(waits: &Value, ranks: &[Value]) -> Result<()> {
    let sampled = waits["sampled"]["list"].as_array().into_iter().flatten();
    let all: Vec<&Value> = list(waits, "list")?.iter().chain(sampled).collect();
    // Ranks of other worlds are written with their world.
    let first = ranks.first().map(|rank| &rank["world"]);
    for rank in ranks.iter().filter(|rank| Some(&rank["world"]) == first) {
        let who = rank["rank"].to_string();
        let calls = rank["calls"].as_object().context("no calls")?;
        for (function, call) in calls.iter().filter(|(name, _)| !asks(name)) {
            let open = list(rank, "by_thread")?.iter().filter(|one| one["in_call"] == function.as_str());
            let open: f64 = open.filter_map(|one| one["in_call_s"].as_f64()).sum();
            let inside = call["time_s"].as_f64().unwrap_or(0.0) + open;
            let own = all.iter().filter(|lost| lost["function"] == function.as_str());
            let own = own.filter(|lost| lost["ranks"] == who.as_str());
            let waited: f64 = own.filter_map(|lost| estimated(lost)).sum();
            ensure!(waited <= inside + 1e-3, "rank {who} waited {waited} s in {function}, {inside} s in all");
        }
    }
    Ok(())
}

/// Returns the seconds of a wait, with the estimate for what was not observed.
fn estimated(lost: &Value) -> Option<f64> {
    lost["estimated_s"].as_f64().or(lost["seconds"].as_f64())
}

/// Each wait belongs to collectives or messages on a communicator, unless it is for the lock of a window.
fn of_parts(waits: &Value) -> Result<()> {
    let others = list(waits, "list")?.iter().filter(|lost| lost["kind"] != "lock-contention");
    let whole: f64 = others.filter_map(estimated).sum();
    let messages = list(waits, "of_messages")?;
    let parts = [
        sum(list(waits, "of_collectives")?, |part| &part["seconds"]),
        sum(messages, |part| &part["sender_s"]),
        sum(messages, |part| &part["receiver_s"]),
    ];
    let parts: f64 = parts.into_iter().flatten().sum();
    // An estimate near what was observed is not listed.
    ensure!(near(Some(whole), Some(parts), 0.02), "waits of {whole} s, by communicator {parts} s");
    Ok(())
}

/// The sections contain all waits in collectives and for messages, each where it belongs; calls that free
/// their object have no row.
fn in_sections(report: &Value) -> Result<()> {
    let (waits, sections) = (&report["waits"], &report["sections"]);
    let inside = |section: &str, parts: &str| -> Result<Vec<Value>> {
        let all = list(sections, section)?.iter().filter_map(|one| one[parts].as_array());
        Ok(all.flatten().cloned().collect())
    };
    let rows: Vec<(&Value, &Value)> = list(sections, "collectives")?
        .iter()
        .flat_map(|comm| comm["functions"].as_array().into_iter().flatten().map(move |one| (comm, one)))
        .map(|(comm, one)| (&comm["identity"], &one["function"]))
        .collect();
    let has_row = |part: &Value| rows.contains(&(&part["identity"], &part["function"]));
    let (collectives, others): (Vec<Value>, Vec<Value>) =
        list(waits, "of_collectives")?.iter().cloned().partition(has_row);
    let frees = |part: &Value| {
        let free = ["MPI_Win_free", "MPI_File_close", "MPI_Comm_free", "MPI_Comm_disconnect"];
        free.iter().any(|function| part["function"] == *function)
    };
    ensure!(others.iter().all(frees), "no row has one of {others:?}");
    let sampled = waits["sampled"]["of_messages"].as_array().into_iter().flatten();
    let messages: Vec<Value> = list(waits, "of_messages")?.iter().chain(sampled).cloned().collect();
    let (functions, pairs) = (inside("collectives", "functions")?, inside("peers", "pairs")?);
    for (list, of_list, section, of_section) in [
        (&*collectives, "seconds", &functions, "wait_s"),
        (&messages, "sender_s", &pairs, "sender_wait_s"),
        (&messages, "receiver_s", &pairs, "receiver_wait_s"),
    ] {
        alike(sum(list, |part| &part[of_list]), sum(section, |part| &part[of_section]), of_section)?;
    }
    Ok(())
}

fn list<'a>(of: &'a Value, name: &str) -> Result<&'a [Value]> {
    of[name].as_array().map(Vec::as_slice).with_context(|| format!("no {name}"))
}

/// Whether a function only polls.
fn asks(function: &str) -> bool {
    FunctionId::from_name(function).is_some_and(|function| function.properties().flags.has(Flags::POLLING))
}

/// `None` if no element has a number.
fn sum<'a>(of: &'a [Value], what: impl Fn(&'a Value) -> &'a Value) -> Option<f64> {
    let mut all = of.iter().filter_map(|one| what(one).as_f64()).peekable();
    all.peek().is_some().then(|| all.sum())
}

fn near(a: Option<f64>, b: Option<f64>, part: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= part * a.abs().max(b.abs()).max(1e-3),
        _ => a.unwrap_or(0.0) == 0.0 && b.unwrap_or(0.0) == 0.0,
    }
}

fn alike(whole: Option<f64>, parts: Option<f64>, what: &str) -> Result<()> {
    ensure!(near(whole, parts, ROUNDED), "{what}: {whole:?}, but the parts are {parts:?}");
    Ok(())
}
