//! Operations whose origin's buffer changed, or was released, before they were complete, unless another operation wrote
//! into it meanwhile: [`overlaps`](crate::questions::findings::overlaps) reports that.

use super::uses::{Use, Uses};
use super::{Finding, Kind};
use crate::observation::Observation;
use crate::observation::ledger::Called;
use crate::observation::one_sided::OneSidedCall;
use crate::questions::findings::alike::Alike;
use crate::questions::findings::changed::sentence;
use crate::questions::findings::overlaps::{Operation, written_over};
use crate::questions::why::Words;
use std::collections::{HashMap, HashSet};

/// Returns one finding per line.
pub(super) fn buffers(uses: &Uses<'_>, words: &Words<'_>) -> Vec<Finding> {
    let mut found = Alike::new();
    let mut written_over = HashMap::new();
    for one in &uses.all {
        let Some(misuse) = one.access.misuse else { continue };
        let Some(origin) = uses.seen.get(&one.origin) else { continue };
        let written = written_over.entry(one.origin).or_insert_with(|| written_over_in(origin.seen));
        if written.contains(&std::ptr::from_ref(one.call)) {
            continue;
        }
        let call = &one.call.call;
        found.add((call.function.as_str(), call.place.as_deref()), words.members([one.origin]), 1, || {
            sentence(misuse, &call.to_string(), completed(uses, one))
        });
    }
    found.findings(Kind::BUFFER_CHANGED, |(_, place)| *place)
}

fn written_over_in(seen: &Observation) -> HashSet<*const OneSidedCall> {
    let is_call = |operation| match operation {
        Operation::OneSided(call) => Some(std::ptr::from_ref(call)),
        Operation::Line(_) => None,
    };
    written_over(seen).into_iter().filter_map(is_call).collect()
}

/// Returns the call that completed an operation at its origin: that for its request, or one on its window.
fn completed<'a>(uses: &Uses<'a>, one: &Use<'a>) -> Option<&'a Called> {
    if let Some(call) = &one.access.waited {
        return Some(call);
    }
    let known = uses.seen.get(&one.origin)?.known?;
    Some(&known.calls.get(one.completed.here)?.call)
}
