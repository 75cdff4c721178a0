//! Which calls complete one-sided operations.

use super::{Does, OneSidedCall};
use std::collections::HashMap;

/// Positions among the origin's calls of those that completed an operation like all others on its target;
/// `usize::MAX` if there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Completed {
    /// At the target.
    pub there: usize,
    /// At the origin.
    pub here: usize,
}

impl Completed {
    const NEVER: Self = Self { there: usize::MAX, here: usize::MAX };
}

/// Returns when each call, if it is an operation, was complete at its origin, in nanoseconds: when it returned if that
/// is not known.
pub fn ends_at_origin(calls: &[OneSidedCall]) -> Vec<u64> {
    let end = |(call, completed): (&OneSidedCall, Completed)| match &call.does {
        Does::Access(access) => {
            let completed = calls.get(completed.here).map(|call| call.until_ns);
            let all = match access.request {
                true => access.waited_ns.map(|waited| completed.map_or(waited, |at| at.min(waited))),
                false => completed,
            };
            all.unwrap_or(call.until_ns)
        }
        _ => call.until_ns,
    };
    calls.iter().zip(completions(calls)).map(end).collect()
}

/// Returns which calls complete each call, if it is an operation.
pub fn completions(calls: &[OneSidedCall]) -> Vec<Completed> {
    // The next completing calls, by window and target.
    let mut next: HashMap<(u64, Option<u32>), Completed> = HashMap::new();
    let mut found = vec![Completed::NEVER; calls.len()];
    for ((place, call), found) in calls.iter().enumerate().zip(&mut found).rev() {
        match &call.does {
            Does::Completes { target, locally } => {
                let next = next.entry((call.window, *target)).or_insert(Completed::NEVER);
                next.here = place;
                if !locally {
                    next.there = place;
                }
            }
            Does::Access(access) => {
                let of = |target: Option<u32>| {
                    next.get(&(call.window, target)).copied().unwrap_or(Completed::NEVER)
                };
                let (one, all) = (of(Some(access.target)), of(None));
                *found = Completed { there: one.there.min(all.there), here: one.here.min(all.here) };
            }
            _ => {}
        }
    }
    found
}
