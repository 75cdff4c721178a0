//! What is left of the time in calls for waits that are only sampled: a sample stands for the time around it,
//! which may exceed the duration of the call it found. So the sampled waits of a rank at a place, in a function
//! and in total are bounded by the time it spent there, less the waits there that are recorded individually.

use super::SpentByRank;
use super::alike::{Alike, Who};
use super::merge::{self, Amount, Amounts};
use crate::base::total::total;
use crate::base::waiting_functions::asks;
use std::collections::HashMap;

/// A part of a rank's time in calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part<'a> {
    Place(&'a str, &'a str),
    Function(&'a str),
    All,
}

/// Returns the part that a wait belongs to; none if its time is not limited to that part.
type PartOf = for<'a> fn(&'a Alike) -> Option<Part<'a>>;

/// Each of these parts contains those before it. Time between the calls of a polling loop belongs to no place
/// and no function.
const PARTS: [PartOf; 3] = [
    |wait| {
        let place = wait.line.as_deref().unwrap_or_default();
        (!asks(&wait.function)).then_some(Part::Place(&wait.function, place))
    },
    |wait| (!asks(&wait.function)).then_some(Part::Function(&wait.function)),
    |_| Some(Part::All),
];

/// Seconds by rank and part.
type Seconds<'a> = HashMap<(&'a Who, Part<'a>), f64>;

/// Seconds in which ranks may have waited without a record of it.
pub struct Left<'a>(Seconds<'a>);

impl<'a> Left<'a> {
    /// Returns what is left of the time in calls.
    pub fn of(spent: &'a SpentByRank, recorded: &'a Amounts) -> Self {
        let mut left = Seconds::new();
        for (who, spent) in spent {
            let places = spent.places.iter();
            let places = places.map(|((function, place), spent_s)| (Part::Place(function, place), *spent_s));
            let functions =
                spent.functions.iter().map(|(function, spent_s)| (Part::Function(function), *spent_s));
            let parts = places.chain(functions).chain([(Part::All, spent.all)]);
            left.extend(parts.map(|(part, spent_s)| ((who, part), spent_s)));
        }
        for part_of in PARTS {
            for (at, waited_s) in by_rank(recorded, part_of) {
                left.entry(at).and_modify(|left_s| *left_s = (*left_s - waited_s).max(0.0));
            }
        }
        Self(left)
    }

    /// Reduces sampled waits to what is left. Ranks whose time is unknown share what is left of the total.
    pub fn bound(&self, found: &mut Amounts) {
        for part_of in PARTS {
            let shares = self.shares(found, part_of);
            found.values_mut().zip(shares).for_each(|(amount, shares)| amount.reduce(shares.into_iter()));
        }
        let (all_s, most_s) = (merge::seconds(found), self.total());
        if all_s > most_s {
            found.values_mut().for_each(|amount| amount.reduce(std::iter::repeat(most_s / all_s)));
        }
    }

    /// Returns the share of each wait and rank that does not exceed what is left.
    fn shares(&self, found: &Amounts, part_of: PartOf) -> Vec<Vec<f64>> {
        let waits = by_rank(found, part_of);
        let share = |part: Option<Part<'_>>, who: &Who| {
            let at = (who, part?);
            Some((self.0.get(&at)? / waits.get(&at)?).min(1.0))
        };
        let shares = |(wait, amount): (&Alike, &Amount)| {
            amount.ranks.keys().map(|who| share(part_of(wait), who).unwrap_or(1.0)).collect()
        };
        found.iter().map(shares).collect()
    }

    fn total(&self) -> f64 {
        let all = self.0.iter().filter(|((_, part), _)| *part == Part::All);
        total(all.map(|(_, left_s)| *left_s))
    }
}

/// Returns the seconds of waits by rank and part.
fn by_rank(waits: &Amounts, part_of: PartOf) -> Seconds<'_> {
    let mut all = Seconds::new();
    for (wait, amount) in waits {
        let Some(part) = part_of(wait) else { continue };
        for (who, ns) in &amount.ranks {
            *all.entry((who, part)).or_default() += *ns as f64 / 1e9;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::performance::waits::{Kind, SpentInCalls};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    fn wait(function: &str, place: &str) -> Alike {
        Alike {
            kind: Kind::LATE_SENDER,
            function: function.to_owned(),
            line: Some(place.to_owned()),
            culprit: rank(0),
            meanwhile: String::new(),
            comm: None,
        }
    }

    fn rank(rank: u32) -> Who {
        (Arc::from("w"), Some(rank))
    }

    fn waited<const RANKS: usize>(seconds: [(u32, u64); RANKS]) -> Amount {
        let ranks = seconds.map(|(who, seconds)| (rank(who), seconds * SECOND)).into();
        Amount { ranks, ..Amount::default() }
    }

    fn spent(all: f64, function: f64, place: f64) -> SpentInCalls {
        let name = || "MPI_Wait".to_owned();
        SpentInCalls {
            all,
            functions: [(name(), function)].into(),
            places: [((name(), "a.c:1".to_owned()), place)].into(),
        }
    }

    fn seconds(found: &Amounts, function: &str, place: &str) -> Vec<f64> {
        let amount = &found[&wait(function, place)];
        amount.ranks.values().map(|ns| *ns as f64 / 1e9).collect()
    }

    #[test]
    fn no_rank_waits_longer_than_it_spent_at_the_place_even_if_others_spent_more_there() {
        let spent = [(rank(1), spent(9.0, 9.0, 1.0)), (rank(2), spent(9.0, 9.0, 8.0))].into();
        let recorded = Amounts::new();
        let mut found = Amounts::from([(wait("MPI_Wait", "a.c:1"), waited([(1, 5), (2, 3)]))]);
        Left::of(&spent, &recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [1.0, 3.0]);
    }

    #[test]
    fn waits_at_unknown_places_are_bounded_by_the_time_in_the_function() {
        let spent = [(rank(1), spent(9.0, 4.0, 3.0))].into();
        let recorded = Amounts::new();
        let mut found = Amounts::from([
            (wait("MPI_Wait", "a.c:1"), waited([(1, 3)])),
            (wait("MPI_Wait", "unknown"), waited([(1, 5)])),
        ]);
        Left::of(&spent, &recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [1.5]);
        assert_eq!(seconds(&found, "MPI_Wait", "unknown"), [2.5]);
    }

    #[test]
    fn recorded_waits_leave_less_and_polling_is_bounded_by_all_the_time_in_mpi() {
        let spent = [(rank(1), spent(6.0, 4.0, 4.0))].into();
        let recorded = Amounts::from([(wait("MPI_Wait", "a.c:1"), waited([(1, 2)]))]);
        let mut found = Amounts::from([
            (wait("MPI_Wait", "a.c:1"), waited([(1, 4)])),
            (wait("MPI_Test", "a.c:2"), waited([(1, 6)])),
        ]);
        Left::of(&spent, &recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [1.0]);
        assert_eq!(seconds(&found, "MPI_Test", "a.c:2"), [3.0]);
    }

    #[test]
    fn ranks_whose_time_is_unknown_are_bounded_by_the_time_of_all() {
        let spent = [(rank(1), spent(2.0, 2.0, 2.0))].into();
        let recorded = Amounts::new();
        let mut found = Amounts::from([(wait("MPI_Wait", "a.c:1"), waited([(7, 8)]))]);
        Left::of(&spent, &recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [2.0]);
    }
}
