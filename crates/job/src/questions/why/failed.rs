//! Calls of stuck or ended processes that returned an error, cannot succeed, or are forbidden by the thread
//! support level.

use super::blocked::Blocked;
use super::evidence::bounded;
use super::snapshot::{Failed, Outcome, Process, ProcessIndex, Snapshot};
use super::verdict::Evidence;
use super::words::Words;
use crate::observation::did_not_return;
use std::collections::BTreeMap;

/// Returns one line for each place and error, those with the most processes first.
pub fn failed(words: &Words<'_>, snapshot: &Snapshot, blocked: &Blocked) -> Vec<Evidence> {
    if blocked.stuck().next().is_none() {
        return Vec::new();
    }
    let mut lines: BTreeMap<&Failed, Vec<ProcessIndex>> = BTreeMap::new();
    let is_stuck = |index: ProcessIndex| blocked.stuck.get(index as usize).copied().unwrap_or(false);
    let of_these = |(index, process): &(ProcessIndex, &Process)| is_stuck(*index) || process.is_gone();
    for (index, process) in (0..).zip(&snapshot.processes).filter(of_these) {
        for failed in &process.failed {
            lines.entry(failed).or_default().push(index);
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, of)| usize::MAX - of.len());
    let said = |(failed, of): (&Failed, Vec<ProcessIndex>)| {
        let at = failed.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        Evidence {
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
                Outcome::Forbidden(said) => said.to_string(),
            },
            function: Some(failed.function.to_string()),
            place: failed.place.as_deref().map(str::to_owned),
            since_s: None,
            stuck: true,
        }
    };
    bounded(lines.into_iter().map(said).collect(), "calls that returned an error")
}
