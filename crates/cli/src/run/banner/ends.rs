//! How the ranks of a job ended, where that is not as it should be.

use crate::render::duration;
use mpiscope_job::Members;
use mpiscope_job::model::process::Ending;
use mpiscope_job::performance::report::{JobReport, RankReport, Silent};
use std::collections::BTreeMap;

/// Whether a process failed, or a rank called `MPI_Abort` or is over without having finalized MPI.
pub fn ended_badly(report: &JobReport) -> bool {
    let failed = |ending: Option<Ending>| ending.is_some_and(|end| end != Ending::Exit(0));
    let badly = |rank: &RankReport| {
        let over = !rank.alive || rank.ending.is_some();
        rank.abort_code.is_some() || failed(rank.ending) || over && !rank.finalized
    };
    report.ranks.iter().any(badly) || report.silent.iter().any(|silent| failed(silent.ending))
}

/// Lists abnormal ends of ranks, with equal ends grouped.
pub fn ends(report: &JobReport) -> Vec<String> {
    let mut ends: BTreeMap<String, Members> = BTreeMap::new();
    for rank in &report.ranks {
        if let Some(text) = bad_end(rank) {
            ends.entry(text).or_default().add(rank.world_number, rank.rank);
        }
    }
    // If no process called MPI, the report says so already; only abnormal ends add anything.
    let nobody = report.ranks.is_empty();
    let worth = |s: &&Silent| !nobody || s.ending.is_some_and(|end| end != Ending::Exit(0));
    for silent in report.silent.iter().filter(worth) {
        let end = silent.ending.map_or_else(|| "ended".to_owned(), |ending| ending.to_string());
        ends.entry(format!("never called MPI, {end}")).or_default().add(0, silent.rank);
    }
    let first = report.first_end.map(|first| {
        let mut who = Members::default();
        who.add(first.world_number, first.rank);
        let before =
            first.before_s.map_or_else(String::new, |s| format!(", {} before the next", duration(s)));
        format!("  first to end: {}{before}", who.named())
    });
    let mut lines: Vec<(Members, String)> = ends.into_iter().map(|(text, ranks)| (ranks, text)).collect();
    lines.sort_by_key(|(ranks, _)| ranks.first());
    let lines = lines.iter().map(|(ranks, text)| format!("  {}: {text}", ranks.named()));
    first.into_iter().chain(lines).collect()
}

fn bad_end(rank: &RankReport) -> Option<String> {
    let mut parts = Vec::new();
    match (rank.abort_code, rank.finalized) {
        (Some(code), _) => {
            parts.push(called(&format!("called MPI_Abort with code {code}"), rank.abort_place.as_ref()));
        }
        (None, false) if rank.end_unseen => parts.push("end not seen".to_owned()),
        (None, false) if rank.alive => parts.push("still running".to_owned()),
        (None, false) if rank.ending == Some(Ending::Exit(0)) => {
            parts.push("ended with exit status 0 but without MPI_Finalize".to_owned());
        }
        (None, false) => parts.push("ended without MPI_Finalize".to_owned()),
        (None, true) => {}
    }
    match rank.ending {
        Some(Ending::Exit(0)) | None => {}
        Some(end) => parts.push(end.to_string()),
    }
    if let Some(core) = &rank.core {
        parts.push(format!("core file {}", core.display()));
    }
    if !rank.finalized && rank.abort_code.is_none() {
        parts.extend(last_seen(rank));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns `last seen in MPI_Recv at ring.c:9`, or the last call made.
fn last_seen(rank: &RankReport) -> Option<String> {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for thread in rank.open_threads() {
        *open.entry(called(thread.in_call.as_ref()?, thread.call_place.as_ref())).or_default() += 1;
    }
    let of = |(call, threads): (&String, &usize)| match threads {
        1 => call.clone(),
        n => format!("{call} ({n} threads)"),
    };
    let open: Vec<String> = open.iter().map(of).collect();
    match (open.is_empty(), &rank.last_call) {
        (false, _) => Some(format!("last seen in {}", open.join(", "))),
        (true, Some(call)) => Some(format!("last call {}", called(call, rank.call_place.as_ref()))),
        (true, None) => None,
    }
}

fn called(what: &str, place: Option<&String>) -> String {
    place.map_or_else(|| what.to_owned(), |place| format!("{what} at {place}"))
}
