//! One-sided operations that went wrong although the library let them pass: outside the target's memory, or in
//! conflict with another one; or whose origin's buffer did not stay unchanged.
//!
//! ```text
//! calls of all origins ──► uses: bytes of a target, epoch, completion ─┬─► outside its memory
//!                                                                      ├─► same bytes, nothing orders them
//!                                                                      └─► the origin's buffer changed
//! messages, collectives, ──► what a process may have learned ──────────────────────┘
//! fetched values
//! ```

mod changed;
mod conflicts;
mod order;
mod own;
#[cfg(test)]
mod own_tests;
mod range;
#[cfg(test)]
mod tests;
mod uses;

use super::{Finding, Kind};
use crate::observation::Observation;
use crate::questions::why::{Joined, Words};
use uses::Uses;

/// Returns one finding per line, or pair of lines.
pub(super) fn operations(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    if !observations.iter().any(|seen| seen.one_sided.as_ref().is_some_and(|seen| !seen.calls.is_empty())) {
        return Vec::new();
    }
    let joined = Joined::of(observations);
    let uses = Uses::of(&joined);
    let mut found = range::outside(&uses, words);
    found.extend(conflicts::conflicts(&uses, words));
    found.extend(own::conflicts(&uses, &joined, words));
    found.extend(changed::buffers(&uses, words));
    found
}
