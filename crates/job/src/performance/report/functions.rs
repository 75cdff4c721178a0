//! Functions: how often each was called and how long that took, on a rank and over all ranks.
//!
//! Calls that were open at the end are no calls yet, but the time in them counts.

use super::{Calls, RankReport, both_times};
use crate::model::process::Process;
use serde::Serialize;
use std::collections::BTreeMap;

/// One function over all ranks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Sums over the ranks; the time includes calls that were open at the end.
    pub total: Calls,
    /// Least time on a rank.
    pub min: Extreme,
    /// Most time on a rank.
    pub max: Extreme,
}

/// The time of one rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extreme {
    /// Seconds; none if the calls were not timed.
    pub time_s: Option<f64>,
    /// Which of [`worlds`](super::JobReport::worlds).
    pub world: usize,
    /// The rank there, if known.
    pub rank: Option<u32>,
}

impl Extreme {
    /// Seconds that are known to have been spent.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }
}

impl RankReport {
    /// Seconds in a function, with the calls of it that were open at the end; none if its calls were not timed.
    pub fn time_in(&self, function: &str) -> Option<f64> {
        let calls = self.calls.get(function).copied().unwrap_or_default();
        let uncalled = (calls.count == 0).then_some(0.0);
        both_times(both_times(calls.time_s, self.time_open_in(function)), uncalled)
    }

    fn time_open_in(&self, function: &str) -> Option<f64> {
        let inside = self.by_thread.iter().filter(|thread| thread.in_call.as_deref() == Some(function));
        inside.map(|thread| Some(thread.in_call_s)).fold(None, both_times)
    }

    /// The functions that it called or was in at the end, each once or twice.
    pub fn functions(&self) -> impl Iterator<Item = &String> {
        self.calls.keys().chain(self.open_calls())
    }
}

/// The completed calls of a process by function.
pub(super) fn calls(process: &Process) -> BTreeMap<String, Calls> {
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for counted in process.threads.iter().flat_map(|t| &t.counters) {
        let entry = calls.entry(process.function(counted.function)).or_default();
        entry.count = entry.count.saturating_add(counted.count);
        let number = u32::try_from(counted.function).unwrap_or(u32::MAX);
        let time_s = process.seconds_in(number, counted.count, counted.ticks);
        entry.time_s = both_times(entry.time_s, time_s);
        entry.bytes = entry.bytes.saturating_add(counted.bytes);
        let moved = process.moved(counted);
        entry.sent = entry.sent.saturating_add(moved.sent);
        entry.received = entry.received.saturating_add(moved.received);
        entry.estimated = entry.estimated.saturating_add(counted.estimated);
    }
    calls
}

/// All functions of a job, most time first (most calls, without times).
pub(super) fn functions(ranks: &[RankReport], times: bool) -> Vec<FunctionReport> {
    let mut names: Vec<&String> = ranks.iter().flat_map(RankReport::functions).collect();
    names.sort();
    names.dedup();
    let mut functions: Vec<FunctionReport> = names.into_iter().map(|name| function(name, ranks)).collect();
    functions.sort_by(|a, b| {
        let by_time =
            if times { b.total.seconds().total_cmp(&a.total.seconds()) } else { std::cmp::Ordering::Equal };
        by_time.then(b.total.count.cmp(&a.total.count))
    });
    functions
}

/// A rank that never called the function spent no time in it, and counts as such.
fn function(name: &str, ranks: &[RankReport]) -> FunctionReport {
    let mut total = Calls::default();
    let mut per_rank = Vec::new();
    for rank in ranks {
        let calls = rank.calls.get(name).copied().unwrap_or_default();
        let time_s = rank.time_in(name);
        let was_in_it = calls.count != 0 || rank.time_open_in(name).is_some();
        total.count = total.count.saturating_add(calls.count);
        total.time_s = both_times(total.time_s, time_s.filter(|_| was_in_it));
        total.bytes = total.bytes.saturating_add(calls.bytes);
        total.sent = total.sent.saturating_add(calls.sent);
        total.received = total.received.saturating_add(calls.received);
        total.estimated = total.estimated.saturating_add(calls.estimated);
        per_rank.push(Extreme { time_s, world: rank.world_number, rank: rank.rank });
    }
    if total.time_s.is_none() {
        per_rank.iter_mut().for_each(|one: &mut Extreme| one.time_s = None);
    }
    let by_time = |a: &Extreme, b: &Extreme| a.seconds().total_cmp(&b.seconds());
    let min = per_rank.iter().copied().min_by(by_time).unwrap_or_default();
    let max = per_rank.iter().rev().copied().max_by(by_time).unwrap_or_default();
    FunctionReport { name: name.to_owned(), total, min, max }
}
