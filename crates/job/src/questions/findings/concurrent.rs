//! Collectives that two threads of a process called on the same communicator, window or file at once.
//!
//! Members match the collectives of a communicator by the order in which they are issued, and it is up to the program to
//! order the calls of its threads (MPI 5.0, section "Clarifications" of "MPI and Threads"). Calls that overlap in time were
//! not ordered, even if they happened to match.

use super::alike::Alike;
use super::{Finding, Kind, Whose};
use crate::observation::history::History;
use crate::observation::{Collective, Need, Observation};
use std::collections::HashSet;

/// Functions that may call the program's attribute callbacks, which may call collectives in the same thread.
const WITH_CALLBACKS: [&str; 2] = ["MPI_Comm_dup", "MPI_Comm_dup_with_info"];

/// Function and line of a call.
type At<'a> = (&'a str, Option<&'a str>);

/// Returns one finding for each two lines and communicator.
pub(super) fn collectives(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations.iter().filter(|seen| seen.threads.len() > 1) {
        for history in &seen.history {
            let named = seen.communicators.iter().find(|comm| comm.identity == history.comm);
            let name = named.map_or("a communicator", |comm| comm.name.as_str());
            for (one, other) in overlapping(history, &inside(seen, history.comm)) {
                let (one, other) = (at(one), at(other));
                let key = (one.min(other), one.max(other), name);
                found.add(key, whose.who(seen), 1, || said(one, other, name));
            }
        }
    }
    found.findings(Kind::CONCURRENT_COLLECTIVES, |(_, (_, place), _)| *place)
}

fn at(collective: &Collective) -> At<'_> {
    (&collective.function, collective.place.as_deref())
}

fn said(one: At<'_>, other: At<'_>, on: &str) -> String {
    let call = |(function, place): At<'_>| match place {
        Some(place) => format!("{function} at {place}"),
        None => function.to_owned(),
    };
    let calls = match one == other {
        true => format!("{} was", call(one)),
        false => format!("{} and {} were", call(one), call(other)),
    };
    format!("{calls} called on {on} by two threads at once, so their order is undefined")
}

/// Returns the numbers of the collectives on a communicator that threads are in.
fn inside(seen: &Observation, comm: u64) -> HashSet<u64> {
    let needs = seen.threads.iter().filter_map(|thread| thread.call.as_ref()).flat_map(|call| &call.needs);
    let collectives = needs.filter_map(|need| match need {
        Need::Collective(collective) | Need::Neighbors { collective, .. } => Some(collective),
        _ => None,
    });
    collectives.filter(|collective| collective.comm == comm).map(|collective| collective.number).collect()
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
    use crate::observation::{Call, Thread};

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
        Observation { threads, history: vec![history], ..Observation::default() }
    }

    fn found(times: &[(u64, u64)], open: Option<u64>) -> usize {
        let seen = process(times, open);
        overlapping(&seen.history[0], &inside(&seen, 5)).len()
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
    fn collectives_of_attribute_callbacks_are_not_taken_for_those_of_another_thread() {
        assert_eq!(found(&[(1, 2), (3, 4), (5, 6), (7, 20), (8, 9)], None), 0);
    }

    #[test]
    fn equal_calls_are_said_once() {
        let barrier = ("MPI_Barrier", Some("a.c:3"));
        let text = said(barrier, barrier, "MPI_COMM_WORLD");
        assert!(
            text.starts_with("MPI_Barrier at a.c:3 was called on MPI_COMM_WORLD by two threads at once"),
            "{text}"
        );
    }
}
