//! Totals of a program that knows its traffic: all views agree with the report, and the report with the
//! program.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::inspected::job::{Job, json, mpiscope, text, words};
use crate::subject::{Form, LIMIT, Subject, word};
use crate::sums;

const PROGRAM: Program = Program { name: "totals", ranks: 3, needs: Needs::Nothing };
const ROUNDS: u64 = 60;
/// The length of a tick is measured anew by every command.
const CLOCK: f64 = 1e-6;

/// Calls, seconds, bytes of functions.
type Functions = BTreeMap<String, (u64, Option<f64>, u64)>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let checks: [(&str, Check); 2] = [
        ("totals_equal_those_of_the_program_in_every_view", check),
        ("nested_calls_are_not_counted_twice_as_time_in_mpi", nested),
    ];
    let trial = |(name, check): (&str, Check)| {
        let (subject, own) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::{name}", library.name), move || check(&subject, &own))
    };
    checks.into_iter().map(trial).collect()
}

type Check = fn(&Subject, &Library) -> Result<()>;

/// A callback waits for half a second in a call inside another call, then each rank computes for half a
/// second.
fn nested(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "nested_waits", ranks: 2, needs: Needs::Nothing };
    let what = [word(&subject.binary(&program, library)?)];
    let ran = subject.launch(library, program.ranks, Form::AroundLauncher, &what, &|_| ())?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let out = ran.out().display().to_string();
    let printed = text(&["report", "--section", "time", &out])?;
    ensure!(printed.contains("in two rows"), "{printed}");
    let report = json(&["report", "--json", &out])?;
    let ranks = report["ranks"].as_array().context("no ranks")?;
    let sum = |name: &str| ranks.iter().filter_map(|rank| rank[name].as_f64()).sum::<f64>();
    let outside = sum("thread_s") - sum("mpi_s");
    ensure!(outside >= 0.98, "{outside} s outside of MPI: {printed}");
    let row = printed.lines().find_map(|line| line.trim_start().strip_prefix("(not in MPI)"));
    let words: Vec<&str> = row.context("no row")?.split_whitespace().collect();
    let [_, time, unit, ..] = words[..] else { anyhow::bail!("{words:?}") };
    let seconds = time.parse::<f64>()? * if unit == "ms" { 1e-3 } else { 1.0 };
    ensure!((seconds - outside).abs() < 0.01 * outside, "{seconds} s, not {outside} s: {printed}");
    Ok(())
}

fn check(subject: &Subject, library: &Library) -> Result<()> {
    let what = [word(&subject.binary(&PROGRAM, library)?), ROUNDS.to_string().into()];
    let mut job = Job::start_words(library, PROGRAM.ranks, &what, &|command| {
        command.env("MPISCOPE_TRACE", "4M").env("MPISCOPE_RECORD_MESSAGES", "1");
    })?;
    job.all_ready()?;
    let target = job.target();
    let report = json(&["report", "--json", &target])?;
    sums::add_up(&report)?;
    as_the_program_says(&job, &report)?;
    metrics(&target, &report)?;
    top(&target, &report)?;
    vars(&target, &report)?;
    page(&job, &target)?;
    python(&target, &report)?;
    job.signal("go")?;
    job.finish()?;
    let ended = job.report()?;
    let mut functions = functions(&ended)?;
    // It is only in the report at the end.
    functions.remove("MPI_Finalize");
    alike("the report of the end", &functions, &self::functions(&report)?)?;
    let out = job.path().join("out").display().to_string();
    sums::same(&ended, &json(&["report", "--json", &out])?, "")?;
    summary(&out, &ended)?;
    trace(&out, &ended)
}

fn functions(report: &Value) -> Result<Functions> {
    let list = report["functions"].as_array().context("no functions")?;
    let one = |function: &Value| {
        let total = &function["total"];
        let name = function["name"].as_str()?.to_owned();
        Some((name, (total["count"].as_u64()?, total["time_s"].as_f64(), total["bytes"].as_u64()?)))
    };
    list.iter().map(|function| one(function).with_context(|| function.to_string())).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= CLOCK * a.abs().max(b.abs())
}

fn number(of: &Value, name: &str) -> Result<f64> {
    of[name].as_f64().with_context(|| format!("no {name}"))
}

/// Checks that functions, calls and bytes are the same, and times within the accuracy of the clock.
fn alike(view: &str, found: &Functions, report: &Functions) -> Result<()> {
    for name in found.keys().chain(report.keys()) {
        let both = [found, report].map(|all| all.get(name).copied());
        let [Some(a), Some(b)] = both else { anyhow::bail!("{view}: {name}: {both:?}") };
        let times = a.1.is_some() == b.1.is_some() && near(a.1.unwrap_or(0.0), b.1.unwrap_or(0.0));
        ensure!((a.0, a.2) == (b.0, b.2) && times, "{view}: {name}: {a:?}, in the report {b:?}");
    }
    Ok(())
}

fn as_the_program_says(job: &Job, report: &Value) -> Result<()> {
    let said = fs::read_to_string(job.path().join("stdout"))?;
    let words: Vec<&str> = said.split_whitespace().collect();
    let ["messages", messages, "bytes", bytes, "rounds", _] = words[..] else { anyhow::bail!("{said}") };
    let found = &report["sections"]["messages"];
    let messages: u64 = messages.parse()?;
    ensure!(found["sent"] == messages && found["received"] == messages, "{messages}: {found}");
    let known = functions(report)?;
    let ranks = PROGRAM.ranks as u64;
    for name in
        ["Sendrecv", "Irecv", "Isend", "Waitall", "Send", "Probe", "Recv", "Bcast", "Allreduce", "Put"]
    {
        let calls = known.get(&format!("MPI_{name}")).map(|function| function.0);
        ensure!(calls == Some(ROUNDS * ranks), "{name}: {calls:?}");
    }
    let put = known.get("MPI_Put").map_or(0, |put| put.2);
    let bytes: u64 = bytes.parse()?;
    ensure!(report["received"] == bytes && report["sent"] == bytes + put, "{bytes}, {put} put: {report}");
    let peers = report["sections"]["peers"].to_string();
    ensure!(peers.contains(&(bytes / ranks).to_string()), "{}: {peers}", bytes / ranks);
    Ok(())
}

/// Parses the metrics by name and labels, and compares them.
fn metrics(target: &str, report: &Value) -> Result<()> {
    let printed = text(&["metrics", target])?;
    let mut all: BTreeMap<(String, String), f64> = BTreeMap::new();
    for line in printed.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').context("no number")?;
        let function = name.split_once("function=\"").and_then(|(_, rest)| rest.split('"').next());
        let name = name.split('{').next().unwrap_or(name);
        all.insert((name.to_owned(), function.unwrap_or_default().to_owned()), value.parse()?);
    }
    // Times are in whole microseconds.
    let near = |a: f64, b: f64| near(a, b) || (a - b).abs() < 1e-6;
    let of = |name: &str, function: &str| all.get(&(name.to_owned(), function.to_owned())).copied();
    for (name, (calls, time_s, _)) in functions(report)? {
        ensure!(of("mpiscope_calls_total", &name) == Some(calls as f64), "{name}: {calls}: {printed}");
        let found = of("mpiscope_call_seconds_total", &name);
        ensure!(found.is_some() == time_s.is_some(), "{name}: {found:?}, {time_s:?}");
        ensure!(near(found.unwrap_or(0.0), time_s.unwrap_or(0.0)), "{name}: {found:?}, {time_s:?}");
    }
    let messages = &report["sections"]["messages"];
    for (name, value) in [
        ("mpiscope_sent_bytes_total", number(report, "sent")?),
        ("mpiscope_received_bytes_total", number(report, "received")?),
        ("mpiscope_messages_sent_total", number(messages, "sent")?),
        ("mpiscope_messages_in_flight", number(messages, "sent")? - number(messages, "received")?),
        ("mpiscope_operations_pending", number(messages, "pending")?),
        ("mpiscope_lost_records_total", number(report, "lost")?),
        ("mpiscope_ranks", PROGRAM.ranks as f64),
    ] {
        ensure!(of(name, "") == Some(value), "{name}: {:?}, not {value}", of(name, ""));
    }
    let ranks = report["ranks"].as_array().context("no ranks")?;
    let mpi_s: f64 = ranks.iter().filter_map(|rank| rank["mpi_s"].as_f64()).sum();
    ensure!(
        of("mpiscope_mpi_seconds_total", "").is_some_and(|found| near(found, mpi_s)),
        "{mpi_s}: {printed}"
    );
    Ok(())
}

/// One line of the stream: the totals of each rank, without changes in between.
fn top(target: &str, report: &Value) -> Result<()> {
    let line = json(&["top", "--once", "--json", target])?;
    let mut found = Functions::new();
    for function in
        line["ranks"].as_array().into_iter().flatten().flat_map(|rank| rank["functions"].as_array()).flatten()
    {
        let name = function["name"].as_str().context("no name")?.to_owned();
        let sum = found.entry(name).or_insert((0, function["time_s"].as_f64().map(|_| 0.0), 0));
        sum.0 += function["calls"].as_u64().unwrap_or(0);
        sum.1 = sum.1.map(|time| time + function["time_s"].as_f64().unwrap_or(0.0));
        sum.2 += function["bytes"].as_u64().unwrap_or(0);
    }
    alike("top", &found, &functions(report)?)?;
    ensure!(line["functions"] == Value::Array(Vec::new()), "expected no calls: {}", line["functions"]);
    ensure!(line["mpi_share"] == 0.0 && line["in_flight"] == 0 && line["pending"] == 0, "{line}");
    Ok(())
}

fn vars(target: &str, report: &Value) -> Result<()> {
    let all = json(&["vars", "--json", target])?;
    let items = all["items"].as_array().context("no variables")?;
    // Over all ranks, and over all elements of array variables.
    let sum = |name: &str| {
        let values = items
            .iter()
            .filter(|item| item["name"] == name)
            .flat_map(|item| item["values"].as_array())
            .flatten();
        values
            .map(|value| {
                let elements = value["value"].as_str().unwrap_or("").split(' ');
                let each: f64 = elements.filter_map(|element| element.parse::<f64>().ok()).sum();
                each * members(value["ranks"].as_str().unwrap_or("")) as f64
            })
            .sum::<f64>()
    };
    let known = functions(report)?;
    let calls: u64 = known.values().map(|function| function.0).sum();
    let time_s: f64 = known.values().filter_map(|function| function.1).sum();
    for (name, value) in [
        ("mpiscope_calls_total", calls as f64),
        ("mpiscope_calls", calls as f64),
        ("mpiscope_time_total", time_s),
        ("mpiscope_time", time_s),
        ("mpiscope_bytes", number(report, "bytes")?),
        ("mpiscope_bytes_out", number(report, "sent")?),
        ("mpiscope_bytes_in", number(report, "received")?),
        ("mpiscope_messages_sent", number(&report["sections"]["messages"], "sent")?),
        ("mpiscope_messages_received", number(&report["sections"]["messages"], "received")?),
        ("mpiscope_lost_records", number(report, "lost")?),
        ("mpiscope_MPI_Probe", known.get("MPI_Probe").map_or(0.0, |function| function.0 as f64)),
        (
            "mpiscope_MPI_Win_fence_time",
            known.get("MPI_Win_fence").and_then(|function| function.1).unwrap_or(0.0),
        ),
    ] {
        ensure!((sum(name) - value).abs() <= 1e-6 * value.abs() + 1e-6, "{name}: {}, not {value}", sum(name));
    }
    Ok(())
}

/// The number of members in `[0-2]`, `1` or `[0,2]`.
pub fn members(set: &str) -> usize {
    let parts = set.trim_matches(['[', ']']).split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| match part.split_once('-') {
            Some((first, last)) => last.parse().unwrap_or(0usize) + 1 - first.parse().unwrap_or(0usize),
            None => 1,
        })
        .sum()
}

/// Checks that the page has the same rows as the text.
fn page(job: &Job, target: &str) -> Result<()> {
    let file = job.path().join("page.html");
    let outcome = mpiscope(&words(&["report", "--html", &file.display().to_string(), target]))?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let page = fs::read_to_string(file)?;
    let rows: Vec<Vec<String>> = page.split("<tr>").skip(1).map(cells).collect();
    let printed = text(&["report", "--section", "time", target])?;
    for name in ["MPI_Sendrecv", "MPI_Win_fence", "MPI_Put", "MPI_Probe", "MPI_Allreduce"] {
        let line = printed.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        let line: String = line.context("no row")?.split_whitespace().collect();
        // Its share refers to a time that has not ended.
        let row = rows
            .iter()
            .find(|row| row.first().is_some_and(|cell| cell == name))
            .context("no row in the page")?;
        let [_, calls, time, _, least, .., bytes] = &row[..] else { anyhow::bail!("{row:?}") };
        for cell in [calls, time, least, bytes] {
            ensure!(line.contains(&cell.replace(' ', "")), "{cell:?} of {row:?} is not in {line}");
        }
    }
    Ok(())
}

fn cells(row: &str) -> Vec<String> {
    let row = row.split("</tr>").next().unwrap_or(row);
    let cells = row.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text.to_owned());
    cells.filter(|text| !text.is_empty()).collect()
}

fn python(target: &str, report: &Value) -> Result<()> {
    let script = "import mpiscope, sys\n\
        report = mpiscope.job(sys.argv[1]).report()\n\
        for f in report.functions: print(f.name, f.total.count, f.total.bytes)\n\
        print('sums', report.sent, report.received, report.sections.messages.sent)\n";
    let mut command = Command::new("python3");
    command.args(["-c", script, target]).env("PYTHONPATH", paths::workspace().join("python"));
    command.env("MPISCOPE", paths::mpiscope().context("no mpiscope command")?);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let mut expected: Vec<String> = functions(report)?
        .into_iter()
        .map(|(name, (calls, _, bytes))| format!("{name} {calls} {bytes}"))
        .collect();
    let messages = &report["sections"]["messages"]["sent"];
    expected.push(format!("sums {} {} {messages}", report["sent"], report["received"]));
    let mut found: Vec<&str> = outcome.stdout.lines().collect();
    found.sort_unstable();
    expected.sort_unstable();
    ensure!(found == expected, "{found:?}, in the report {expected:?}");
    Ok(())
}

fn summary(out: &str, report: &Value) -> Result<()> {
    let line: Value = serde_json::from_str(&text(&["report", "--summary", out])?)?;
    for name in ["sent", "received", "wall_s", "lost", "load_balance", "parallel_efficiency"] {
        ensure!(
            near(number(&line, name)?, number(report, name)?),
            "{name}: {}, {}",
            line[name],
            report[name]
        );
    }
    ensure!(line["messages"] == report["sections"]["messages"]["sent"], "{line}");
    Ok(())
}

/// Checks the trace: each call except look-ups, each message.
fn trace(out: &str, report: &Value) -> Result<()> {
    let lines = text(&["trace", "--format", "jsonl", out])?;
    let (mut calls, mut messages, mut bytes) = (Functions::new(), 0u64, 0u64);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)?;
        match line["event"].as_str() {
            Some("call") => {
                let name = line["function"].as_str().context("no function")?.to_owned();
                let ns = number(&line, "end_ns")? - number(&line, "begin_ns")?;
                let sum = calls.entry(name).or_insert((0, Some(0.0), 0));
                (sum.0, sum.1) = (sum.0 + 1, sum.1.map(|time| time + ns / 1e9));
                sum.2 += line["bytes"].as_u64().context("no bytes")?;
            }
            Some("message") => {
                messages += 1;
                bytes += line["bytes"].as_u64().unwrap_or(0);
            }
            _ => {}
        }
    }
    for (name, (count, time_s, moved)) in
        functions(report)?.into_iter().filter(|(_, function)| function.1.is_some())
    {
        let (found, seconds, traced) = calls.get(&name).copied().unwrap_or_default();
        ensure!(traced == moved, "{name}: {traced} bytes in the trace, {moved} in the report");
        let rounded = 2e-9 * count as f64;
        let difference = (seconds.unwrap_or(0.0) - time_s.unwrap_or(0.0)).abs();
        let allowed = rounded + CLOCK * time_s.unwrap_or(0.0);
        ensure!(found == count && difference <= allowed, "{name}: {found}, {seconds:?}; {count}, {time_s:?}");
    }
    let known = &report["sections"]["messages"];
    ensure!(known["sent"] == messages && report["received"] == bytes, "{messages} of {bytes} bytes: {known}");
    Ok(())
}
