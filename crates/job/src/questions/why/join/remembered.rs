//! Selects the remembered collectives that a snapshot needs.

use crate::observation::{self, Observation};
use std::collections::{BTreeSet, HashMap};

/// Numbers of the requested collectives, by communicator.
pub type Awaited = HashMap<u64, BTreeSet<u64>>;

/// Returns the collectives that processes wait in, and earlier ones in which members were in different
/// functions.
pub fn awaited(observations: &[Observation]) -> Awaited {
    let mut found = Awaited::new();
    let calls = observations.iter().flat_map(|seen| &seen.threads).filter_map(|thread| thread.call.as_ref());
    for need in calls.flat_map(|call| &call.needs) {
        if let observation::Need::Collective(collective) = need {
            found.entry(collective.comm).or_default().insert(collective.number);
        }
    }
    let apart = apart(observations, &found);
    apart.into_iter().for_each(|(comm, number)| _ = found.entry(comm).or_default().insert(number));
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
        let needs = vec![Need::Collective(Collective { comm: COMM, number, ..Collective::default() })];
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
