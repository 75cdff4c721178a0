//! Compares the output of `mpiscope run --out DIR` with the calls that the program says it made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mpi_abi::FunctionId;
use serde::Deserialize;

/// The part of `report.json` (schema `mpiscope.report/1`) that the tests use.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// Name and version of the schema.
    pub schema: String,
    /// `mpich`, `openmpi` or `standard`.
    pub abi: Option<String>,
    /// Ranks in `MPI_COMM_WORLD`.
    pub size: Option<i64>,
    /// The calls of each rank.
    pub ranks: Vec<Rank>,
    /// All functions.
    #[serde(default)]
    pub functions: Vec<Function>,
    /// The call sites.
    #[serde(default)]
    pub sites: Vec<Place>,
    /// Waits between ranks.
    pub waits: Option<Waits>,
    /// The run divided into time windows.
    pub windows: Option<Windows>,
    /// The reason why a running job has no windows.
    pub not_followed: Option<String>,
    #[allow(missing_docs)]
    pub communication_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub serialisation_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub transfer_efficiency: Option<f64>,
    /// Calls without a known call site.
    #[serde(default)]
    pub other_calls: Vec<Place>,
    /// Errors found in the run.
    pub findings: Vec<Finding>,
}

/// A function, over all ranks.
#[derive(Debug, Deserialize)]
pub struct Function {
    /// The name.
    pub name: String,
    /// Sums over the ranks.
    pub total: Calls,
}

/// Waits between ranks.
#[derive(Debug, Deserialize)]
pub struct Waits {
    #[allow(missing_docs)]
    pub list: Vec<Wait>,
    /// The origins of the waits.
    pub causes: Vec<Cause>,
    /// The observed share of the time in calls that can wait.
    pub seen_share: f64,
    /// Whether messages were observed.
    pub messages: bool,
    /// Number of observations.
    pub looks: u64,
    /// Number of collectives that were entered.
    pub collectives: u64,
    /// Number of these that were observed.
    pub collectives_seen: u64,
    /// Number of locks of windows.
    #[serde(default)]
    pub locks: u64,
    #[allow(missing_docs)]
    #[serde(default)]
    pub locks_seen: u64,
    /// Number of messages that were received.
    pub messages_received: u64,
    /// Number of these that were observed at both ends.
    pub messages_seen: u64,
    /// The estimate for the whole run.
    pub estimated: Option<Estimated>,
    /// Waits for messages, found by sampling what ranks wait for.
    pub sampled: Option<Sampled>,
}

/// Waits that were found by sampling.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Sampled {
    pub looks: u64,
    pub seconds: f64,
    pub error_s: f64,
    pub list: Vec<Wait>,
}

/// An estimated number of seconds.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Estimated {
    pub seconds: f64,
    pub error_s: f64,
}

/// The run divided into time windows.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Windows {
    pub ranks: Vec<String>,
    pub list: Vec<Window>,
    pub iterations: Option<Iterations>,
    pub said: Vec<String>,
    #[serde(default)]
    pub growing: Vec<Growth>,
}

/// A rank whose memory grows.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Growth {
    pub rank: usize,
    pub bytes_per_minute: f64,
    pub from_bytes: u64,
    pub until_bytes: u64,
}

/// The iterations of the program.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Iterations {
    pub count: u64,
    pub collectives: u32,
    pub functions: Vec<String>,
}

/// A time window.
#[derive(Debug, Deserialize)]
pub struct Window {
    /// The rank that computed longest.
    pub slowest: Option<usize>,
    /// Number of iterations completed when it began.
    pub iterations_over: Option<f64>,
    #[allow(missing_docs)]
    pub communication_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub serialisation_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub transfer_efficiency: Option<f64>,
}

/// Waits of one kind, in one place, for one rank.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Wait {
    pub kind: String,
    pub function: String,
    pub line: Option<String>,
    pub seconds: f64,
    #[serde(default)]
    pub estimated_s: Option<f64>,
    pub culprit: String,
    pub meanwhile: String,
    #[serde(default)]
    pub began: Vec<Began>,
}

/// A part of a wait that another rank caused.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Began {
    pub culprit: String,
    pub doing: String,
    pub seconds: f64,
}

/// A rank that made others wait, directly or through ranks it delayed.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Cause {
    pub culprit: String,
    pub doing: String,
    pub ranks: String,
    pub seconds: f64,
    pub handed_on_s: f64,
}

/// A place that a function was called from.
#[derive(Debug, Deserialize)]
pub struct Place {
    /// The function.
    pub function: String,
    /// The source line, if known.
    #[serde(default)]
    pub place: String,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in the calls; `None` if they were not timed.
    pub time_s: Option<f64>,
    #[allow(missing_docs)]
    pub sent: u64,
    #[allow(missing_docs)]
    pub received: u64,
    #[allow(missing_docs)]
    pub collective: u64,
    /// Number of calls by duration.
    #[serde(default)]
    pub durations: Vec<Length>,
}

/// Calls of similar duration.
#[derive(Debug, Deserialize)]
pub struct Length {
    #[allow(missing_docs)]
    pub calls: u64,
}

/// Whether the layer only counts the calls of a function.
fn is_look_up(name: &str) -> bool {
    // It reveals a communicator that the program did not create, and is recorded like the calls that create
    // one.
    let reveals = name == "MPI_Comm_get_parent";
    let id = FunctionId::from_name(name).filter(|_| !reveals);
    id.is_some_and(|id| id.properties().flags.has(mpi_abi::Flags::LOOKUP))
}

/// Lists the discrepancies between the functions' call sites and their totals.
#[must_use]
pub fn misplaced(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in &report.functions {
        let of = |place: &&Place| place.function == function.name;
        let sum = |of_one: fn(&Place) -> u64| report.sites.iter().filter(of).map(of_one).sum::<u64>();
        let all = &function.total;
        let total = (all.count, all.sent, all.received, all.bytes - all.sent - all.received);
        let placed = (sum(|p| p.calls), sum(|p| p.sent), sum(|p| p.received), sum(|p| p.collective));
        let times: Vec<f64> = report.sites.iter().filter(of).filter_map(|place| place.time_s).collect();
        let same = match all.time_s {
            Some(all) => (times.iter().sum::<f64>() - all).abs() <= 1e-6 * all.max(1.0),
            None => times.is_empty(),
        };
        if total != placed || !same {
            let (name, time) = (&function.name, all.time_s);
            wrong.push(format!(
                "{name}: {total:?} in {time:?} s, at its call sites {placed:?} in {times:?} s"
            ));
        }
    }
    // Without times there are no durations.
    let lengths = |place: &Place| place.durations.iter().map(|d| d.calls).sum::<u64>();
    let ended = report
        .sites
        .iter()
        .filter(|place| lengths(place) != if place.time_s.is_some() { place.calls } else { 0 });
    wrong.extend(ended.map(|place| format!("{place:?}: durations of other calls")));
    wrong.extend(report.functions.iter().filter(|f| is_look_up(&f.name)).filter_map(|f| {
        let timed = f.total.time_s?;
        Some(format!("{}: {timed} s in calls that are not timed by default", f.name))
    }));
    wrong.extend(report.other_calls.iter().map(|other| format!("without a call site: {other:?}")));
    wrong
}

/// An error found in the run.
#[derive(Debug, Clone, Deserialize)]
pub struct Finding {
    /// The kind, as a stable word.
    pub kind: String,
    /// The ranks concerned.
    pub ranks: String,
    /// The source line.
    pub line: Option<String>,
    /// The message.
    pub sentence: String,
}

/// A rank in the report.
#[derive(Debug, Deserialize)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`; `None` for a process that never had one.
    pub rank: Option<i64>,
    /// Process id.
    pub pid: Option<u64>,
    /// Whether it reached `MPI_Finalize`.
    #[serde(default)]
    pub finalized: bool,
    /// Number of lost records.
    #[serde(default)]
    pub lost: u64,
    /// The calls by the function's name in the standard.
    #[serde(default)]
    pub calls: BTreeMap<String, Calls>,
}

/// A function on one rank.
#[derive(Debug, Deserialize)]
pub struct Calls {
    /// Number of calls.
    pub count: u64,
    /// Seconds in the calls; `None` if they were not timed.
    #[serde(default)]
    pub time_s: Option<f64>,
    /// Bytes moved.
    #[serde(default)]
    pub bytes: u64,
    /// Bytes sent by the process.
    #[serde(default)]
    pub sent: u64,
    /// Bytes received by the process.
    #[serde(default)]
    pub received: u64,
}

/// The calls that a process says it made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Process id, if the program knows it.
    pub pid: Option<u64>,
    /// Rank; negative if the program never asked.
    pub rank: i64,
    /// Whether records must have been lost, and counted.
    pub losses: bool,
    /// Whether other functions may have been called too.
    pub subset: bool,
    /// Alternative names of a function, with their common count.
    pub calls: Vec<(Vec<String>, u64)>,
}

/// Whether the layer does not intercept the function, because there is nothing to record and interposing it
/// would disturb programs that probe for an MPI library.
fn untracked(name: &str) -> bool {
    FunctionId::from_name(name).and_then(FunctionId::function).is_some_and(|function| !function.is_traced())
}

/// Reads `report.json` in `dir`.
///
/// # Errors
/// If it is missing, is not JSON or has another schema.
pub fn read(dir: &Path) -> Result<Report> {
    let file = dir.join("report.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no report in {}", file.display()))?;
    let report: Report =
        serde_json::from_str(&text).with_context(|| format!("{} is not valid", file.display()))?;
    anyhow::ensure!(report.schema == "mpiscope.report/1", "unknown schema {:?}", report.schema);
    Ok(report)
}

/// Reads all `*.expect` files in `dir`, by rank.
///
/// # Errors
/// If one cannot be read or parsed.
pub fn expectations(dir: &Path) -> Result<Vec<Expected>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "expect") {
            let text = fs::read_to_string(&path)?;
            all.push(parse(&text).with_context(|| format!("cannot parse {}", path.display()))?);
        }
    }
    all.sort_by_key(|expected| expected.rank);
    Ok(all)
}

fn parse(text: &str) -> Result<Expected> {
    let mut expected = Expected::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["PID", pid] => expected.pid = Some(pid.parse()?),
            ["RANK", rank] => expected.rank = rank.parse()?,
            ["LOSSES"] => expected.losses = true,
            ["SUBSET"] => expected.subset = true,
            ["EXPECT", names, count] => {
                expected.calls.push((names.split('|').map(str::to_owned).collect(), count.parse()?));
            }
            [] => {}
            _ => anyhow::bail!("unexpected line {line:?}"),
        }
    }
    Ok(expected)
}

/// Describes every difference between the report and the processes' own counts; empty if there is none.
#[must_use]
pub fn differences(report: &Report, expected: &[Expected]) -> Vec<String> {
    let mut wrong = Vec::new();
    if expected.is_empty() {
        wrong.push("no process wrote its calls".to_owned());
    }
    for one in expected {
        match find(report, one) {
            Some(rank) => compare(rank, one, &mut wrong),
            None => wrong.push(format!("rank {} (pid {:?}) is not in the report", one.rank, one.pid)),
        }
    }
    wrong
}

fn find<'a>(report: &'a Report, expected: &Expected) -> Option<&'a Rank> {
    let by_pid = report.ranks.iter().find(|rank| rank.pid.is_some() && rank.pid == expected.pid);
    by_pid.or_else(|| {
        let mut same = report.ranks.iter().filter(|rank| rank.rank == Some(expected.rank));
        same.next().filter(|_| expected.pid.is_none())
    })
}

fn compare(rank: &Rank, expected: &Expected, wrong: &mut Vec<String>) {
    let me = expected.rank;
    match (rank.lost, expected.losses) {
        (0, true) => wrong.push(format!("rank {me} must have lost records but reports none")),
        (1.., false) => wrong.push(format!("rank {me} lost {} records", rank.lost)),
        _ => {}
    }
    for (names, count) in &expected.calls {
        let seen: u64 = names.iter().filter_map(|name| rank.calls.get(name)).map(|calls| calls.count).sum();
        if seen != *count && !(seen == 0 && names.iter().all(|name| untracked(name))) {
            wrong.push(format!(
                "rank {me}: {} was called {count} times, the report has {seen}",
                names.join(" or ")
            ));
        }
    }
    if expected.subset {
        return;
    }
    for (name, calls) in &rank.calls {
        let known = expected.calls.iter().any(|(names, _)| names.contains(name));
        if calls.count != 0 && !known && !untracked(name) {
            wrong.push(format!("rank {me}: {name} was never called, the report has {}", calls.count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(calls: &str) -> Report {
        let text = format!(
            r#"{{"schema":"mpiscope.report/1","abi":"mpich","size":1,"findings":[],"ranks":[
                {{"rank":0,"pid":7,"finalized":true,"lost":0,"calls":{{{calls}}}}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn said(text: &str) -> Vec<Expected> {
        vec![parse(text).unwrap()]
    }

    const SAID: &str = "PID 7\nRANK 0\nEXPECT MPI_Send 2\nEXPECT MPI_Finalize 1\n";

    #[test]
    fn equal_counts_are_no_difference() {
        let report = report(r#""MPI_Send":{"count":2},"MPI_Finalize":{"count":1},"MPI_Wtime":{"count":9}"#);
        assert_eq!(differences(&report, &said(SAID)), Vec::<String>::new());
    }

    #[test]
    fn an_extra_or_missing_call_or_a_wrong_name_is_reported() {
        let report = report(r#""MPI_Send":{"count":3},"PMPI_Finalize":{"count":1}"#);
        let wrong = differences(&report, &said(SAID));
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].contains("MPI_Send was called 2 times, the report has 3"));
        assert!(wrong[2].contains("PMPI_Finalize was never called"));
    }

    #[test]
    fn a_rank_that_is_missing_is_reported() {
        let wrong = differences(&report(""), &said("PID 8\nRANK 1\nEXPECT MPI_Send 1\n"));
        assert_eq!(wrong, ["rank 1 (pid Some(8)) is not in the report"]);
    }

    #[test]
    fn unreported_losses_and_missing_counts_are_differences() {
        let mut lossy = report(r#""MPI_Send":{"count":2},"MPI_Finalize":{"count":1}"#);
        lossy.ranks[0].lost = 5;
        assert_eq!(differences(&lossy, &said(SAID)), ["rank 0 lost 5 records"]);
        let expected = said(&format!("{SAID}LOSSES\n"));
        assert_eq!(differences(&lossy, &expected), Vec::<String>::new());
        lossy.ranks[0].lost = 0;
        assert_eq!(differences(&lossy, &expected), ["rank 0 must have lost records but reports none"]);
        assert_eq!(differences(&lossy, &[]), ["no process wrote its calls"]);
    }

    #[test]
    fn alternatives_are_counted_together_and_a_subset_allows_more() {
        let report = report(r#""MPI_Send":{"count":1},"MPI_Send_c":{"count":1},"MPI_Barrier":{"count":4}"#);
        let said = said("PID 7\nRANK 0\nSUBSET\nEXPECT MPI_Send|MPI_Send_c 2\n");
        assert_eq!(differences(&report, &said), Vec::<String>::new());
    }
}
