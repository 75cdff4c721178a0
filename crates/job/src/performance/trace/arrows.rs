//! Messages of a trace: from the call that sent each to the call that received it.

use super::{Call, RankTrace, ThreadTrace};
use crate::observation::Observation;
use crate::observation::ledger::{Called, Line, Waited};
use crate::questions::why::Joined;
use std::collections::BTreeMap;

/// An end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Index in [`JobTrace::ranks`](super::JobTrace::ranks).
    pub rank: usize,
    /// Index of the thread in the rank and of the call in the thread; `None` if the call is no longer
    /// recorded.
    pub call: Option<(usize, usize)>,
    /// Whether the call has been overwritten: the first call still recorded for the rank began later.
    pub gone: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The call that started sending it.
    pub sent: End,
    /// The call through which the receiver learned of its arrival.
    pub received: End,
    /// The receiver's call that started receiving it.
    pub posted: Option<(usize, usize)>,
    /// The call through which the sender learned that it was sent.
    pub done: Option<(usize, usize)>,
    /// Identity of the communicator.
    pub comm: u64,
    /// The communicator, as text for users.
    pub object: String,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
    /// When its send was posted; `None` if that was before the start of the trace.
    pub sent_ns: Option<u64>,
    /// When its receive was posted; `None` if that was before the start of the trace.
    pub posted_ns: Option<u64>,
    /// When the receiver had it; `None` if unknown.
    pub received_ns: Option<u64>,
}

impl Message {
    /// Returns whether an end is missing: it was sent before the start of the trace, or the call at an end
    /// has been overwritten.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.sent_ns.is_none() || self.sent.gone || self.received.gone
    }
}

/// Pairs the ends of messages, omitting those that were over before the start of the trace. The observations
/// belong to `ranks`, in the same order; `later` is added to their times.
pub fn find(
    observations: &[Observation],
    ranks: &[RankTrace],
    later: &[i64],
    names: &BTreeMap<u64, String>,
) -> Vec<Message> {
    let joined = Joined::of(observations);
    let place = |seen: &Observation| observations.iter().position(|one| std::ptr::eq(one, seen));
    let places: BTreeMap<_, usize> =
        joined.processes().filter_map(|(process, _, _, seen)| Some((process, place(seen)?))).collect();
    // Anything older than the first remaining call has no place in the trace.
    let at = |rank: usize, ns: u64| ns.checked_add_signed(later.get(rank).copied().unwrap_or(0));
    let message = |ends: &crate::questions::why::Ends<'_>| {
        let (from, to) = (*places.get(&ends.sender)?, *places.get(&ends.receiver)?);
        let sent_ns = at(from, ends.sent.posted_ns);
        let waited = ends.received.waited.as_ref();
        // A polling loop waits from its first poll on, and its last poll gets the message.
        let inside = |waited: &Waited| waited.until_ns.saturating_sub(1).max(waited.from_ns);
        let got = waited.and_then(|waited| at(to, inside(waited)));
        let received_ns = waited.and_then(|waited| at(to, waited.until_ns));
        if sent_ns.is_none() && waited.is_some() && received_ns.is_none() {
            return None;
        }
        let posted_ns = at(to, ends.received.posted_ns);
        let done = ends.sent.waited.as_ref();
        let done_ns = done.and_then(|waited| at(from, inside(waited)));
        Some(Message {
            sent: end(ranks, from, sent_ns, &By::of_start(ends.sent)),
            received: end(ranks, to, got, &By::of_end(waited)),
            posted: posted_ns.and_then(|ns| around(ranks.get(to)?, ns, &By::of_start(ends.received))),
            done: done_ns.and_then(|ns| around(ranks.get(from)?, ns, &By::of_end(done))),
            comm: ends.sent.comm,
            object: names.get(&ends.sent.comm).cloned().unwrap_or_default(),
            tag: ends.sent.tag,
            bytes: ends.sent.bytes,
            sent_ns,
            posted_ns,
            received_ns,
        })
    };
    joined.messages().iter().filter_map(message).collect()
}

/// What is known of a call besides its time. Several threads may be in a call at that time.
struct By<'a> {
    function: Option<&'a str>,
    place: Option<&'a str>,
}

impl<'a> By<'a> {
    fn of_start(line: &'a Line) -> Self {
        Self { function: None, place: line.named.place.as_deref() }
    }

    fn of_end(waited: Option<&'a Waited>) -> Self {
        let call = waited.map(|waited| &*waited.call);
        let place = call.and_then(|Called { place, .. }| place.as_deref());
        Self { function: call.map(|call| call.function.as_str()), place }
    }

    fn fits(&self, call: &Call) -> bool {
        call.place.as_deref() == self.place && self.function.is_none_or(|name| *call.function == *name)
    }
}

fn end(ranks: &[RankTrace], rank: usize, ns: Option<u64>, by: &By<'_>) -> End {
    let known = ranks.get(rank).zip(ns);
    let call = known.and_then(|(rank, ns)| around(rank, ns, by));
    End { rank, call, gone: call.is_none() && known.is_some_and(|(rank, ns)| is_gone(rank, ns)) }
}

/// Whether a call at this time may have been overwritten: one that has not ended has not.
fn is_gone(rank: &RankTrace, ns: u64) -> bool {
    let first = |thread: &ThreadTrace| thread.calls.first().is_none_or(|call| ns < call.begin_ns);
    rank.threads.iter().any(|thread| thread.gone > 0 && first(thread))
}

/// Returns the call active at this time: one that began then, otherwise the latest one that began earlier and
/// had not ended. Of the calls of several threads, it is one that fits what else is known of it, if there is one.
fn around(rank: &RankTrace, ns: u64, by: &By<'_>) -> Option<(usize, usize)> {
    let latest = |fits: &dyn Fn(&Call) -> bool| {
        let of_thread = |(thread, calls): (usize, &Vec<Call>)| {
            let before = calls.partition_point(|call| call.begin_ns <= ns);
            // Among calls that began together, and calls made by user callbacks, the innermost one still active.
            let near = (before.saturating_sub(MOST_NESTED)..before).rev();
            let active = |at: &usize| calls.get(*at).is_some_and(|call| call.end_ns >= ns && fits(call));
            let at = near.into_iter().find(active)?;
            Some((calls.get(at)?.begin_ns, (thread, at)))
        };
        let threads = rank.threads.iter().map(|thread| &thread.calls).enumerate();
        threads.filter_map(of_thread).max_by_key(|(begin, _)| *begin).map(|(_, place)| place)
    };
    latest(&|call| by.fits(call)).or_else(|| latest(&|_| true))
}

/// Maximum number of calls examined for one that has not ended.
const MOST_NESTED: usize = 8;
