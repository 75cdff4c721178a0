//! What orders two operations under shared locks: nothing, if one began before the other was complete, or if
//! its process can have learned nothing since then.

use super::super::learned::{Incoming, LastEntries};
use super::uses::{Process, Use, Uses};
use crate::observation::OneSided;
use crate::observation::one_sided::{AccessEpoch, Does};
use crate::questions::why::ProcessIndex;
use std::collections::{HashMap, HashSet};

/// What the processes of a job may have learned from each other.
pub(super) struct Order<'u, 'a> {
    uses: &'u Uses<'a>,
    /// By process; without those of which too little is known.
    learned: HashMap<ProcessIndex, Learned>,
}

/// When a process may have learned something.
struct Learned {
    /// What it learned before is not known, in nanoseconds.
    known_from_ns: u64,
    incoming: Incoming,
    /// Returns of calls that may have waited for others; sorted.
    at_ns: Vec<u64>,
    /// Times in which it may have read what others wrote; sorted and disjoint.
    reading_ns: Vec<(u64, u64)>,
}

impl<'u, 'a> Order<'u, 'a> {
    pub(super) fn of(uses: &'u Uses<'a>) -> Self {
        Self { uses, learned: learned(uses).unwrap_or_default() }
    }

    /// Whether nothing orders two operations of different processes.
    pub(super) fn is_none(&self, one: &Use<'_>, two: &Use<'_>) -> bool {
        let host = |of: &Use<'_>| self.uses.seen.get(&of.origin).map(|process| process.seen.host.as_str());
        if host(one) != host(two) || one.call.from_ns == 0 || two.call.from_ns == 0 {
            return false;
        }
        let (first, second) = if one.call.from_ns <= two.call.from_ns { (one, two) } else { (two, one) };
        let (done, begun) = (first.until_ns, second.call.from_ns);
        begun < done || self.learned_nothing(first, second, (done, begun))
    }

    /// Whether a process learned nothing between these times of what happened after the first of them.
    pub(super) fn learned_nothing_in(&self, process: ProcessIndex, from_ns: u64, until_ns: u64) -> bool {
        self.learned.get(&process).is_some_and(|learned| learned.nothing_between(from_ns, until_ns))
    }

    fn learned_nothing(&self, first: &Use<'_>, second: &Use<'_>, (done, begun): (u64, u64)) -> bool {
        // The target may have seen the new contents of its memory.
        let saw = second.origin == second.target && first.access.kind.writes();
        !saw && self.learned_nothing_in(second.origin, done, begun)
    }
}

impl Learned {
    fn nothing_between(&self, from_ns: u64, until_ns: u64) -> bool {
        let next = self.at_ns.get(self.at_ns.partition_point(|at| *at <= from_ns));
        let reading = self.reading_ns.get(self.reading_ns.partition_point(|(_, end)| *end <= from_ns));
        from_ns >= self.known_from_ns
            && next.is_none_or(|at| *at > until_ns)
            && reading.is_none_or(|(start, _)| *start >= until_ns)
            && self.incoming.nothing_between(from_ns, until_ns)
    }
}

/// Returns what each process may have learned; `None` if nothing can be said, because not all processes are
/// known.
fn learned(uses: &Uses<'_>) -> Option<HashMap<ProcessIndex, Learned>> {
    if !uses.whole {
        return None;
    }
    let mut known_from_ns = 0;
    let mut exclusive: HashSet<u64> = HashSet::new();
    for process in uses.seen.values() {
        let known = process.known?;
        known_from_ns = known_from_ns.max(known_from(known)?);
        exclusive.extend(known.calls.iter().filter_map(|call| match &call.does {
            Does::Locks { exclusive: true, .. } => Some(call.window),
            Does::Access(access) if access.epoch == AccessEpoch::Exclusive => Some(call.window),
            _ => None,
        }));
    }
    let mut reading: HashMap<ProcessIndex, Vec<(u64, u64)>> = HashMap::new();
    for one in &uses.all {
        let span = (one.call.from_ns, one.until_ns);
        if one.access.kind.fetches() {
            // When the program waited for the request is not known.
            let end = if one.access.request { u64::MAX } else { span.1 };
            reading.entry(one.origin).or_default().push((span.0, end));
        }
        if one.access.kind.writes() && one.target != one.origin {
            reading.entry(one.target).or_default().push(span);
        }
    }
    let entries = LastEntries::of(uses.seen.values().map(|process| process.seen));
    let one = |(me, process): (&ProcessIndex, &Process<'_>)| {
        let known = process.known?;
        // Loads and stores are not seen.
        if known.memories.iter().any(|memory| memory.shared) {
            return None;
        }
        let incoming = Incoming::beside_windows(process.seen, &entries)?;
        let mut at_ns: Vec<u64> = waits(known, &exclusive);
        at_ns.sort_unstable();
        let reading_ns = disjoint(reading.get(me).cloned().unwrap_or_default());
        Some((*me, Learned { known_from_ns, incoming, at_ns, reading_ns }))
    };
    Some(uses.seen.iter().filter_map(one).collect())
}

/// Since when all calls are known; `None` without times.
fn known_from(known: &OneSided) -> Option<u64> {
    if known.calls.iter().any(|call| call.from_ns == 0) {
        return None;
    }
    let oldest = known.calls.first().filter(|_| known.wrapped);
    Some(oldest.map_or(0, |call| call.until_ns))
}

/// Returns of calls in which a process may have waited for another one.
fn waits(known: &OneSided, exclusive: &HashSet<u64>) -> Vec<u64> {
    let calls = known.calls.iter().filter(|call| match &call.does {
        Does::Starts(_) | Does::Waits => true,
        Does::Locks { .. } => exclusive.contains(&call.window),
        _ => false,
    });
    calls.map(|call| call.until_ns).collect()
}

fn disjoint(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in spans {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}
