//! Failed calls: what the program then did without is often what others wait for, and some end the job. Also
//! calls that cannot succeed although the library did not check them.

use crate::observation::concurrent::{self, Concurrent};
use crate::observation::faults::Kind;
use crate::observation::{Call, Fault, Forbidden, Observation, Raised, Wrong};
use crate::questions::findings::wrong_use;
use crate::questions::why::snapshot::{Failed, Outcome};

/// Returns those of a process.
pub(super) fn of(seen: &Observation) -> Vec<Failed> {
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    let cannot = calls.flat_map(|call| call.wrong.iter().map(move |wrong| (call, wrong)));
    let found = seen.threads.iter().filter_map(|thread| thread.raised.as_deref());
    let open: Vec<Failed> = match cannot.clone().next() {
        Some(_) => cannot.map(|(call, wrong)| given(call, wrong)).collect(),
        // What it was given tells more.
        None => found.map(raised).collect(),
    };
    let at_once = concurrent::present(seen).into_iter().map(|calls| at_once(&calls));
    let forbidden = seen.forbidden.iter().map(forbidden);
    at_once.chain(forbidden).chain(seen.faults.iter().filter_map(went_on)).chain(open).collect()
}

fn at_once(calls: &Concurrent<'_>) -> Failed {
    let (function, place) = calls.other;
    failed(function, place, "", Outcome::AtOnce(calls.said().into()))
}

fn forbidden(one: &Forbidden) -> Failed {
    let outcome = Outcome::Forbidden(one.said().into());
    failed(&one.call.function, one.call.place.as_deref(), &one.level, outcome)
}

fn went_on(fault: &Fault) -> Option<Failed> {
    if fault.kind == Kind::Truncated {
        return Some(failed(&fault.function, fault.place.as_deref(), "MPI_ERR_TRUNCATE", Outcome::Short));
    }
    if let Some(said) = fault.untimely() {
        let outcome = Outcome::Forbidden(said.into());
        return Some(failed(&fault.function, fault.place.as_deref(), "MPI_ERR_RMA_SYNC", outcome));
    }
    let error = wrong_use(fault)?;
    Some(failed(&fault.function, fault.place.as_deref(), error, Outcome::WentOn))
}

fn given(call: &Call, wrong: &Wrong) -> Failed {
    let outcome = Outcome::Given(wrong.what.as_str().into());
    failed(&call.function, call.place.as_deref(), &wrong.error, outcome)
}

fn raised(raised: &Raised) -> Failed {
    failed(&raised.function, raised.place.as_deref(), &raised.error, Outcome::Raised)
}

fn failed(function: &str, place: Option<&str>, error: &str, outcome: Outcome) -> Failed {
    Failed { function: function.into(), place: place.map(Into::into), error: error.into(), outcome }
}
