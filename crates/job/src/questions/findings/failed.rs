//! Calls that returned an error, because the program had asked for error returns, after which it went on; and
//! calls in which the job ended.

use super::alike::Alike;
use super::{Finding, Kind, Whose};
use crate::base::error_classes::is_wrong_use;
use crate::jobs::worlds::Members;
use crate::observation::{Call, Fault, Forbidden, Observation, Raised, Wrong, did_not_return, faults};
use std::collections::BTreeMap;

/// Returns the error class of a failed call if it indicates invalid arguments or a call at the wrong time.
pub fn wrong_use(fault: &Fault) -> Option<&str> {
    let error = fault.error.as_deref().filter(|_| fault.kind == faults::Kind::Failed);
    error.filter(|error| is_wrong_use(error))
}

/// Returns one finding for each line and error class.
pub(super) fn calls(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for fault in &seen.faults {
            let Some(error) = wrong_use(fault) else { continue };
            let (function, place) = (fault.function.as_str(), fault.place.as_deref());
            found.add((function, place, error), whose.who(seen), fault.times, || {
                let at = place.map_or_else(String::new, |place| format!(" at {place}"));
                format!("{function}{at} returned {error}, and the program went on")
            });
        }
    }
    found.findings(Kind::CALL_FAILED, |(_, place, _)| *place)
}

/// Returns calls on windows that were made at the wrong time, which the library let pass: one finding for each
/// line.
pub(super) fn untimely(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(String, Option<&str>), Members> = BTreeMap::new();
    for seen in observations {
        for fault in &seen.faults {
            if let Some(said) = fault.untimely() {
                found.entry((said, fault.place.as_deref())).or_default().join(whose.who(seen));
            }
        }
    }
    let finding = |((said, place), ranks): ((String, Option<&str>), Members)| Finding {
        kind: Kind::RMA_SYNCHRONIZATION,
        sentence: format!("{}: {said}", ranks.named()),
        ranks,
        line: place.map(str::to_owned),
    };
    found.into_iter().map(finding).collect()
}

/// Returns calls that were given the handle of a freed object, whether or not the library noticed: one finding for each
/// line.
pub(super) fn freed(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for fault in seen.faults.iter().filter(|fault| fault.kind == faults::Kind::FreedHandle) {
            let (function, place) = (fault.function.as_str(), fault.place.as_deref());
            let Some(object) = fault.error.as_deref() else { continue };
            found.add((function, place, object), whose.who(seen), fault.times, || {
                let at = place.map_or_else(String::new, |place| format!(" at {place}"));
                format!("{function}{at} was given the handle of a freed {object}")
            });
        }
    }
    found.findings(Kind::FREED_HANDLE, |(_, place, _)| *place)
}

/// Returns calls with invalid arguments that have not returned: under the default error handler the library
/// terminates the job in them.
pub(super) fn never_returned(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Option<&str>, &Wrong), Members> = BTreeMap::new();
    for seen in observations {
        // With --check that was seen before the call, whether or not it returns.
        let is_known = |call: &&Call| {
            let mut used = seen.faults.iter().filter(|fault| fault.kind == faults::Kind::FreedHandle);
            used.any(|fault| fault.function == call.function && fault.place == call.place)
        };
        let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
        let calls = calls.filter(|call| !is_known(call));
        for (call, wrong) in calls.flat_map(|call| call.wrong.iter().map(move |wrong| (call, wrong))) {
            let line = (call.function.as_str(), call.place.as_deref(), wrong);
            found.entry(line).or_default().join(whose.who(seen));
        }
    }
    let finding = |((function, place, wrong), ranks): ((&str, Option<&str>, &Wrong), Members)| {
        let at = place.map_or_else(String::new, |place| format!(" at {place}"));
        let Wrong { what, error } = wrong;
        Finding {
            kind: Kind::CALL_FAILED,
            sentence: format!("{}: {function}{at} was {what} ({error}), and did not return", ranks.named()),
            ranks,
            line: place.map(str::to_owned),
        }
    };
    found.into_iter().map(finding).collect()
}

/// Calls that the level of thread support forbids.
pub(super) fn forbidden(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<&Forbidden, Members> = BTreeMap::new();
    for seen in observations {
        for forbidden in &seen.forbidden {
            found.entry(forbidden).or_default().join(whose.who(seen));
        }
    }
    let finding = |(forbidden, ranks): (&Forbidden, Members)| Finding {
        kind: Kind::THREAD_LEVEL,
        sentence: format!("{}: {}", ranks.named(), forbidden.said()),
        ranks,
        line: forbidden.call.place.clone(),
    };
    found.into_iter().map(finding).collect()
}

/// Error classes that follow from what has become of another process.
const CAUSED_BY_OTHERS: [&str; 3] = ["MPI_ERR_PROC_ABORTED", "MPI_ERR_PROC_FAILED", "MPI_ERR_REVOKED"];

/// Calls in which the library has found an error, and that have not returned, unless it is known already what
/// was wrong: `known` are other findings, and `apart` says whether a process was in a collective whose members
/// did not agree, in which it may get messages of another length.
pub(super) fn raised(
    observations: &[Observation],
    whose: &Whose,
    known: &[Finding],
    apart: &dyn Fn(&Members, &Raised) -> bool,
) -> Vec<Finding> {
    let first_end = observations.iter().filter_map(|seen| seen.last.map(|last| last.began_to_end_ns)).min();
    let mut found: BTreeMap<(&str, Option<&str>, &str), Members> = BTreeMap::new();
    for seen in observations {
        let who = whose.who(seen);
        let has = |kind: Kind| known.iter().any(|finding| finding.kind == kind && finding.ranks == who);
        let explained = |raised: &Raised| {
            let follows = first_end.is_some_and(|ended| ended < raised.at_ns);
            let given = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
            CAUSED_BY_OTHERS.contains(&&*raised.error)
                || (follows && !is_wrong_use(&raised.error))
                || (raised.error == "MPI_ERR_TRUNCATE" && has(Kind::TRUNCATED))
                || (!is_wrong_use(&raised.error) && apart(&who, raised))
                || given.flat_map(|call| &call.wrong).next().is_some()
        };
        let all = seen.threads.iter().filter_map(|thread| thread.raised.as_deref());
        for raised in all.filter(|raised| !explained(raised)) {
            let line = (raised.function.as_str(), raised.place.as_deref(), raised.error.as_str());
            found.entry(line).or_default().join(who.clone());
        }
    }
    let finding = |((function, place, error), ranks): ((&str, Option<&str>, &str), Members)| Finding {
        kind: Kind::CALL_FAILED,
        sentence: format!("{}: {}", ranks.named(), did_not_return(function, place, error)),
        ranks,
        line: place.map(str::to_owned),
    };
    found.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{LastLook, Thread};

    fn rank(rank: u32, error: &str, times: u64) -> Observation {
        let fault = Fault {
            kind: faults::Kind::Failed,
            function: "MPI_Send".into(),
            place: Some("a.c:7".into()),
            comm: 0,
            peer: 0,
            tag: 0,
            room: None,
            bytes: 0,
            error: Some(error.into()),
            times,
        };
        Observation { world: "w".into(), rank: Some(rank), faults: vec![fault], ..Observation::default() }
    }

    fn calls(observations: &[Observation]) -> Vec<Finding> {
        super::calls(observations, &Whose::of(observations))
    }

    #[test]
    fn ranks_whose_calls_failed_alike_share_a_finding() {
        let found =
            calls(&[rank(0, "MPI_ERR_TAG", 3), rank(1, "MPI_ERR_TAG", 1), rank(2, "MPI_ERR_RANK", 1)]);
        let said: Vec<_> = found.iter().map(|one| one.sentence.as_str()).collect();
        let other = "rank 2: MPI_Send at a.c:7 returned MPI_ERR_RANK, and the program went on";
        let wanted = "ranks [0-1]: MPI_Send at a.c:7 returned MPI_ERR_TAG, and the program went on (4 times)";
        assert_eq!(said, [other, wanted]);
    }

    #[test]
    fn calls_with_invalid_arguments_that_did_not_return_are_one_finding_per_place() {
        let inside = |number: u32, what: &str| {
            let wrong = Wrong { what: what.into(), error: "MPI_ERR_COUNT".into() };
            let (function, place) = ("MPI_Send".into(), Some("a.c:7".into()));
            let call = Call { function, place, wrong: vec![wrong], ..Call::default() };
            let thread = Thread { call: Some(call), ..Thread::default() };
            Observation { threads: vec![thread], faults: Vec::new(), ..rank(number, "", 1) }
        };
        let jobs = [inside(0, "given count -1"), inside(2, "given count -1"), rank(1, "MPI_ERR_OTHER", 1)];
        let found = never_returned(&jobs, &Whose::of(&jobs));
        let said: Vec<_> = found.iter().map(|one| (one.kind, one.sentence.as_str())).collect();
        let wanted = "ranks [0,2]: MPI_Send at a.c:7 was given count -1 (MPI_ERR_COUNT), and did not return";
        assert_eq!(said, [(Kind::CALL_FAILED, wanted)]);
    }

    #[test]
    fn calls_with_the_handle_of_a_freed_object_are_one_finding_per_line() {
        let used = |number: u32, times: u64| {
            let mut seen = rank(number, "datatype", times);
            seen.faults.iter_mut().for_each(|fault| fault.kind = faults::Kind::FreedHandle);
            seen
        };
        let job = [used(0, 1), used(2, 2)];
        let found = freed(&job, &Whose::of(&job));
        let said: Vec<_> = found.iter().map(|one| (one.kind, one.sentence.as_str())).collect();
        let function = job[0].faults[0].function.as_str();
        let at = job[0].faults[0].place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let wanted =
            format!("ranks [0,2]: {function}{at} was given the handle of a freed datatype (3 times)");
        assert_eq!(said, [(Kind::FREED_HANDLE, wanted.as_str())]);
    }

    #[test]
    fn calls_on_windows_at_the_wrong_time_are_one_finding_per_line() {
        let untimely = |number: u32| {
            let mut seen = rank(number, "without a lock on the memory of rank 1", 1);
            let fault = seen.faults.first_mut().unwrap();
            fault.kind = faults::Kind::Untimely;
            fault.function = "MPI_Win_unlock".into();
            seen
        };
        let job = [untimely(0), untimely(2), rank(1, "MPI_ERR_OTHER", 1)];
        let found = super::untimely(&job, &Whose::of(&job));
        let said: Vec<_> = found.iter().map(|one| (one.kind, one.sentence.as_str())).collect();
        let wanted = "ranks [0,2]: MPI_Win_unlock at a.c:7 was called on a window without a lock on the memory of \
                      rank 1, which the library did not report";
        assert_eq!(said, [(Kind::RMA_SYNCHRONIZATION, wanted)]);
        assert_eq!(calls(&job), [], "no error was returned");
    }

    /// A rank that ended at a time, in a call in which the library had found an error one nanosecond before.
    fn failing(number: u32, error: &str, ended_ns: u64) -> Observation {
        let raised = Raised {
            function: "MPI_Put".into(),
            place: Some("a.c:9".into()),
            error: error.into(),
            at_ns: ended_ns - 1,
        };
        let call = Call { function: "MPI_Put".into(), ..Call::default() };
        let thread = Thread { call: Some(call), raised: Some(Box::new(raised)), ..Thread::default() };
        let last = Some(LastLook { looked_ns: 100, ended_ns, began_to_end_ns: ended_ns });
        Observation { threads: vec![thread], last, faults: Vec::new(), ..rank(number, "", 1) }
    }

    #[test]
    fn a_call_in_which_the_library_found_an_error_and_that_did_not_return_is_a_finding_with_its_class() {
        let job =
            [failing(0, "MPI_ERR_OP", 10), failing(2, "MPI_ERR_OP", 20), failing(1, "MPI_ERR_OTHER", 5)];
        let found = |known: &[Finding]| raised(&job, &Whose::of(&job), known, &|_, _| false);
        let said: Vec<_> = found(&[]).into_iter().map(|one| one.sentence).collect();
        let wanted = [
            "ranks [0,2]: MPI_Put at a.c:9 failed with MPI_ERR_OP, and did not return",
            "rank 1: MPI_Put at a.c:9 failed with MPI_ERR_OTHER, and did not return",
        ];
        assert_eq!(said, wanted);
    }

    #[test]
    fn errors_caused_by_another_ranks_end_or_reported_elsewhere_are_not_findings() {
        let found =
            |job: &[Observation], known: &[Finding]| raised(job, &Whose::of(job), known, &|_, _| false).len();
        let job = [failing(0, "MPI_ERR_OTHER", 10), failing(1, "MPI_ERR_PROC_FAILED", 4), rank(2, "", 1)];
        assert_eq!(found(&job, &[]), 0, "another one had ended, or it says so itself");
        let truncated = [failing(0, "MPI_ERR_TRUNCATE", 10)];
        let whose = Whose::of(&truncated);
        let known = Finding {
            kind: Kind::TRUNCATED,
            ranks: whose.who(&truncated[0]),
            line: None,
            sentence: String::new(),
        };
        assert_eq!((found(&truncated, &[]), found(&truncated, &[known])), (1, 0));
        let mut given = [failing(0, "MPI_ERR_COUNT", 10)];
        let call = given[0].threads[0].call.as_mut().unwrap();
        call.wrong.push(Wrong { what: "given count -1".into(), error: "MPI_ERR_COUNT".into() });
        assert_eq!(found(&given, &[]), 0);
    }

    #[test]
    fn errors_that_follow_from_a_mismatched_collective_are_not_findings() {
        let found = |error: &str| {
            let job = [failing(0, error, 10)];
            raised(&job, &Whose::of(&job), &[], &|_, raised| raised.function == "MPI_Put").len()
        };
        assert_eq!((found("MPI_ERR_TRUNCATE"), found("MPI_ERR_ROOT")), (0, 1), "an invalid root is a cause");
    }

    #[test]
    fn errors_that_correct_programs_may_get_are_not_findings() {
        assert_eq!(calls(&[rank(0, "MPI_ERR_NO_SUCH_FILE", 3), rank(1, "MPI_ERR_TRUNCATE", 1)]), []);
    }
}
