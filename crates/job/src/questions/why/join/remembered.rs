//! Selects the remembered collectives that a snapshot needs.

use crate::observation::{self, Observation};
use std::collections::{BTreeSet, HashMap};

/// Numbers of the requested collectives, by communicator.
pub type Awaited = HashMap<u64, BTreeSet<u64>>;

/// Returns the collectives that processes wait in, and further ones that may tell why: earlier ones in which
/// members were in different functions, those with the same number on the other communicators into which a
/// call split the members, and the last ones of processes that not all members have entered.
pub fn awaited(observations: &[Observation]) -> Awaited {
    let mut found = Awaited::new();
    let calls = observations.iter().flat_map(|seen| &seen.threads).filter_map(|thread| thread.call.as_ref());
    for need in calls.flat_map(|call| &call.needs) {
        if let observation::Need::Collective(collective) = need {
            found.entry(collective.comm).or_default().insert(collective.number);
        }
    }
    if found.is_empty() {
        return found;
    }
    let apart = apart(observations, &found);
    let others = of_other_groups(observations, &found).into_iter().chain(unmatched(observations));
    apart
        .into_iter()
        .chain(others)
        .for_each(|(comm, number)| _ = found.entry(comm).or_default().insert(number));
    found
}

/// Remembered collectives before the awaited ones in which not all members were in the same function.
fn apart(observations: &[Observation], awaited: &Awaited) -> Vec<(u64, u64)> {
    let mut functions: HashMap<(u64, u64), &str> = HashMap::new();
    let mut apart = Vec::new();
    for history in observations.iter().flat_map(|seen| &seen.history) {
        let Some(last) = awaited.get(&history.comm).and_then(BTreeSet::last) else { continue };
        for (number, collective) in history.iter().take_while(|(number, _)| number < last) {
            let function = functions.entry((history.comm, number)).or_insert(&collective.function);
            if *function != collective.function {
                apart.push((history.comm, number));
            }
        }
    }
    apart
}

/// The awaited numbers on communicators made by the same call as the awaited one, and the numbers before these on the
/// awaited one.
fn of_other_groups(observations: &[Observation], awaited: &Awaited) -> Vec<(u64, u64)> {
    type Call<'a> = (u64, Option<&'a str>);
    let mut splits: HashMap<Call<'_>, BTreeSet<u64>> = HashMap::new();
    let mut of: HashMap<u64, Call<'_>> = HashMap::new();
    for comm in observations.iter().flat_map(|seen| &seen.communicators) {
        let Some(split) = &comm.split else { continue };
        let call = (split.of, split.place.as_deref());
        splits.entry(call).or_default().insert(comm.identity);
        of.insert(comm.identity, call);
    }
    let mut found = Vec::new();
    for (comm, numbers) in awaited {
        let others = of.get(comm).and_then(|call| splits.get(call)).into_iter().flatten();
        for other in others.filter(|other| *other != comm) {
            found.extend(numbers.iter().map(|number| (*other, *number)));
        }
        let before = numbers.iter().filter(|number| of.contains_key(comm) && **number > 1);
        found.extend(before.map(|number| (*comm, number - 1)));
    }
    found
}

/// The last collectives that processes have entered, if another process has not entered them.
fn unmatched(observations: &[Observation]) -> Vec<(u64, u64)> {
    let mut least: HashMap<u64, u64> = HashMap::new();
    for comm in observations.iter().flat_map(|seen| &seen.communicators) {
        let least = least.entry(comm.identity).or_insert(comm.collectives);
        *least = comm.collectives.min(*least);
    }
    let newest = observations.iter().flat_map(|seen| &seen.history).map(|one| (one.comm, one.newest));
    newest.filter(|(comm, newest)| least.get(comm).is_some_and(|least| newest > least)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Call, Collective, History, Need, Thread};

    const COMM: u64 = 7;

    fn member(functions: &[&str], waits: bool) -> Observation {
        let number = functions.len() as u64;
        let collective =
            |function: &&str| Collective { function: (*function).to_owned(), ..Collective::default() };
        let history = History {
            comm: COMM,
            newest: number,
            entries: (1..=number).zip(0..).collect(),
            kinds: functions.iter().map(collective).collect(),
            completed: Vec::new(),
            times: Vec::new(),
        };
        let needs =
            vec![Need::Collective(Box::new(Collective { comm: COMM, number, ..Collective::default() }))];
        let call = waits.then(|| Call { needs, ..Call::default() });
        Observation {
            threads: vec![Thread { call, ..Thread::default() }],
            history: vec![history],
            ..Observation::default()
        }
    }

    #[test]
    fn earlier_collectives_are_needed_if_the_members_diverged() {
        let one = member(&["MPI_Bcast", "MPI_Reduce", "MPI_Barrier"], true);
        let alike = member(&["MPI_Bcast", "MPI_Reduce"], false);
        let other = member(&["MPI_Bcast", "MPI_Barrier"], false);
        let numbers = |job: &[Observation]| awaited(job).remove(&COMM).unwrap_or_default();
        assert_eq!(numbers(&[one.clone(), alike.clone()]), BTreeSet::from([3]));
        assert_eq!(numbers(&[one, alike.clone(), other.clone()]), BTreeSet::from([2, 3]));
        assert_eq!(numbers(&[alike, other]), BTreeSet::new(), "nobody waits");
    }
}
