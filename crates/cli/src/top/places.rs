//! Where ranks were found inside MPI in the last samples, as a sampling profiler would show it.

use super::interval::Interval;
use std::collections::{BTreeMap, VecDeque};

/// Number of samples kept.
const MOST: usize = 60;

/// For each sample, the function and place of every rank that was inside a call.
#[derive(Debug, Default)]
pub struct Places {
    looks: VecDeque<(usize, Vec<(String, String)>)>,
}

/// A place where ranks were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hot {
    pub function: String,
    /// The source line, or module and offset.
    pub place: String,
    /// Share of all ranks in all samples.
    pub share: f64,
}

impl Places {
    /// Adds a sample.
    pub fn push(&mut self, interval: &Interval) {
        if self.looks.len() == MOST {
            self.looks.pop_front();
        }
        let inside = interval.ranks.iter().filter(|rank| rank.open);
        let inside = inside.map(|rank| (rank.call.clone(), rank.place.clone())).collect();
        self.looks.push_back((interval.ranks.len(), inside));
    }

    /// Returns the most frequent places first.
    pub fn hottest(&self, most: usize) -> Vec<Hot> {
        let all: usize = self.looks.iter().map(|(ranks, _)| ranks).sum();
        let mut counts: BTreeMap<&(String, String), usize> = BTreeMap::new();
        self.looks
            .iter()
            .flat_map(|(_, inside)| inside)
            .for_each(|place| *counts.entry(place).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        let hot = |((function, place), count): (&(String, String), usize)| Hot {
            function: function.clone(),
            place: place.clone(),
            share: count as f64 / all.max(1) as f64,
        };
        counts.into_iter().take(most).map(hot).collect()
    }
}
