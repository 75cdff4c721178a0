//! Calls of stuck or ended processes that returned an error, cannot succeed, or are forbidden by the thread
//! support level.

use super::blocked::Blocked;
use super::evidence::bounded;
use super::snapshot::{Failed, Outcome, Process, ProcessIndex, Snapshot};
use super::verdict::Evidence;
use super::words::Words;
use crate::observation::did_not_return;
use std::collections::BTreeMap;

/// Errors that correct programs provoke: they try whether something exists.
const EXPECTED: [&str; 4] = ["MPI_ERR_NO_SUCH_FILE", "MPI_ERR_FILE_EXISTS", "MPI_ERR_NAME", "MPI_ERR_PORT"];

/// Returns what to look at first if stuck processes went on after an error.
pub fn first_look(snapshot: &Snapshot, blocked: &Blocked) -> Option<String> {
    let stuck = blocked.stuck().filter_map(|index| snapshot.processes.get(index as usize));
    let mut failed = stuck.flat_map(|process| &process.failed).filter(|one| !EXPECTED.contains(&&*one.error));
    let one = failed.find(|one| matches!(one.outcome, Outcome::WentOn | Outcome::Short))?;
    let at = one.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    Some(format!(
        "first look at the error of {}{at} ({}), after which the program went on",
        one.function, one.error
    ))
}

/// Returns one line for each place and error, those with the most processes first.
pub fn failed(words: &Words<'_>, snapshot: &Snapshot, blocked: &Blocked) -> Vec<Evidence> {
    let mut lines: BTreeMap<&Failed, Vec<ProcessIndex>> = BTreeMap::new();
    let any_stuck = blocked.stuck().next().is_some();
    let is_gone = |index: ProcessIndex| words.process(index).is_some_and(Process::is_gone);
    let is_stuck = |index: ProcessIndex| {
        blocked.stuck.get(index as usize).copied().unwrap_or(false) || any_stuck && is_gone(index)
    };
    for (index, process) in (0..).zip(&snapshot.processes) {
        // What two threads do now is wrong even if the others have entered the same calls.
        let shown = |failed: &&Failed| is_stuck(index) || failed.is_at_once();
        for failed in process.failed.iter().filter(shown) {
            lines.entry(failed).or_default().push(index);
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, of)| usize::MAX - of.len());
    let said = |(failed, of): (&Failed, Vec<ProcessIndex>)| {
        let at = failed.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        Evidence {
            stuck: of.iter().copied().any(is_stuck),
            ranks: words.members(of),
            what: match &failed.outcome {
                Outcome::WentOn => {
                    format!("{}{at} returned {}, and the program went on", failed.function, failed.error)
                }
                Outcome::Short => format!(
                    "the receive{at} was shorter than its message ({}), and the program went on",
                    failed.error
                ),
                Outcome::Given(given) => {
                    format!("{}{at} was {given} ({})", failed.function, failed.error)
                }
                Outcome::Raised => did_not_return(&failed.function, failed.place.as_deref(), &failed.error),
                Outcome::Forbidden(said) | Outcome::AtOnce(said) => said.to_string(),
            },
            function: Some(failed.function.to_string()),
            place: failed.place.as_deref().map(str::to_owned),
            since_s: None,
        }
    };
    bounded(lines.into_iter().map(said).collect(), "calls that returned an error")
}
