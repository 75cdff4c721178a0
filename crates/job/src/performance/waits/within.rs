//! Limits waits to the time that ranks spent in calls, as far as that is known. A sample stands for the time around
//! it, which may exceed the duration of the call it found; an estimate extends what was observed at all places to
//! those that were not observed; and times of several hosts are compared by clocks with an error. So the waits of
//! a rank at a place, in a function and in total are bounded by the time it spent there. Sampled waits come on top
//! of those that are recorded individually, so only what these leave is left for them.

use super::SpentByRank;
use super::alike::{Alike, Who};
use super::merge::{self, Amount, Amounts, Waited};
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

/// Seconds in which ranks may have waited.
pub struct Within<'a>(Seconds<'a>);

/// How much of something is kept.
#[derive(Clone, Copy)]
struct Kept {
    /// Of the waits that were observed.
    observed: f64,
    /// Of what an estimate adds to them.
    added: f64,
}

impl Kept {
    /// Returns how much of the waits is within a time. What was observed has precedence over what was not.
    fn of(most_s: f64, (observed_s, estimated_s): (f64, f64)) -> Self {
        let share = |most_s: f64, of_s: f64| if of_s > most_s { most_s.max(0.0) / of_s } else { 1.0 };
        Self {
            observed: share(most_s, observed_s),
            added: share(most_s - observed_s.min(most_s), estimated_s - observed_s),
        }
    }

    fn apply(self, waited: Waited) -> Waited {
        let ns = (waited.ns as f64 * self.observed) as u64;
        let added_s = (waited.estimated_s - waited.seconds()).max(0.0);
        Waited { ns, estimated_s: ns as f64 / 1e9 + added_s * self.added }
    }
}

impl<'a> Within<'a> {
    /// Returns the time in calls.
    pub fn of(spent: &'a SpentByRank) -> Self {
        let mut all = Seconds::new();
        for (who, spent) in spent {
            let places = spent.places.iter();
            let places = places.map(|((function, place), spent_s)| (Part::Place(function, place), *spent_s));
            let functions =
                spent.functions.iter().map(|(function, spent_s)| (Part::Function(function), *spent_s));
            let parts = places.chain(functions).chain([(Part::All, spent.all)]);
            all.extend(parts.map(|(part, spent_s)| ((who, part), spent_s)));
        }
        Self(all)
    }

    /// Returns what waits that are recorded individually leave of it.
    #[must_use]
    pub fn less(mut self, recorded: &'a Amounts) -> Self {
        for part_of in PARTS {
            for (at, (_, estimated_s)) in by_rank(recorded, part_of) {
                if let Some(left_s) = self.0.get_mut(&at) {
                    *left_s = (*left_s - estimated_s).max(0.0);
                }
            }
        }
        self
    }

    /// Reduces waits to this time. Ranks whose time is unknown share that of all.
    pub fn bound(&self, found: &mut Amounts) {
        for part_of in PARTS {
            let kept = self.kept(found, part_of);
            for (amount, kept) in found.values_mut().zip(kept) {
                let mut kept = kept.into_iter();
                amount.change(|waited| kept.next().flatten().map_or(waited, |kept| kept.apply(waited)));
            }
        }
        let kept = Kept::of(self.total(), (merge::seconds(found), merge::estimated_s(found)));
        if kept.observed < 1.0 || kept.added < 1.0 {
            found.values_mut().for_each(|amount| amount.change(|waited| kept.apply(waited)));
        }
    }

    /// Returns how much is kept of each wait and rank; none if its time is unknown.
    fn kept(&self, found: &Amounts, part_of: PartOf) -> Vec<Vec<Option<Kept>>> {
        let waits = by_rank(found, part_of);
        let kept = |part: Option<Part<'_>>, who: &Who| {
            let at = (who, part?);
            Some(Kept::of(*self.0.get(&at)?, *waits.get(&at)?))
        };
        let of_ranks = |(wait, amount): (&Alike, &Amount)| {
            amount.ranks.keys().map(|who| kept(part_of(wait), who)).collect()
        };
        found.iter().map(of_ranks).collect()
    }

    /// Returns the time of all ranks.
    pub fn total(&self) -> f64 {
        let all = self.0.iter().filter(|((_, part), _)| *part == Part::All);
        total(all.map(|(_, left_s)| *left_s))
    }
}

/// Returns the seconds of waits by rank and part: those observed, and those with an estimate for the others.
fn by_rank(waits: &Amounts, part_of: PartOf) -> HashMap<(&Who, Part<'_>), (f64, f64)> {
    let mut all: HashMap<_, (f64, f64)> = HashMap::new();
    for (wait, amount) in waits {
        let Some(part) = part_of(wait) else { continue };
        for (who, waited) in &amount.ranks {
            let (observed_s, estimated_s) = all.entry((who, part)).or_default();
            *observed_s += waited.seconds();
            *estimated_s += waited.estimated_s;
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
            of: None,
        }
    }

    fn rank(rank: u32) -> Who {
        (Arc::from("w"), Some(rank))
    }

    fn waited<const RANKS: usize>(seconds: [(u32, u64); RANKS]) -> Amount {
        let ranks = seconds.map(|(who, seconds)| (rank(who), Waited::observed(seconds * SECOND))).into();
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
        amount.ranks.values().map(|waited| waited.seconds()).collect()
    }

    #[test]
    fn no_rank_waits_longer_than_it_spent_at_the_place_even_if_others_spent_more_there() {
        let spent = [(rank(1), spent(9.0, 9.0, 1.0)), (rank(2), spent(9.0, 9.0, 8.0))].into();
        let recorded = Amounts::new();
        let mut found = Amounts::from([(wait("MPI_Wait", "a.c:1"), waited([(1, 5), (2, 3)]))]);
        Within::of(&spent).less(&recorded).bound(&mut found);
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
        Within::of(&spent).less(&recorded).bound(&mut found);
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
        Within::of(&spent).less(&recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [1.0]);
        assert_eq!(seconds(&found, "MPI_Test", "a.c:2"), [3.0]);
    }

    #[test]
    fn ranks_whose_time_is_unknown_are_bounded_by_the_time_of_all() {
        let spent = [(rank(1), spent(2.0, 2.0, 2.0))].into();
        let recorded = Amounts::new();
        let mut found = Amounts::from([(wait("MPI_Wait", "a.c:1"), waited([(7, 8)]))]);
        Within::of(&spent).less(&recorded).bound(&mut found);
        assert_eq!(seconds(&found, "MPI_Wait", "a.c:1"), [2.0]);
    }

    fn estimated(seconds: [(u64, f64); 1]) -> Amount {
        let ranks =
            seconds.map(|(ns, estimated_s)| (rank(1), Waited { ns: ns * SECOND, estimated_s })).into();
        let origins = [((rank(0), Arc::from("computing")), seconds[0].0 * SECOND)].into();
        Amount { ranks, origins, ..Amount::default() }
    }

    #[test]
    fn an_estimate_does_not_exceed_the_time_at_the_place_and_what_was_seen_has_precedence() {
        let spent = [(rank(1), spent(9.0, 9.0, 4.0))].into();
        let other = Alike { culprit: rank(2), ..wait("MPI_Wait", "a.c:1") };
        let mut found = Amounts::from([
            (wait("MPI_Wait", "a.c:1"), estimated([(2, 2.0)])),
            (other.clone(), estimated([(1, 11.0)])),
        ]);
        Within::of(&spent).bound(&mut found);
        let both = [&found[&wait("MPI_Wait", "a.c:1")], &found[&other]];
        assert_eq!(both.map(Amount::seconds), [2.0, 1.0], "both were seen");
        assert_eq!(both.map(Amount::estimated_s), [2.0, 2.0], "all other waits there take one second");
    }

    #[test]
    fn the_origins_of_a_wait_are_reduced_with_it() {
        let spent = [(rank(1), spent(9.0, 9.0, 1.0))].into();
        let mut found = Amounts::from([(wait("MPI_Wait", "a.c:1"), estimated([(4, 8.0)]))]);
        Within::of(&spent).bound(&mut found);
        let amount = &found[&wait("MPI_Wait", "a.c:1")];
        assert_eq!((amount.seconds(), amount.estimated_s()), (1.0, 1.0));
        assert_eq!(amount.origins.values().copied().collect::<Vec<_>>(), [SECOND]);
    }
}
