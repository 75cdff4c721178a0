//! Waits for messages in calls that have not returned when a job ends, or when a running one is queried. A
//! message is recorded once it was received, so what such a call waits for is derived from what it still needs,
//! by the rule of `why`.

use super::alike::End;
use super::sampled::{communicator, kind};
use super::{Kind, Span, Wait, can_wait_for_messages, entered};
use crate::observation::ledger::Called;
use crate::observation::{Call, Observation};
use crate::questions::why::{Awaited, Joined, Part, ProcessIndex, awaited, snapshot};
use std::collections::HashMap;
use std::sync::Arc;

/// Waits for more processes at once than this are ignored.
const MOST_AWAITED: usize = 1 << 10;

/// Returns the waits of processes that record messages individually, for those that they still wait for. A call
/// that waits for several counts in equal parts for each.
pub fn waits(observations: &[Observation], joined: &Joined<'_>) -> Vec<Wait> {
    if !observations.iter().any(|seen| open(seen).next().is_some()) {
        return Vec::new();
    }
    // What a process that was killed waited for is what it would still wait for if it lived.
    let living = |seen: &Observation| {
        let ended = seen.ended.clone().filter(|_| open(seen).next().is_none());
        Observation { ended, ..seen.clone() }
    };
    let as_if: Vec<Observation> = observations.iter().map(living).collect();
    let model = snapshot(&as_if, "not looked at");
    let processes: HashMap<(usize, Option<u32>), (ProcessIndex, &Observation)> =
        joined.processes().map(|(me, world, rank, seen)| ((world, rank), (me, seen))).collect();
    let named = |index: ProcessIndex| {
        let process = model.processes.get(index as usize)?;
        processes.get(&(process.world, Some(process.rank))).copied()
    };
    let mut found = Vec::new();
    for Awaited { who, call, whom } in awaited(&model) {
        let Some((me, seen)) = named(who) else { continue };
        let here = |known: &&Call| {
            *known.function == *call.function && known.place.as_deref() == call.place.as_deref()
        };
        let Some((span, call)) = open(seen).find(|(_, call)| here(call)) else { continue };
        let messages =
            whom.into_iter().filter(|(_, part)| matches!(part, Part::Sender(_) | Part::Receiver(_)));
        let whom: Vec<_> = messages.filter_map(|(who, part)| Some((named(who)?.0, part))).collect();
        if whom.len() > MOST_AWAITED {
            continue;
        }
        let called = Arc::new(Called { function: call.function.clone(), place: call.place.clone() });
        for (span, (culprit, part)) in span.in_parts(whom.len()).zip(whom) {
            let kind = kind(part, &call.function);
            let end = if kind == Kind::LATE_SENDER { End::Receiver } else { End::Sender };
            let message = communicator(&model, part).map(|comm| (comm, end));
            let call = Arc::clone(&called);
            found.push(Wait { kind, who: me, call, in_call: span.from, span, culprit, message });
        }
    }
    found
}

/// Returns the open calls of a process that can wait for messages, if these are recorded individually.
fn open(seen: &Observation) -> impl Iterator<Item = (Span, &Call)> {
    let records = seen.ledger.is_some();
    entered::open(seen).filter(move |(_, call)| records && can_wait_for_messages(&call.function))
}
