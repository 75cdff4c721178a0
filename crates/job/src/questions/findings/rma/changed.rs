//! Operations whose origin's buffer changed, or was released, before they were complete.

use super::uses::{Use, Uses};
use super::{Finding, Kind};
use crate::observation::ledger::Called;
use crate::questions::findings::alike::Alike;
use crate::questions::findings::changed::sentence;
use crate::questions::why::Words;

/// Returns one finding per line.
pub(super) fn buffers(uses: &Uses<'_>, words: &Words<'_>) -> Vec<Finding> {
    let mut found = Alike::new();
    for one in &uses.all {
        let Some(misuse) = one.access.misuse else { continue };
        let call = &one.call.call;
        found.add((call.function.as_str(), call.place.as_deref()), words.members([one.origin]), 1, || {
            sentence(misuse, &call.to_string(), completed(uses, one))
        });
    }
    found.findings(Kind::BUFFER_CHANGED, |(_, place)| *place)
}

/// Returns the call that completed an operation at its origin: that for its request, or one on its window.
fn completed<'a>(uses: &Uses<'a>, one: &Use<'a>) -> Option<&'a Called> {
    if let Some(call) = &one.access.waited {
        return Some(call);
    }
    let known = uses.seen.get(&one.origin)?.known?;
    Some(&known.calls.get(one.completed.here)?.call)
}
