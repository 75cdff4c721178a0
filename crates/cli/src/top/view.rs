//! What is shown of a job: the latest interval, the strip, sort order, filter and the selected rank.

use super::Latest;
use super::interval::{Interval, Rank};
use super::places::Places;
use super::strip::Strip;
use std::cmp::Ordering;

/// The sort order of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By rank number.
    #[default]
    Rank,
    /// Most useful time first: others wait for these ranks.
    Useful,
    /// Most MPI time first.
    Mpi,
    /// Longest in its current call first.
    Age,
    /// Most calls first.
    Calls,
    /// Most bytes first.
    Bytes,
    /// Most memory first.
    Memory,
}

impl Order {
    const ALL: [Self; 7] =
        [Self::Rank, Self::Useful, Self::Mpi, Self::Age, Self::Calls, Self::Bytes, Self::Memory];

    /// Returns the head of the column.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "RANK",
            Self::Useful => "USEFUL",
            Self::Mpi => "% MPI",
            Self::Age => "AGE",
            Self::Calls => "CALLS",
            Self::Bytes => "BYTES",
            Self::Memory => "MEMORY",
        }
    }

    /// Returns the next order in the cycle.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL.get(at + 1).copied().unwrap_or_default()
    }

    fn compare(self, a: &Rank, b: &Rank) -> Ordering {
        let most = |a: f64, b: f64| b.total_cmp(&a);
        match self {
            Self::Rank => Ordering::Equal,
            Self::Useful => most(a.useful_share, b.useful_share),
            Self::Mpi => most(a.mpi_share, b.mpi_share),
            Self::Age => most(a.age_s.unwrap_or(-1.0), b.age_s.unwrap_or(-1.0)),
            Self::Calls => b.calls.cmp(&a.calls),
            Self::Bytes => b.bytes.cmp(&a.bytes),
            Self::Memory => b.resident.cmp(&a.resident),
        }
    }
}

/// The pane shown in place of the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    /// None: the list of ranks.
    #[default]
    Ranks,
    /// The selected rank.
    Detail,
    /// The keys.
    Help,
}

pub struct View {
    pub job: String,
    pub latest: Latest,
    pub strip: Strip,
    pub places: Places,
    pub order: Order,
    pub reversed: bool,
    pub filter: String,
    /// Whether the filter is being typed.
    pub typing: bool,
    pub frozen: bool,
    pub pane: Pane,
    /// Index of the selected row among those shown.
    pub selected: usize,
}

impl View {
    /// Creates a view of a job that has not been sampled yet.
    pub fn new(job: String) -> Self {
        Self {
            job,
            latest: None,
            strip: Strip::default(),
            places: Places::default(),
            order: Order::default(),
            reversed: false,
            filter: String::new(),
            typing: false,
            frozen: false,
            pane: Pane::default(),
            selected: 0,
        }
    }

    /// Adds an interval, unless the view is frozen.
    pub fn take(&mut self, interval: Box<Interval>) {
        if self.frozen {
            return;
        }
        self.strip.push(interval.ranks.iter().map(|rank| rank.letter).collect());
        self.places.push(&interval);
        self.latest = Some(interval);
        self.selected = self.selected.min(self.shown().len().saturating_sub(1));
    }

    /// Whether something is wrong with the job.
    pub fn problem(&self) -> bool {
        let bad =
            |latest: &Interval| latest.verdict.is_some() || latest.ranks.iter().any(|rank| rank.problem);
        self.latest.as_deref().is_some_and(bad)
    }

    /// Whether part of the job could not be read.
    pub fn partial(&self) -> bool {
        self.latest.as_deref().is_some_and(|latest| !latest.not_seen.is_empty())
    }

    /// Returns the indices of the ranks shown, in order.
    pub fn shown(&self) -> Vec<usize> {
        let Some(latest) = &self.latest else { return Vec::new() };
        let wanted = self.filter.to_lowercase();
        let fits = |rank: &Rank| {
            let words = [&rank.rank, &rank.host, &rank.call, &rank.place, &rank.about];
            wanted.is_empty() || words.iter().any(|word| word.to_lowercase().contains(&wanted))
        };
        let mut shown: Vec<(usize, &Rank)> =
            latest.ranks.iter().enumerate().filter(|(_, rank)| fits(rank)).collect();
        shown.sort_by(|(_, a), (_, b)| self.order.compare(a, b));
        if self.reversed {
            shown.reverse();
        }
        shown.into_iter().map(|(at, _)| at).collect()
    }

    /// Returns the selected rank and its index in the interval.
    pub fn chosen(&self) -> Option<(usize, &Rank)> {
        let at = *self.shown().get(self.selected)?;
        Some((at, self.latest.as_deref()?.ranks.get(at)?))
    }
}
