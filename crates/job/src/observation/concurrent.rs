//! Collectives that two threads of a process called on the same communicator, window or file at once.
//!
//! Members match the collectives of a communicator by the order in which they are issued, and it is up to the program to
//! order the calls of its threads (MPI 5.0, section "Clarifications" of "MPI and Threads"). Calls that overlap in time were
//! not ordered, even if they happened to match.

use super::history::History;
use super::{Call, Collective, Need, Observation};
use std::collections::HashSet;

/// Functions that may call the program's attribute callbacks, which may call collectives in the same thread.
const WITH_CALLBACKS: [&str; 2] = ["MPI_Comm_dup", "MPI_Comm_dup_with_info"];

/// Function and line of a call.
pub type At<'a> = (&'a str, Option<&'a str>);

/// Two calls that overlapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Concurrent<'a> {
    /// The smaller of the two.
    pub one: At<'a>,
    /// The other one.
    pub other: At<'a>,
    /// Name of the communicator, window or file.
    pub on: &'a str,
}

impl<'a> Concurrent<'a> {
    /// `None` on a communicator of one process, whose calls no other member could take in another order.
    fn new(seen: &'a Observation, comm: u64, one: At<'a>, other: At<'a>) -> Option<Self> {
        let mut known = seen.communicators.iter().filter(|known| known.identity == comm);
        let on = known.next().filter(|comm| comm.processes() > 1)?.name.as_str();
        Some(Self { one: one.min(other), other: one.max(other), on })
    }

    /// Describes it as text for users.
    #[must_use]
    pub fn said(&self) -> String {
        let call = |(function, place): At<'_>| match place {
            Some(place) => format!("{function} at {place}"),
            None => function.to_owned(),
        };
        let calls = match self.one == self.other {
            true => format!("{} was", call(self.one)),
            false => format!("{} and {} were", call(self.one), call(self.other)),
        };
        format!("{calls} called on {} by two threads at once, so their order is undefined", self.on)
    }
}

/// Returns those that are still recorded.
#[must_use]
pub fn recorded(seen: &Observation) -> Vec<Concurrent<'_>> {
    // Calls within calls of one thread are not meant.
    if seen.threads.len() < 2 {
        return Vec::new();
    }
    seen.history.iter().flat_map(|history| recorded_on(seen, history)).collect()
}

fn recorded_on<'a>(seen: &'a Observation, history: &'a History) -> Vec<Concurrent<'a>> {
    let inside = open(seen).filter(|(collective, _)| collective.comm == history.comm);
    let inside: HashSet<u64> = inside.map(|(collective, _)| collective.number).collect();
    let pairs = overlapping(history, &inside).into_iter();
    pairs.filter_map(|(one, other)| Concurrent::new(seen, history.comm, at(one), at(other))).collect()
}

/// Returns the calls that threads are in at the same time.
#[must_use]
pub fn present(seen: &Observation) -> Vec<Concurrent<'_>> {
    let mut first: Vec<(u64, At<'_>)> = Vec::new();
    let mut found = Vec::new();
    for (collective, call) in open(seen) {
        let at = (call.function.as_str(), call.place.as_deref());
        match first.iter().find(|(comm, _)| *comm == collective.comm) {
            Some((comm, earlier)) => found.extend(Concurrent::new(seen, *comm, *earlier, at)),
            None => first.push((collective.comm, at)),
        }
    }
    found
}

/// Returns the collectives that threads are in; one for each thread.
fn open(seen: &Observation) -> impl Iterator<Item = (&Collective, &Call)> {
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    // A call that completes requests needs collectives that were started.
    calls.filter_map(|call| {
        let found = call.needs.iter().find_map(collective)?;
        (found.function == call.function).then_some((found, call))
    })
}

fn at(collective: &Collective) -> At<'_> {
    (&collective.function, collective.place.as_deref())
}

fn collective(need: &Need) -> Option<&Collective> {
    match need {
        Need::Collective(collective) | Need::Neighbors { collective, .. } => Some(collective),
        _ => None,
    }
}

/// Returns the calls that were entered while an earlier one had not returned, each with that one.
fn overlapping<'a>(history: &'a History, inside: &HashSet<u64>) -> Vec<(&'a Collective, &'a Collective)> {
    let mut found = Vec::new();
    let mut last_to_return: Option<(u64, &Collective)> = None;
    for ((number, one), (entered, left)) in history.iter().zip(&history.times) {
        if let Some((until, earlier)) = last_to_return
            && (1..until).contains(entered)
        {
            found.push((earlier, one));
        }
        let is_inside = *left == 0 && *entered != 0 && inside.contains(&number);
        let until = if is_inside { u64::MAX } else { *left };
        let is_simple = !WITH_CALLBACKS.contains(&one.function.as_str());
        if is_simple && last_to_return.is_none_or(|(longest, _)| until > longest) {
            last_to_return = Some((until, one));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Communicator, Thread};

    /// A process with two threads, one of which may be in the collective with this number, and a history of barriers and
    /// one duplication, entered and left at these times.
    fn process(times: &[(u64, u64)], open: Option<u64>) -> Observation {
        let kind =
            |function: &str| Collective { function: function.into(), comm: 5, ..Collective::default() };
        let history = History {
            comm: 5,
            newest: times.len() as u64,
            entries: (1..).zip(times).map(|(number, _)| (number, u32::from(number == 4))).collect(),
            kinds: vec![kind("MPI_Barrier"), kind("MPI_Comm_dup")],
            times: times.to_vec(),
            completed: Vec::new(),
        };
        let needs =
            open.map(|number| Need::Collective(Box::new(Collective { number, ..kind("MPI_Barrier") })));
        let call =
            Call { function: "MPI_Barrier".into(), needs: needs.into_iter().collect(), ..Call::default() };
        let threads = vec![Thread { call: Some(call), ..Thread::default() }, Thread::default()];
        let comm = Communicator { identity: 5, size: 2, ..Communicator::default() };
        Observation { threads, history: vec![history], communicators: vec![comm], ..Observation::default() }
    }

    fn found(times: &[(u64, u64)], open: Option<u64>) -> usize {
        recorded(&process(times, open)).len()
    }

    #[test]
    fn collectives_entered_while_another_thread_was_in_one_are_found() {
        assert_eq!(found(&[(1, 5), (5, 7), (8, 9)], None), 0, "one after the other");
        assert_eq!(found(&[(1, 5), (4, 7), (8, 9)], None), 1);
        assert_eq!(found(&[(4, 9), (3, 7), (8, 10)], None), 2, "numbered in another order than entered");
        assert_eq!(found(&[(1, 0), (4, 7), (8, 9)], None), 0, "the first only started an operation");
        assert_eq!(found(&[(1, 0), (4, 7), (8, 9)], Some(1)), 2, "a thread is still in the first");
        assert_eq!(found(&[(0, 0), (0, 0)], None), 0, "without times");
    }

    #[test]
    fn threads_may_share_a_communicator_of_one_process() {
        let mut seen = process(&[(1, 5), (4, 7)], None);
        assert_eq!(recorded(&seen).len(), 1);
        seen.communicators[0].size = 1;
        assert_eq!(recorded(&seen).len(), 0);
    }

    #[test]
    fn collectives_of_attribute_callbacks_are_not_taken_for_those_of_another_thread() {
        assert_eq!(found(&[(1, 2), (3, 4), (5, 6), (7, 20), (8, 9)], None), 0);
    }

    #[test]
    fn equal_calls_are_said_once() {
        let barrier = ("MPI_Barrier", Some("a.c:3"));
        let text = Concurrent { one: barrier, other: barrier, on: "MPI_COMM_WORLD" }.said();
        assert!(
            text.starts_with("MPI_Barrier at a.c:3 was called on MPI_COMM_WORLD by two threads at once"),
            "{text}"
        );
    }

    #[test]
    fn threads_that_are_in_collectives_of_one_communicator_are_found_and_those_that_wait_for_requests_are_not()
     {
        let mut seen = process(&[], Some(1));
        assert_eq!(present(&seen).len(), 0);
        let call = seen.threads[0].call.clone();
        seen.threads[1].call = call.map(|call| Call { function: "MPI_Wait".into(), ..call });
        assert_eq!(present(&seen).len(), 0, "a started one");
        seen.threads[1].call = seen.threads[0].call.clone();
        assert_eq!(present(&seen).len(), 1);
    }
}
