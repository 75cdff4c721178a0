//! Calls that returned an error, because the program had asked for error returns, after which it went on.

use super::{Finding, Kind, Whose};
use crate::jobs::worlds::Members;
use crate::observation::{Fault, Observation, Wrong, faults};
use std::collections::BTreeMap;

/// Error classes that indicate invalid arguments or a call at the wrong time. A correct program may encounter
/// the others: a missing file, a failed process, an unsupported operation; or they are detected in another
/// way (`MPI_ERR_TRUNCATE`).
const WRONG_USE: [&str; 33] = [
    "MPI_ERR_AMODE",
    "MPI_ERR_ARG",
    "MPI_ERR_ASSERT",
    "MPI_ERR_BASE",
    "MPI_ERR_BUFFER",
    "MPI_ERR_COMM",
    "MPI_ERR_COUNT",
    "MPI_ERR_DIMS",
    "MPI_ERR_DISP",
    "MPI_ERR_ERRHANDLER",
    "MPI_ERR_FILE",
    "MPI_ERR_GROUP",
    "MPI_ERR_INFO",
    "MPI_ERR_INFO_KEY",
    "MPI_ERR_INFO_VALUE",
    "MPI_ERR_KEYVAL",
    "MPI_ERR_LOCKTYPE",
    "MPI_ERR_NOT_SAME",
    "MPI_ERR_OP",
    "MPI_ERR_RANK",
    "MPI_ERR_REQUEST",
    "MPI_ERR_RMA_CONFLICT",
    "MPI_ERR_RMA_FLAVOR",
    "MPI_ERR_RMA_RANGE",
    "MPI_ERR_RMA_SHARED",
    "MPI_ERR_RMA_SYNC",
    "MPI_ERR_ROOT",
    "MPI_ERR_SESSION",
    "MPI_ERR_SIZE",
    "MPI_ERR_TAG",
    "MPI_ERR_TOPOLOGY",
    "MPI_ERR_TYPE",
    "MPI_ERR_WIN",
];

/// Returns the error class of a failed call if it indicates invalid arguments or a call at the wrong time.
pub fn wrong_use(fault: &Fault) -> Option<&str> {
    let error = fault.error.as_deref().filter(|_| fault.kind == faults::Kind::Failed);
    error.filter(|error| WRONG_USE.contains(error))
}

/// Returns one finding for each line and error class.
pub(super) fn calls(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Option<&str>, &str), (Members, u64)> = BTreeMap::new();
    for seen in observations {
        for fault in &seen.faults {
            if let Some(error) = wrong_use(fault) {
                let line = (fault.function.as_str(), fault.place.as_deref(), error);
                let (ranks, times) = found.entry(line).or_default();
                ranks.join(whose.who(seen));
                *times = times.saturating_add(fault.times);
            }
        }
    }
    let finding =
        |((function, place, error), (ranks, times)): ((&str, Option<&str>, &str), (Members, u64))| {
            let at = place.map_or_else(String::new, |place| format!(" at {place}"));
            let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
            Finding {
                kind: Kind::CALL_FAILED,
                sentence: format!(
                    "{}: {function}{at} returned {error}, and the program went on{times}",
                    ranks.named()
                ),
                ranks,
                line: place.map(str::to_owned),
            }
        };
    found.into_iter().map(finding).collect()
}

/// Returns calls with invalid arguments that have not returned: under the default error handler the library
/// terminates the job in them.
pub(super) fn never_returned(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Option<&str>, &Wrong), Members> = BTreeMap::new();
    for seen in observations {
        let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
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
            sentence: format!(
                "{}: {function}{at} was given {what} ({error}), and did not return",
                ranks.named()
            ),
            ranks,
            line: place.map(str::to_owned),
        }
    };
    found.into_iter().map(finding).collect()
}

/// The function and line a process ended in, its exit status, and the error class this stands for.
type Ended<'a> = (&'a str, Option<&'a str>, (i32, &'a str));

/// Returns processes that ended inside a call with a status that stands for an error, unless the cause is
/// already known.
pub(super) fn ended_inside(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<Ended<'_>, Members> = BTreeMap::new();
    for seen in observations {
        let mut threads = seen.threads.iter().filter(|thread| !thread.ended);
        // Another thread may have terminated the process.
        let (Some(thread), None, Some(exit)) = (threads.next(), threads.next(), seen.exit_error) else {
            continue;
        };
        let truncated = seen.faults.iter().any(|fault| fault.kind == faults::Kind::Truncated);
        let known = truncated && exit.1 == "MPI_ERR_TRUNCATE";
        if let Some(call) = thread.call.as_ref().filter(|call| call.wrong.is_empty() && !known) {
            let line = (call.function.as_str(), call.place.as_deref(), exit);
            found.entry(line).or_default().join(whose.who(seen));
        }
    }
    let finding = |((function, place, (status, error)), ranks): (Ended<'_>, Members)| {
        let at = place.map_or_else(String::new, |place| format!(" at {place}"));
        Finding {
            kind: Kind::CALL_FAILED,
            sentence: format!(
                "{} ended inside of {function}{at} with exit status {status}, as where a call fails with {error} and errors are fatal",
                ranks.named()
            ),
            ranks,
            line: place.map(str::to_owned),
        }
    };
    found.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Call, Thread};

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
    fn ranks_whose_call_failed_alike_are_one_finding() {
        let found =
            calls(&[rank(0, "MPI_ERR_TAG", 3), rank(1, "MPI_ERR_TAG", 1), rank(2, "MPI_ERR_RANK", 1)]);
        let said: Vec<_> = found.iter().map(|one| one.sentence.as_str()).collect();
        let other = "rank 2: MPI_Send at a.c:7 returned MPI_ERR_RANK, and the program went on";
        let wanted = "ranks [0-1]: MPI_Send at a.c:7 returned MPI_ERR_TAG, and the program went on (4 times)";
        assert_eq!(said, [other, wanted]);
    }

    #[test]
    fn calls_that_were_given_something_wrong_and_did_not_return_are_one_finding_for_each_place() {
        let inside = |number: u32, what: &str| {
            let wrong = Wrong { what: what.into(), error: "MPI_ERR_COUNT".into() };
            let (function, place) = ("MPI_Send".into(), Some("a.c:7".into()));
            let call = Call { function, place, wrong: vec![wrong], ..Call::default() };
            let thread = Thread { call: Some(call), ..Thread::default() };
            Observation { threads: vec![thread], faults: Vec::new(), ..rank(number, "", 1) }
        };
        let jobs = [inside(0, "count -1"), inside(2, "count -1"), rank(1, "MPI_ERR_OTHER", 1)];
        let found = never_returned(&jobs, &Whose::of(&jobs));
        let said: Vec<_> = found.iter().map(|one| (one.kind, one.sentence.as_str())).collect();
        let wanted = "ranks [0,2]: MPI_Send at a.c:7 was given count -1 (MPI_ERR_COUNT), and did not return";
        assert_eq!(said, [(Kind::CALL_FAILED, wanted)]);
    }

    #[test]
    fn who_ended_inside_of_a_call_with_the_status_of_an_error_is_named_unless_another_thread_may_have_ended_it()
     {
        let call = || Call { function: "MPI_Put".into(), place: Some("a.c:9".into()), ..Call::default() };
        let thread = || Thread { call: Some(call()), ..Thread::default() };
        let ended = |threads: Vec<Thread>| Observation {
            threads,
            exit_error: Some((50, "MPI_ERR_RMA_SYNC")),
            ..rank(1, "MPI_ERR_OTHER", 1)
        };
        let found = |job: &[Observation]| ended_inside(job, &Whose::of(job));
        let one = [ended(vec![thread()])];
        let said: Vec<_> = found(&one).into_iter().map(|one| one.sentence).collect();
        let wanted = "rank 1 ended inside of MPI_Put at a.c:9 with exit status 50, as where a call fails with MPI_ERR_RMA_SYNC and \
                      errors are fatal";
        assert_eq!(said, [wanted]);
        assert_eq!(found(&[ended(vec![thread(), Thread::default()])]), []);
        assert_eq!(found(&[ended(vec![Thread::default()])]), [], "outside of MPI");
    }

    #[test]
    fn what_a_correct_program_may_meet_is_no_finding() {
        assert_eq!(calls(&[rank(0, "MPI_ERR_NO_SUCH_FILE", 3), rank(1, "MPI_ERR_TRUNCATE", 1)]), []);
    }
}
