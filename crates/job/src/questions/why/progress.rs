//! Which processes made progress between two looks.

use super::snapshot::{Process, Snapshot, Thread, Wait};
use std::borrow::Cow;
use std::collections::HashMap;

/// Returns the second look, corrected so that a thread which was polling in the first one and has only polled
/// since is still polling: it may have been observed while waiting for a processor, when it appears to
/// compute.
pub fn still_polling<'a>(first: &Snapshot, second: &'a Snapshot) -> Cow<'a, Snapshot> {
    let known = by_name(first);
    let mut polling = Vec::new();
    for (index, after) in second.processes.iter().enumerate() {
        let before = known.get(&name(after)).map_or(&[][..], |before| &before.threads);
        for (thread, (before, after)) in before.iter().zip(&after.threads).enumerate() {
            let goes_round = after.steps == before.steps && after.polls > before.polls && !after.ended;
            // Between two polls, or inside a call that reveals nothing about the loop.
            let unknown = after.call.as_ref().is_none_or(|call| matches!(call.wait, Wait::Nothing));
            if goes_round && before.is_polling() && unknown {
                polling.push((index, thread, before.call.clone()));
            }
        }
    }
    let mut second = Cow::Borrowed(second);
    for (index, thread, call) in polling {
        let thread =
            second.to_mut().processes.get_mut(index).and_then(|process| process.threads.get_mut(thread));
        if let Some(thread) = thread {
            thread.call = call;
        }
    }
    second
}

fn name(process: &Process) -> (usize, u32) {
    (process.world, process.rank)
}

fn by_name(snapshot: &Snapshot) -> HashMap<(usize, u32), &Process> {
    snapshot.processes.iter().map(|process| (name(process), process)).collect()
}

/// Returns, by process of the second look, whether it completed a call other than polling or changed its
/// stage.
pub fn acts(first: &Snapshot, second: &Snapshot) -> Vec<bool> {
    let known = by_name(first);
    // A process that was not there before has arrived since.
    let moved = |after: &Process| known.get(&name(after)).is_none_or(|before| moved(before, after));
    second.processes.iter().map(moved).collect()
}

fn moved(before: &Process, after: &Process) -> bool {
    before.condition != after.condition
        || before.threads.len() != after.threads.len()
        || before.threads.iter().zip(&after.threads).any(|(before, after)| advanced(before, after))
}

fn advanced(before: &Thread, after: &Thread) -> bool {
    // Between two polls it is outside MPI, which is not progress.
    let polls = before.is_polling() || after.is_polling();
    before.steps != after.steps
        || (before.call.is_some() != after.call.is_some() && !polls)
        || before.ended != after.ended
}

/// Number of calls completed between two looks from which on a process is said to make many.
const MANY: u32 = 100;

/// Returns, by process of the second look, whether a thread of it made many calls, other than polling.
pub fn busy(first: &Snapshot, second: &Snapshot) -> Vec<bool> {
    let known = by_name(first);
    let many = |after: &Process| {
        let before = known.get(&name(after)).map_or(&[][..], |before| &before.threads);
        let made = |(before, after): (&Thread, &Thread)| after.steps.wrapping_sub(before.steps) >= MANY;
        before.iter().zip(&after.threads).any(made)
    };
    second.processes.iter().map(many).collect()
}

/// Returns the number of calls all processes completed between the looks, including polling calls.
pub fn completed(first: &Snapshot, second: &Snapshot) -> u64 {
    let count = |snapshot: &Snapshot| {
        let threads = snapshot.processes.iter().flat_map(|process| &process.threads);
        threads.fold(0u64, |sum, thread| sum.saturating_add(thread.calls).saturating_add(thread.polls))
    };
    count(second).saturating_sub(count(first))
}

/// Seconds for which no process may have moved before anything is concluded from that.
const LONG: f64 = 10.0;

/// Returns for how long all processes have been in calls that wait; `None` if one is not, or not for long.
pub fn long_still(snapshot: &Snapshot) -> Option<f64> {
    let rest = snapshot.processes.iter().filter(|process| !process.is_gone());
    let threads = rest.flat_map(|process: &Process| &process.threads).filter(|thread| !thread.ended);
    let still_s = threads
        .map(|thread| {
            let call = thread.call.as_ref().filter(|call| !call.polling)?;
            call.age_s.filter(|_| !matches!(call.wait, Wait::Nothing))
        })
        .try_fold(f64::INFINITY, |least, age| Some(age?.min(least)))?;
    (LONG..f64::INFINITY).contains(&still_s).then_some(still_s)
}
