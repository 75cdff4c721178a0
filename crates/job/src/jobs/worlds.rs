//! Several worlds in one job: programs that spawn, or that run one after the other in the same place.
//!
//! A rank is a number in a world. Worlds are numbered in the order in which they began; the number of the
//! first, usually the only one, is omitted.

use crate::base::rankset::{RankSet, noun};
use crate::model::process::Process;
use crate::observation::Stage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// The worlds of a job, in the order in which they began.
#[derive(Debug, Default)]
pub struct Worlds(Vec<String>);

impl Worlds {
    /// Collects the worlds of `processes`. A world in which no process knows its rank comes last.
    pub fn of<'a>(processes: impl Iterator<Item = &'a Process>) -> Self {
        Self::in_order(processes.map(|one| (&*one.world, one.rank.is_none(), one.begin_ns)))
    }

    /// Collects worlds from what is known of each process: its world, whether its rank is unknown, and when
    /// it began (0 if unknown).
    pub fn in_order<'a>(processes: impl Iterator<Item = (&'a str, bool, u64)>) -> Self {
        let mut begin: BTreeMap<&str, (bool, u64)> = BTreeMap::new();
        for (world, unknown, begin_ns) in processes {
            // Zero comes last.
            let this = (unknown, begin_ns.wrapping_sub(1));
            let known = begin.entry(world).or_insert(this);
            *known = (*known).min(this);
        }
        let mut names: Vec<&str> = begin.keys().copied().collect();
        names.sort_by_key(|name| begin.get(name));
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// Returns the number of a world, adding it if it is new.
    pub fn number_or_add(&mut self, world: &str) -> usize {
        let number = self.number(world);
        if number == self.0.len() {
            self.0.push(world.to_owned());
        }
        number
    }

    /// Whether a world with this number exists.
    #[must_use]
    pub fn has(&self, number: usize) -> bool {
        number < self.0.len()
    }

    /// Returns the number of a world; one past the last for an unknown world.
    #[must_use]
    pub fn number(&self, world: &str) -> usize {
        self.0.iter().position(|name| name == world).unwrap_or(self.0.len())
    }
}

/// A process as a member of a world.
pub trait Member {
    /// The name of its world. Before `MPI_Init` returns, this is a provisional name from the launcher or from
    /// the parent process, which differs between hosts and between ranks started by separate shells.
    fn world(&mut self) -> &mut String;
    /// Its rank.
    fn rank(&self) -> Option<u32>;
    /// Number of processes in its world, if known.
    fn size(&self) -> Option<u32>;
    /// How far it has come.
    fn stage(&self) -> Stage;
}

impl Member for Process {
    fn world(&mut self) -> &mut String {
        &mut self.world
    }

    fn rank(&self) -> Option<u32> {
        self.rank
    }

    fn size(&self) -> Option<u32> {
        self.size
    }

    fn stage(&self) -> Stage {
        Stage::of(self.state)
    }
}

/// Gives processes of one job that are still in or before `MPI_Init` the name of the world that they will be
/// in. Processes that expect a world of the same size, with distinct ranks, form one world, which may already
/// have members.
pub fn settle<M: Member>(members: &mut [&mut M]) {
    let mut known = Known::new();
    let begun = |member: &&mut &mut M| !matches!(member.stage(), Stage::Silent | Stage::Starting);
    for member in members.iter_mut().filter(begun) {
        let (size, rank) = (member.size(), member.rank());
        let world = known.entry(member.world().clone()).or_default();
        world.0 = world.0.max(size);
        world.1.insert(rank);
    }
    let mut starting: BTreeMap<Option<u32>, Vec<&mut M>> = BTreeMap::new();
    let mut silent: Vec<&mut M> = Vec::new();
    for member in members {
        match member.stage() {
            Stage::Silent => silent.push(member),
            // The launcher's name is already that of a known world.
            Stage::Starting if known.contains_key(member.world().as_str()) => {}
            Stage::Starting => starting.entry(member.size()).or_default().push(member),
            _ => {}
        }
    }
    let mut names: BTreeSet<String> = known.keys().cloned().collect();
    for (size, ranks) in &mut starting {
        join(*size, ranks, &known);
        names.extend(ranks.iter_mut().map(|member| member.world().clone()));
    }
    // A process that has not called MPI is assigned to the only world, if there is only one.
    let only = Some(&names).filter(|names| names.len() == 1).and_then(|names| names.first());
    for member in silent {
        if !names.contains(member.world().as_str()) {
            *member.world() = only.cloned().unwrap_or_default();
        }
    }
}

/// Worlds by name: size and ranks.
type Known = BTreeMap<String, (Option<u32>, BTreeSet<Option<u32>>)>;

/// Joins processes that will be in one world of this size.
fn join<M: Member>(size: Option<u32>, ranks: &mut [&mut M], known: &Known) {
    let numbers: BTreeSet<Option<u32>> = ranks.iter().map(|member| member.rank()).collect();
    if size.is_none() || numbers.len() != ranks.len() || numbers.contains(&None) {
        return;
    }
    let open = known.iter().filter(|(_, world)| world.0 == size && world.1.is_disjoint(&numbers));
    let mut open = open.map(|(name, _)| name.clone());
    let name = match (open.next(), open.next()) {
        (Some(only), None) => Some(only),
        _ => ranks.iter_mut().min_by_key(|member| member.rank()).map(|first| first.world().clone()),
    };
    for member in ranks {
        name.iter().for_each(|name| member.world().clone_from(name));
    }
}

/// Ranks of one or more worlds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Members(BTreeMap<usize, RankSet>);

impl Members {
    /// Adds a rank of the world with this number, if the rank is known.
    pub fn add(&mut self, world: usize, rank: Option<u32>) {
        if let Some(rank) = rank {
            self.0.entry(world).or_default().0.insert(rank);
        }
    }

    /// Names the set in a sentence: `rank 3`, `ranks [0,4-31]`, `ranks [0-1], 1.[0-1]`; an empty set is
    /// `a process of unknown rank`.
    #[must_use]
    pub fn named(&self) -> String {
        if self.is_empty() {
            return "a process of unknown rank".to_owned();
        }
        format!("{} {self}", noun(self.len()))
    }

    /// Number of ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values().map(|ranks| ranks.0.len()).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some rank is in both sets.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|(world, ranks)| other.0.get(world).is_some_and(|r| !r.0.is_disjoint(&ranks.0)))
    }

    /// Adds everything in `other`.
    pub fn join(&mut self, other: Self) {
        for (world, ranks) in other.0 {
            self.0.entry(world).or_default().0.extend(ranks.0);
        }
    }

    /// The smallest member, a sort key for lists of sets.
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

/// `[0-3]`; ranks of later worlds are written as world.ranks: `[0-3], 1.[0-1]`.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(world, ranks): (&usize, &RankSet)| match world {
            0 => ranks.to_string(),
            _ => format!("{world}.{ranks}"),
        };
        f.pad(&self.0.iter().map(part).collect::<Vec<_>>().join(", "))
    }
}

/// Parses what [`Display`](fmt::Display) prints.
impl FromStr for Members {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        // Commas also occur inside brackets.
        for part in text.split(", ").filter(|part| !part.is_empty()) {
            let (world, ranks) = match part.split_once('.') {
                Some((world, ranks)) => (world.parse().map_err(|_| format!("not a world: {part}"))?, ranks),
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
    use crate::observation::Observation;
    use crate::questions::live;

    #[test]
    fn the_first_world_is_implied_and_equal_ranks_of_other_worlds_are_distinct() {
        let one: Members = (0..4).map(|rank| (0, Some(rank))).collect();
        assert_eq!((one.to_string().as_str(), one.len()), ("[0-3]", 4));
        let mut two: Members = [(1, Some(0)), (1, Some(1)), (2, None)].into_iter().collect();
        assert!(!two.meets(&one) && two.meets(&two.clone()));
        two.join(one);
        assert_eq!((two.to_string().as_str(), two.len(), two.first()), ("[0-3], 1.[0-1]", 6, Some((0, 0))));
    }

    #[test]
    fn an_empty_set_prints_as_an_empty_text() {
        let nobody: Members = [(0, None)].into_iter().collect();
        assert!(nobody.is_empty() && nobody.first().is_none());
        assert_eq!(nobody.to_string(), "");
        assert_eq!("".parse(), Ok(nobody));
    }

    #[test]
    fn printed_members_are_parsed_back() {
        let all: Members = [(0, 0), (0, 4), (0, 5), (0, 8), (0, 10), (0, 12), (2, 7), (3, 1), (3, 2)]
            .map(|(world, rank)| (world, Some(rank)))
            .into_iter()
            .collect();
        assert_eq!(all.to_string().parse(), Ok(all));
        assert!("x.[0]".parse::<Members>().is_err());
    }

    fn rank(world: &str, rank: u32, size: u32, stage: Stage) -> Observation {
        let size = (stage != Stage::Silent).then_some(size);
        Observation { world: world.to_owned(), rank: Some(rank), size, stage, ..Observation::default() }
    }

    fn settled<const N: usize>(mut ranks: [Observation; N]) -> [String; N] {
        live::settle(&mut ranks);
        ranks.map(|rank| rank.world)
    }

    #[test]
    fn ranks_in_init_with_different_parents_share_a_world_with_those_that_have_not_called_mpi() {
        let (init, silent) = (Stage::Starting, Stage::Silent);
        let all = [rank("j/9", 1, 3, init), rank("j/7", 0, 3, init), rank("", 2, 3, silent)];
        assert_eq!(settled(all), ["j/7"; 3]);
        // Another host has already placed it.
        let all = [rank("j/9", 1, 3, init), rank("j/7", 0, 3, init), rank("j/9", 2, 3, silent)];
        assert_eq!(settled(all), ["j/7"; 3]);
    }

    #[test]
    fn ranks_in_init_join_the_world_of_those_past_it_unless_already_present() {
        let (init, through) = (Stage::Starting, Stage::Running);
        assert_eq!(settled([rank("w", 0, 2, through), rank("j/9", 1, 2, init)]), ["w", "w"]);
        assert_eq!(settled([rank("w", 0, 2, through), rank("j/9", 0, 2, init)]), ["w", "j/9"]);
        assert_eq!(settled([rank("w", 0, 2, through), rank("j/9", 1, 3, init)]), ["w", "j/9"]);
        let two = [rank("v", 0, 2, through), rank("w", 0, 2, through), rank("j/9", 1, 2, init)];
        assert_eq!(settled(two), ["v", "w", "j/9"], "it may be of either");
        // Two programs at once.
        assert_eq!(settled([rank("j/8", 0, 1, init), rank("j/9", 0, 1, init)]), ["j/8", "j/9"]);
    }

    #[test]
    fn a_rank_that_has_not_called_mpi_belongs_to_no_world_if_there_are_several() {
        let (silent, through) = (Stage::Silent, Stage::Running);
        let all = [rank("v", 0, 2, through), rank("w", 0, 2, through), rank("j/9", 1, 2, silent)];
        assert_eq!(settled(all), ["v", "w", ""]);
    }
}
