//! Who moved between two looks.

use super::snapshot::{Process, Snapshot, Thread};
use std::collections::HashMap;

/// By process of the second look: it completed a call that is no polling, or came further in its life.
pub fn acts(first: &Snapshot, second: &Snapshot) -> Vec<bool> {
    let name = |process: &Process| (process.world, process.rank);
    let known: HashMap<_, &Process> =
        first.processes.iter().map(|process| (name(process), process)).collect();
    // Who was not there before has come since.
    let moved = |after: &Process| known.get(&name(after)).is_none_or(|before| moved(before, after));
    second.processes.iter().map(moved).collect()
}

fn moved(before: &Process, after: &Process) -> bool {
    before.condition != after.condition
        || before.threads.len() != after.threads.len()
        || before.threads.iter().zip(&after.threads).any(|(before, after)| advanced(before, after))
}

fn advanced(before: &Thread, after: &Thread) -> bool {
    before.calls != after.calls
        || before.call.is_some() != after.call.is_some()
        || before.ended != after.ended
}

/// Calls that all processes completed between the looks, polling ones too.
pub fn completed(first: &Snapshot, second: &Snapshot) -> u64 {
    let count = |snapshot: &Snapshot| {
        let threads = snapshot.processes.iter().flat_map(|process| &process.threads);
        threads.fold(0u64, |sum, thread| sum.saturating_add(thread.calls).saturating_add(thread.polls))
    };
    count(second).saturating_sub(count(first))
}
