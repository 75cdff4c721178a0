//! Functions: how often each was called and how long that took, on one rank and across all ranks.
//!
//! Calls open at the end do not count as calls, but their time does.

use super::document::{Calls, Extreme, FunctionReport, RankReport, both_times};

/// Returns all functions of a job, in descending order of time (of calls if times were not recorded).
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

/// A rank that never called the function counts with zero time.
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
    let open = ranks.iter().flat_map(RankReport::open_calls).filter(|call| **call == name).count();
    FunctionReport { name: name.to_owned(), total, open, min, max }
}
