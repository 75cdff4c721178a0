//! Failed calls after which the program went on: what it then did without is often what others wait for. Also
//! calls that cannot succeed although the library did not check them.

use crate::observation::{Call, Fault, Observation, Wrong};
use crate::questions::findings::wrong_use;
use crate::questions::why::snapshot::Failed;

/// Returns those of a process.
pub(super) fn of(seen: &Observation) -> Vec<Failed> {
    let failed = |fault: &Fault| {
        let (function, place) = (fault.function.as_str().into(), fault.place.as_deref().map(Into::into));
        Some(Failed { function, place, error: wrong_use(fault)?.into(), given: None })
    };
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    let inside = calls.flat_map(|call| call.wrong.iter().map(move |wrong| (call, wrong)));
    let cannot = |(call, wrong): (&Call, &Wrong)| Failed {
        function: call.function.as_str().into(),
        place: call.place.as_deref().map(Into::into),
        error: wrong.error.as_str().into(),
        given: Some(wrong.what.as_str().into()),
    };
    seen.faults.iter().filter_map(failed).chain(inside.map(cannot)).collect()
}
