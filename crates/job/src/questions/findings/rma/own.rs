//! Operations on the memory of a process that the process itself lends to other calls meanwhile: buffers of its
//! messages and collectives, and what its own one-sided operations use at their origin.
//!
//! Between two fences, and from a post on, only the call that ends the epoch of the target tells it that the
//! operations of others are complete. Under locks, the target may see in its memory that an operation has been
//! performed; so an operation that was complete before counts only if it read.

use super::conflicts::{said, window};
use super::order::Order;
use super::uses::{Exposed, Use, Uses};
use super::{Finding, Kind};
use crate::observation::one_sided::{AccessEpoch, Does, Members, Memory, OneSidedCall, Operation};
use crate::questions::findings::alike::Alike;
use crate::questions::findings::overlaps::{self, Lent};
use crate::questions::why::{Joined, ProcessIndex, Words};
use std::collections::BTreeMap;

/// Maximum number of pairs that are compared in a job.
const MOST_PAIRS: u64 = 1 << 22;

/// Returns one finding for each pair of lines.
pub(super) fn conflicts(uses: &Uses<'_>, joined: &Joined<'_>, words: &Words<'_>) -> Vec<Finding> {
    let mut of_targets: BTreeMap<ProcessIndex, Vec<&Use<'_>>> = BTreeMap::new();
    for one in &uses.all {
        of_targets.entry(one.target).or_default().push(one);
    }
    let search = Search { uses, joined, order: Order::of(uses) };
    let (mut found, mut left) = (Alike::new(), MOST_PAIRS);
    for (target, mut group) in of_targets {
        let Some(lent) = uses.seen.get(&target).map(|process| overlaps::lent(process.seen)) else { continue };
        let lent: Vec<_> = lent.into_iter().filter(|one| one.is_gapless && one.from_ns != 0).collect();
        group.sort_by_key(|one| (one.call.window, one.origin, one.place));
        for group in group.chunk_by(|one, other| one.call.window == other.call.window) {
            let Some(memory) = group.first().map(|one| one.memory) else { continue };
            let own = OwnUses::of(&lent, memory);
            for one in group {
                for with in own.near(one) {
                    left = left.saturating_sub(1);
                    if left == 0 {
                        break;
                    }
                    if search.conflict(one, with) {
                        let ranks = words.members([one.origin, target]);
                        let call = &one.call.call;
                        let lines = (
                            (call.function.as_str(), call.place.as_deref()),
                            with.lent.place(),
                            with.lent.writes,
                        );
                        found.add(lines, ranks, 1, || sentence(one, with.lent, uses, words));
                    }
                }
            }
        }
    }
    found.naming_ranks(Kind::RMA_CONFLICT, |((_, line), ..)| *line)
}

/// A buffer within the memory of a window.
struct OwnUse<'l, 'a> {
    lent: &'l Lent<'a>,
    /// First byte in that memory, or its address.
    first: i128,
    /// Byte after the last one.
    end: i128,
}

/// The buffers of a process within its memory of a window, in the order of memory.
struct OwnUses<'l, 'a> {
    all: Vec<OwnUse<'l, 'a>>,
    longest: i128,
}

impl<'l, 'a> OwnUses<'l, 'a> {
    fn of(lent: &'l [Lent<'a>], memory: &Memory) -> Self {
        let base = i128::from(memory.base);
        let size = i128::from(memory.size);
        let is_alive = |lent: &Lent<'_>| memory.freed_ns.is_none_or(|freed| lent.from_ns < freed);
        let within = |lent: &'l Lent<'a>| {
            let (first, end) = (i128::from(lent.buffer) - base, i128::from(lent.end()) - base);
            let shares = memory.dynamic || memory.base != 0 && first < size && end > 0;
            (shares && is_alive(lent)).then_some(OwnUse { lent, first, end })
        };
        let mut all: Vec<_> = lent.iter().filter_map(within).collect();
        all.sort_by_key(|one| one.first);
        let longest = all.iter().map(|one| one.end - one.first).max().unwrap_or(0);
        Self { all, longest }
    }

    /// Returns those that certainly share a byte with an operation.
    fn near(&self, one: &Use<'_>) -> impl Iterator<Item = &OwnUse<'l, 'a>> {
        let start = self.all.partition_point(|own| own.first < one.first - self.longest);
        let behind = self.all.iter().skip(start).take_while(|own| own.first < one.end);
        behind.filter(|own| one.touches(own.first, own.end))
    }
}

struct Search<'s, 'a> {
    uses: &'s Uses<'a>,
    joined: &'s Joined<'a>,
    order: Order<'s, 'a>,
}

impl Search<'_, '_> {
    fn conflict(&self, one: &Use<'_>, own: &OwnUse<'_, '_>) -> bool {
        let lent = own.lent;
        let is_same =
            matches!(lent.operation, overlaps::Operation::OneSided(call) if std::ptr::eq(call, one.call));
        // It is not known when a request that was freed, or never waited for, was complete.
        let is_known = one.call.from_ns != 0 && lent.until_ns != u64::MAX;
        if is_same || !is_known || !(lent.writes || one.access.kind.writes()) {
            return false;
        }
        if one.origin == one.target {
            return self.in_one_process(one, lent);
        }
        let host = |process| self.uses.seen.get(&process).map(|process| process.seen.host.as_str());
        if host(one.origin) != host(one.target) {
            return false;
        }
        match one.access.epoch {
            AccessEpoch::Fence(_) | AccessEpoch::Started => self.in_epoch(one, lent),
            AccessEpoch::Shared | AccessEpoch::Exclusive => self.under_locks(one, lent),
            AccessEpoch::Unknown => false,
        }
    }

    /// A process's own operation on its own memory is under way until a call completes it.
    fn in_one_process(&self, one: &Use<'_>, lent: &Lent<'_>) -> bool {
        let known = self.uses.seen.get(&one.origin).and_then(|process| process.known);
        let done_ns = known.and_then(|known| known.calls.get(one.done)).map(|call| call.from_ns);
        done_ns.is_some_and(|done_ns| lent.from_ns < done_ns && one.call.from_ns < lent.until_ns)
    }

    fn in_epoch(&self, one: &Use<'_>, lent: &Lent<'_>) -> bool {
        let Some((begin_ns, end_ns)) = self.exposure(one) else { return false };
        let until_ns = known_until(lent);
        let during = lent.from_ns < end_ns && begin_ns < until_ns;
        during && self.is_not_before(lent, one)
    }

    /// Whether the process that calls an operation cannot know that the buffer is no longer in use.
    fn is_not_before(&self, lent: &Lent<'_>, one: &Use<'_>) -> bool {
        let nothing = |from_ns, until_ns| self.order.learned_nothing_in(one.origin, from_ns, until_ns);
        let (until_ns, begun_ns) = (known_until(lent), one.call.from_ns);
        // A start teaches only what the target did before its post.
        match self.started_ns(one).filter(|started_ns| (until_ns..begun_ns).contains(started_ns)) {
            _ if until_ns > begun_ns => true,
            Some(started_ns) => {
                nothing(until_ns, started_ns.saturating_sub(1)) && nothing(started_ns, begun_ns)
            }
            None => nothing(until_ns, begun_ns),
        }
    }

    /// Returns when the start that an operation needed returned, if its group is only the target.
    fn started_ns(&self, one: &Use<'_>) -> Option<u64> {
        let known = self.uses.seen.get(&one.origin)?.known?;
        let before = known.calls.get(..one.place)?.iter().rev();
        let mut before = before.filter(|call| call.window == one.call.window);
        let group = |call: &OneSidedCall| match &call.does {
            Does::Starts(group) => {
                Some((call.until_ns, matches!(group, Members::Ranks(ranks) if ranks.len() == 1)))
            }
            _ => None,
        };
        let (until_ns, is_alone) = before.find_map(group)?;
        (one.access.epoch == AccessEpoch::Started && is_alone).then_some(until_ns)
    }

    fn under_locks(&self, one: &Use<'_>, lent: &Lent<'_>) -> bool {
        if self.is_locked(one, lent) {
            return false;
        }
        if lent.from_ns < one.call.from_ns {
            return self.is_not_before(lent, one);
        }
        if one.until_ns <= lent.from_ns {
            let target = one.target;
            return !one.access.kind.writes()
                && self.order.learned_nothing_in(target, one.until_ns, lent.from_ns);
        }
        // What accumulates is atomic, so the target may have waited for a new value.
        !one.access.kind.writes() || one.access.kind == Operation::Put
    }

    /// The calls of the target on the window.
    fn of_target<'u>(&'u self, one: &Use<'_>) -> impl Iterator<Item = &'u OneSidedCall> + use<'u> {
        let window = one.call.window;
        let known = self.uses.seen.get(&one.target).and_then(|process| process.known);
        known.into_iter().flat_map(|known| &known.calls).filter(move |call| call.window == window)
    }

    /// Whether the lock of one side may exclude the other: the target has locked its own memory before.
    fn is_locked(&self, one: &Use<'_>, lent: &Lent<'_>) -> bool {
        let is_own = |target: Option<u32>| {
            target.is_none_or(|rank| {
                self.joined
                    .partner(one.target, one.call.window, rank)
                    .is_none_or(|process| process == one.target)
            })
        };
        let mut calls = self.of_target(one);
        calls.any(|call| {
            matches!(&call.does, Does::Locks { target, exclusive }
                if (*exclusive || one.access.epoch == AccessEpoch::Exclusive)
                    && call.from_ns < lent.until_ns && is_own(*target))
        })
    }

    /// Returns when the epoch of the target began and ended, in nanoseconds.
    fn exposure(&self, one: &Use<'_>) -> Option<(u64, u64)> {
        let ends = |call: Option<&OneSidedCall>| call.map_or(u64::MAX, |call| call.from_ns);
        let mut calls = self.of_target(one);
        match one.exposed {
            Exposed::Fence(number) => {
                let begin = calls.find(|call| call.collectives == number)?;
                Some((begin.until_ns, ends(calls.find(|call| call.collectives > number))))
            }
            Exposed::Post(number) => {
                let mut posts = calls.by_ref().filter(|call| matches!(call.does, Does::Posts(_)));
                let begin = posts.nth(number)?;
                Some((begin.until_ns, ends(calls.find(|call| call.does == Does::Waits))))
            }
            Exposed::Always | Exposed::Otherwise => None,
        }
    }
}

/// When others may know that a buffer is no longer in use: from its contents, as soon as it has been read.
fn known_until(lent: &Lent<'_>) -> u64 {
    if lent.writes { lent.until_ns } else { lent.from_ns.saturating_add(1) }
}

fn sentence(one: &Use<'_>, lent: &Lent<'_>, uses: &Uses<'_>, words: &Words<'_>) -> String {
    let (origin, target) = (words.rank(one.origin), words.rank(one.target));
    let (operation, other, window) = (said(one), lent.described(), window(uses, one));
    if one.origin == one.target {
        return format!(
            "rank {target} accessed the same bytes of its own memory in {window} by {operation} and by {other}, and \
             nothing completed the first of them before the second"
        );
    }
    format!(
        "rank {origin} by {operation} and rank {target} by {other} accessed the same bytes of the memory of rank \
         {target} in {window}, and nothing ordered them"
    )
}
