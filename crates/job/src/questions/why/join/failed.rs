//! Calls that failed, after which the program went on: what it then did without is often what others wait for.

use crate::observation::{Fault, Observation};
use crate::questions::findings::wrong_use;
use crate::questions::why::snapshot::Failed;

/// Those of a process.
pub(super) fn of(seen: &Observation) -> Vec<Failed> {
    let failed = |fault: &Fault| {
        let (function, place) = (fault.function.as_str().into(), fault.place.as_deref().map(Into::into));
        Some(Failed { function, place, error: wrong_use(fault)?.into() })
    };
    seen.faults.iter().filter_map(failed).collect()
}
