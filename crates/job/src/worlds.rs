//! Several worlds in one job: programs that spawn, or that run one after the other in the same place.
//!
//! A rank is a number in a world. Worlds are numbered in the order in which they began; the first one, which nearly
//! always is the only one, goes without saying.

use crate::process::Process;
use crate::rankset::{RankSet, noun};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The worlds of a job, in the order in which they began.
#[derive(Debug, Default)]
pub struct Worlds(Vec<String>);

impl Worlds {
    /// Those that `processes` are in. A world that no process knows its rank in comes last.
    pub fn of<'a>(processes: impl Iterator<Item = &'a Process>) -> Self {
        let mut begin: BTreeMap<&str, (bool, u64)> = BTreeMap::new();
        for process in processes {
            let this = (process.rank.is_none(), process.begin_ns);
            let known = begin.entry(&process.world).or_insert(this);
            *known = (*known).min(this);
        }
        let mut names: Vec<&str> = begin.keys().copied().collect();
        names.sort_by_key(|name| begin.get(name));
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// Number of a world, which is one more world if it is none of these.
    pub fn number_or_add(&mut self, world: &str) -> usize {
        let number = self.number(world);
        if number == self.0.len() {
            self.0.push(world.to_owned());
        }
        number
    }

    /// Number of a world; one past the last for a world that is none of these.
    #[must_use]
    pub fn number(&self, world: &str) -> usize {
        self.0.iter().position(|name| name == world).unwrap_or(self.0.len())
    }
}

/// Ranks of one or of several worlds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Members(BTreeMap<usize, RankSet>);

impl Members {
    /// Adds a rank of the world with this number; nothing if the rank is not known.
    pub fn add(&mut self, world: usize, rank: Option<u32>) {
        if let Some(rank) = rank {
            self.0.entry(world).or_default().0.insert(rank);
        }
    }

    /// For sentences: `rank 3`, `ranks [0,4-31]`, `ranks [0-1], 1.[0-1]`.
    #[must_use]
    pub fn named(&self) -> String {
        format!("{} {self}", noun(self.len()))
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values().map(|ranks| ranks.0.len()).sum()
    }

    /// None at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is any rank in both?
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|(world, ranks)| other.0.get(world).is_some_and(|r| !r.0.is_disjoint(&ranks.0)))
    }

    /// Takes in all of `other`.
    pub fn join(&mut self, other: Self) {
        for (world, ranks) in other.0 {
            self.0.entry(world).or_default().0.extend(ranks.0);
        }
    }

    /// The least: what a list of sets is sorted by.
    #[must_use]
    pub fn first(&self) -> Option<(usize, u32)> {
        self.0.iter().find_map(|(world, ranks)| Some((*world, *ranks.0.first()?)))
    }
}

impl FromIterator<(usize, Option<u32>)> for Members {
    fn from_iter<I: IntoIterator<Item = (usize, Option<u32>)>>(members: I) -> Self {
        let mut all = Self::default();
        members.into_iter().for_each(|(world, rank)| all.add(world, rank));
        all
    }
}

/// `[0-3]`; ranks of later worlds are named world.rank: `[0-3], 1.[0-1]`.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(world, ranks): (&usize, &RankSet)| match world {
            0 => ranks.to_string(),
            _ => format!("{world}.{ranks}"),
        };
        f.pad(&self.0.iter().map(part).collect::<Vec<_>>().join(", "))
    }
}

/// What [`Display`](fmt::Display) prints; nothing if it is something else.
impl FromStr for Members {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        // Commas also stand inside of brackets.
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            let (world, ranks) = match part.split_once('.') {
                Some((world, ranks)) => (world.parse().map_err(|_| format!("no world: {part}"))?, ranks),
                None => (0, part),
            };
            let ranks = RankSet::from_str(ranks.trim_matches(['[', ']']))?;
            all.0.entry(world).or_default().0.extend(ranks.0);
        }
        Ok(all)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_world_goes_without_saying_and_equal_ranks_of_others_are_other_ranks() {
        let one: Members = (0..4).map(|rank| (0, Some(rank))).collect();
        assert_eq!((one.to_string().as_str(), one.len()), ("[0-3]", 4));
        let mut two: Members = [(1, Some(0)), (1, Some(1)), (2, None)].into_iter().collect();
        assert!(!two.meets(&one) && two.meets(&two.clone()));
        two.join(one);
        assert_eq!((two.to_string().as_str(), two.len(), two.first()), ("[0-3], 1.[0-1]", 6, Some((0, 0))));
    }

    #[test]
    fn nobody_is_an_empty_text() {
        let nobody: Members = [(0, None)].into_iter().collect();
        assert!(nobody.is_empty() && nobody.first().is_none());
        assert_eq!(nobody.to_string(), "");
        assert_eq!("".parse(), Ok(nobody));
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let all: Members = [(0, 0), (0, 4), (0, 5), (0, 8), (0, 10), (0, 12), (2, 7), (3, 1), (3, 2)]
            .map(|(world, rank)| (world, Some(rank)))
            .into_iter()
            .collect();
        assert_eq!(all.to_string().parse(), Ok(all));
        assert!("x.[0]".parse::<Members>().is_err());
    }
}
