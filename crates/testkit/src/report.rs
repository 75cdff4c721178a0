//! What `mpiscope run --out DIR` wrote, held against what the program says it called.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mpi_abi::FunctionId;
use serde::Deserialize;

/// The part of `report.json` (schema `mpiscope.report/1`) that the tests look at.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// Name and version of the schema.
    pub schema: String,
    /// `mpich`, `openmpi` or `standard`.
    pub abi: Option<String>,
    /// Ranks in `MPI_COMM_WORLD`.
    pub size: Option<i64>,
    /// What each rank did.
    pub ranks: Vec<Rank>,
    /// All functions.
    #[serde(default)]
    pub functions: Vec<Function>,
    /// Where the program called them from.
    #[serde(default)]
    pub sites: Vec<Place>,
    /// Who waited for whom.
    pub waits: Option<Waits>,
    /// The run in windows of time.
    pub windows: Option<Windows>,
    /// Why a running job has no windows.
    pub not_followed: Option<String>,
    #[allow(missing_docs)]
    pub communication_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub serialisation_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub transfer_efficiency: Option<f64>,
    /// Calls that belong to no place.
    #[serde(default)]
    pub other_calls: Vec<Place>,
    /// What was wrong with the run.
    pub findings: Vec<Finding>,
}

/// One function over all ranks.
#[derive(Debug, Deserialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Sums over the ranks.
    pub total: Calls,
}

/// Who waited for whom.
#[derive(Debug, Deserialize)]
pub struct Waits {
    #[allow(missing_docs)]
    pub list: Vec<Wait>,
    /// Where the waiting began.
    pub causes: Vec<Cause>,
    /// How much of the time in calls that can wait was looked at.
    pub seen_share: f64,
    /// Whether messages were looked at.
    pub messages: bool,
    /// How often was looked.
    pub looks: u64,
    /// Collectives that were entered.
    pub collectives: u64,
    /// Of these, those that were seen.
    pub collectives_seen: u64,
    /// Locks of windows.
    #[serde(default)]
    pub locks: u64,
    #[allow(missing_docs)]
    #[serde(default)]
    pub locks_seen: u64,
    /// Messages that were received.
    pub messages_received: u64,
    /// Of these, those of which both ends were seen.
    pub messages_seen: u64,
    /// Over the whole run.
    pub estimated: Option<Estimated>,
    /// Waits for messages, by looks at what ranks waited for.
    pub sampled: Option<Sampled>,
}

/// Waits that were found by looking now and then.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Sampled {
    pub looks: u64,
    pub seconds: f64,
    pub error_s: f64,
    pub list: Vec<Wait>,
}

/// Seconds that were not all seen.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Estimated {
    pub seconds: f64,
    pub error_s: f64,
}

/// The run in windows of time.
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

/// The steps of the program.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Iterations {
    pub count: u64,
    pub collectives: u32,
    pub functions: Vec<String>,
}

/// One of them.
#[derive(Debug, Deserialize)]
pub struct Window {
    /// Which of the ranks worked longest.
    pub slowest: Option<usize>,
    /// How many iterations were over when it began.
    pub iterations_over: Option<f64>,
    #[allow(missing_docs)]
    pub communication_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub serialisation_efficiency: Option<f64>,
    #[allow(missing_docs)]
    pub transfer_efficiency: Option<f64>,
}

/// Waiting of one sort in one place for one rank.
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

/// A part of a wait that began with somebody else.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Began {
    pub culprit: String,
    pub doing: String,
    pub seconds: f64,
}

/// Somebody who made others wait, by himself or through those whom he made late.
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
    /// The source line, if it is known.
    #[serde(default)]
    pub place: String,
    /// How often.
    pub calls: u64,
    /// Seconds in them; none if they were not timed.
    pub time_s: Option<f64>,
    #[allow(missing_docs)]
    pub sent: u64,
    #[allow(missing_docs)]
    pub received: u64,
    #[allow(missing_docs)]
    pub collective: u64,
    /// How many took how long.
    #[serde(default)]
    pub durations: Vec<Length>,
}

/// Calls of similar length.
#[derive(Debug, Deserialize)]
pub struct Length {
    #[allow(missing_docs)]
    pub calls: u64,
}

/// Whether the layer counts the calls of a function and does no more.
fn is_look_up(name: &str) -> bool {
    // Shows a communicator that the program did not make, and is recorded as the calls that make one.
    let reveals = name == "MPI_Comm_get_parent";
    let id = FunctionId::from_name(name).filter(|_| !reveals);
    id.is_some_and(|id| id.properties().flags.has(mpi_abi::Flags::LOOKUP))
}

/// In what the places of the functions are not what the functions did.
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
            wrong.push(format!("{name}: {total:?} in {time:?} s, at its places {placed:?} in {times:?} s"));
        }
    }
    // Without times there are no lengths.
    let lengths = |place: &Place| place.durations.iter().map(|d| d.calls).sum::<u64>();
    let ended = report
        .sites
        .iter()
        .filter(|place| lengths(place) != if place.time_s.is_some() { place.calls } else { 0 });
    wrong.extend(ended.map(|place| format!("{place:?}: lengths of other calls")));
    wrong.extend(report.functions.iter().filter(|f| is_look_up(&f.name)).filter_map(|f| {
        let timed = f.total.time_s?;
        Some(format!("{}: {timed} s in calls that are not timed by default", f.name))
    }));
    wrong.extend(report.other_calls.iter().map(|other| format!("without a place: {other:?}")));
    wrong
}

/// Something that was wrong with the run.
#[derive(Debug, Clone, Deserialize)]
pub struct Finding {
    /// A stable word.
    pub kind: String,
    /// Whose.
    pub ranks: String,
    /// The line of the program.
    pub line: Option<String>,
    /// For people.
    pub sentence: String,
}

/// One rank in the report.
#[derive(Debug, Deserialize)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`; none for a process that never had one.
    pub rank: Option<i64>,
    /// Process id.
    pub pid: Option<u64>,
    /// Reached `MPI_Finalize`.
    #[serde(default)]
    pub finalized: bool,
    /// Records that were lost.
    #[serde(default)]
    pub lost: u64,
    /// By the standard's name of the function.
    #[serde(default)]
    pub calls: BTreeMap<String, Calls>,
}

/// One function on one rank.
#[derive(Debug, Deserialize)]
pub struct Calls {
    /// How often the program called it.
    pub count: u64,
    /// Seconds in it; none if its calls were not timed.
    #[serde(default)]
    pub time_s: Option<f64>,
    /// Bytes that it moved.
    #[serde(default)]
    pub bytes: u64,
    /// Out of the process.
    #[serde(default)]
    pub sent: u64,
    /// Into it.
    #[serde(default)]
    pub received: u64,
}

/// What one process says it called.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Process id, where the program knows it.
    pub pid: Option<u64>,
    /// Rank; negative when the program never asked.
    pub rank: i64,
    /// Records must have been lost, and counted.
    pub losses: bool,
    /// Other functions may have been called too.
    pub subset: bool,
    /// Alternatives of one function, with their common count.
    pub calls: Vec<(Vec<String>, u64)>,
}

/// Functions that the layer leaves alone, because there is nothing to see and interposing them would disturb programs that
/// probe for an MPI library.
fn untracked(name: &str) -> bool {
    FunctionId::from_name(name).and_then(FunctionId::function).is_some_and(|function| !function.is_traced())
}

/// Reads `report.json` in `dir`.
///
/// # Errors
/// When it is missing, is not JSON or is of another schema.
pub fn read(dir: &Path) -> Result<Report> {
    let file = dir.join("report.json");
    let text = fs::read_to_string(&file).with_context(|| format!("no report in {}", file.display()))?;
    let report: Report =
        serde_json::from_str(&text).with_context(|| format!("{} is broken", file.display()))?;
    anyhow::ensure!(report.schema == "mpiscope.report/1", "unknown schema {:?}", report.schema);
    Ok(report)
}

/// Reads all `*.expect` files in `dir`, by rank.
///
/// # Errors
/// When one cannot be read or understood.
pub fn expectations(dir: &Path) -> Result<Vec<Expected>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ext| ext == "expect") {
            let text = fs::read_to_string(&path)?;
            all.push(parse(&text).with_context(|| format!("{} is not understood", path.display()))?);
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
            _ => anyhow::bail!("strange line {line:?}"),
        }
    }
    Ok(expected)
}

/// Every difference between the report and what the processes say, as sentences; empty when all is well.
#[must_use]
pub fn differences(report: &Report, expected: &[Expected]) -> Vec<String> {
    let mut wrong = Vec::new();
    if expected.is_empty() {
        wrong.push("no process wrote what it called".to_owned());
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
        (0, true) => wrong.push(format!("rank {me} must have lost records and says nothing of it")),
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
    fn a_call_too_many_too_few_or_under_a_wrong_name_is_reported() {
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
    fn lost_records_and_silence_are_differences() {
        let mut lossy = report(r#""MPI_Send":{"count":2},"MPI_Finalize":{"count":1}"#);
        lossy.ranks[0].lost = 5;
        assert_eq!(differences(&lossy, &said(SAID)), ["rank 0 lost 5 records"]);
        let expected = said(&format!("{SAID}LOSSES\n"));
        assert_eq!(differences(&lossy, &expected), Vec::<String>::new());
        lossy.ranks[0].lost = 0;
        assert_eq!(differences(&lossy, &expected), ["rank 0 must have lost records and says nothing of it"]);
        assert_eq!(differences(&lossy, &[]), ["no process wrote what it called"]);
    }

    #[test]
    fn alternatives_are_counted_together_and_a_subset_allows_more() {
        let report = report(r#""MPI_Send":{"count":1},"MPI_Send_c":{"count":1},"MPI_Barrier":{"count":4}"#);
        let said = said("PID 7\nRANK 0\nSUBSET\nEXPECT MPI_Send|MPI_Send_c 2\n");
        assert_eq!(differences(&report, &said), Vec::<String>::new());
    }
}
