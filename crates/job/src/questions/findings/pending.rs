//! Operations still active when the program freed their requests or finalized, and processes that did not finalize.

use super::{Finding, Kind, Whose};
use crate::jobs::worlds::Members;
use crate::observation::faults;
use crate::observation::{Observation, Stage};
use std::collections::BTreeMap;

/// Returns requests that were freed while their operation was active, one finding for each line.
pub(super) fn freed_active(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Option<&str>), (Members, u64)> = BTreeMap::new();
    for seen in observations {
        for fault in seen.faults.iter().filter(|fault| fault.kind == faults::Kind::FreedActive) {
            let line = (fault.function.as_str(), fault.place.as_deref());
            let (ranks, times) = found.entry(line).or_default();
            ranks.join(whose.who(seen));
            *times = times.saturating_add(fault.times);
        }
    }
    let finding = |((function, place), (ranks, times)): ((&str, Option<&str>), (Members, u64))| {
        let at = place.map_or_else(String::new, |place| format!(" at {place}"));
        let times = if times > 1 { format!(", {times} times") } else { String::new() };
        Finding {
            kind: Kind::REQUEST_FREED_ACTIVE,
            sentence: format!(
                "{} freed a request whose operation was not complete: {function}{at}{times}",
                ranks.named()
            ),
            ranks,
            line: place.map(str::to_owned),
        }
    };
    found.into_iter().map(finding).collect()
}

/// Returns the processes whose receives were freed while active, with the tag; `None` for any tag.
pub(super) fn untold(observations: &[Observation], whose: &Whose) -> Vec<(Members, Option<i32>)> {
    let seen = observations.iter().flat_map(|seen| seen.faults.iter().map(move |fault| (seen, fault)));
    let freed = seen.filter(|(_, fault)| fault.kind == faults::Kind::FreedActive);
    freed.map(|(seen, fault)| (whose.who(seen), Some(fault.tag).filter(|tag| *tag >= 0))).collect()
}

/// Returns whether the process is in `MPI_Finalize`.
#[must_use]
pub fn finalizes(seen: &Observation) -> bool {
    is_in(seen, "MPI_Finalize")
}

fn is_in(seen: &Observation, function: &str) -> bool {
    let mut calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    calls.any(|call| call.function == function)
}

/// Returns ranks that ended as if all were well, but without `MPI_Finalize`: one finding for each line. A program may
/// end with `MPI_Abort`, even with code 0.
pub(super) fn never_finalized(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<&str, Members> = BTreeMap::new();
    let left = |seen: &&Observation| seen.left && seen.stage == Stage::Running && !is_in(seen, "MPI_Abort");
    for seen in observations.iter().filter(left) {
        let after = seen.threads.first().map_or("", |thread| &*thread.after);
        found.entry(after).or_default().join(whose.who(seen));
    }
    let finding = |(after, ranks): (&str, Members)| {
        let last = if after.is_empty() { String::new() } else { format!(", last call {after}") };
        let sentence = format!("{}: ended with exit status 0 but without MPI_Finalize{last}", ranks.named());
        Finding { kind: Kind::NOT_FINALIZED, ranks, line: None, sentence }
    };
    found.into_iter().map(finding).collect()
}

/// Returns ranks that called `MPI_Finalize` before completing something they should have, one finding for
/// each thing and line.
pub(super) fn at_finalize(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(String, Option<String>), Members> = BTreeMap::new();
    for seen in observations {
        let inside = finalizes(seen);
        if (inside || seen.stage == Stage::Finalized)
            && let Some(left) = pending(seen, inside)
        {
            found.entry(left).or_default().join(whose.who(seen));
        }
    }
    let finding = |((what, place), ranks): ((String, Option<String>), Members)| Finding {
        kind: Kind::WORK_PENDING,
        sentence: format!("{} called MPI_Finalize with {what}", ranks.named()),
        ranks,
        line: place,
    };
    found.into_iter().map(finding).collect()
}

/// Returns the first thing left incomplete, and where it was started. Requests left when `MPI_Finalize` has
/// returned are reported elsewhere.
fn pending(seen: &Observation, inside: bool) -> Option<(String, Option<String>)> {
    if let Some(window) = seen.windows.iter().find(|window| window.all || !window.locks.is_empty()) {
        let at = window
            .place
            .as_ref()
            .map_or_else(String::new, |place| format!(" (last synchronized at {place})"));
        return Some((format!("a lock held on {}{at}", window.name), window.place.clone()));
    }
    if let Some(message) = seen.matched.first() {
        let at = message.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        return Some((
            format!("a message that a probe{at} matched and nobody received"),
            message.place.clone().map(String::from),
        ));
    }
    let posted = seen.posted.first().filter(|_| inside)?;
    let at = posted.place.as_ref().map_or_else(String::new, |place| format!(", posted at {place}"));
    Some((format!("a receive that is not complete{at}"), posted.place.clone().map(String::from)))
}
