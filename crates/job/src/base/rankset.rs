//! Sets of ranks as people read them: `[0,4-31]`, `[0-60:4]`.

use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of ranks with a compressed text form.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RankSet(pub BTreeSet<u32>);

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Self {
        Self(ranks.into_iter().collect())
    }
}

/// Returns "rank" or "ranks", depending on the number.
#[must_use]
pub const fn noun(ranks: usize) -> &'static str {
    if ranks == 1 { "rank" } else { "ranks" }
}

/// Equally spaced ranks: `4-31`, `0-60:4`, or a single one.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    step: u32,
    len: usize,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.len, self.step) {
            (1, _) => write!(f, "{}", self.first),
            (_, 1) => write!(f, "{}-{}", self.first, self.last),
            _ => write!(f, "{}-{}:{}", self.first, self.last, self.step),
        }
    }
}

/// Fewer ranks than this with a step greater than one are listed one by one.
const LEAST_STRIDED: usize = 3;

impl RankSet {
    /// Names the set in a sentence: `rank 3`, `ranks [0,4-31]`; an empty set is
    /// `a process of unknown rank`.
    #[must_use]
    pub fn named(&self) -> String {
        if self.0.is_empty() {
            return "a process of unknown rank".to_owned();
        }
        format!("{} {self}", noun(self.0.len()))
    }

    /// Splits the set into runs, greedily from the left.
    fn runs(&self) -> Vec<Run> {
        let ranks: Vec<u32> = self.0.iter().copied().collect();
        let mut runs = Vec::new();
        let mut rest = ranks.as_slice();
        while let Some(run) = first_run(rest) {
            runs.push(run);
            rest = rest.get(run.len..).unwrap_or_default();
        }
        runs
    }
}

/// Returns the longest run that the ascending ranks begin with.
fn first_run(ranks: &[u32]) -> Option<Run> {
    let first = *ranks.first()?;
    let alone = Run { first, last: first, step: 1, len: 1 };
    let step = |pair: &[u32]| pair.iter().rev().copied().reduce(|b, a| b - a).unwrap_or(0);
    let Some(distance) = ranks.windows(2).next().map(step) else { return Some(alone) };
    let mut len = 1 + ranks.windows(2).take_while(|pair| step(pair) == distance).count();
    // Neighbors stay together: the last rank of a strided run may be the first of a contiguous
    // one.
    let last_has_neighbour = ranks.get(len - 1..=len).is_some_and(|pair| step(pair) == 1);
    len -= usize::from(distance > 1 && last_has_neighbour);
    if distance > 1 && len < LEAST_STRIDED {
        return Some(alone);
    }
    Some(Run { first, last: *ranks.get(len - 1)?, step: distance, len })
}

/// A single rank stands alone (`3`), several are in brackets (`[0,4-31]`, `[0-60:4]`).
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (1, Some(only)) = (self.0.len(), self.0.first()) {
            return f.pad(&only.to_string());
        }
        let parts: Vec<String> = self.runs().iter().map(Run::to_string).collect();
        f.pad(&format!("[{}]", parts.join(",")))
    }
}

/// Maximum number of ranks in a set entered by a user: a typing error must not exhaust memory.
const MOST: u32 = 1 << 24;

/// Parses what [`Display`](fmt::Display) writes, with or without brackets: `0,4-31,40-60:4`.
impl FromStr for RankSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.trim();
        let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
        let mut ranks = BTreeSet::new();
        for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (range, step) = part.split_once(':').unwrap_or((part, "1"));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            match (number(first), number(last), number(step)) {
                (Some(first), Some(last), Some(step @ 1..)) if first <= last && last - first < MOST => {
                    ranks.extend((first..=last).step_by(step as usize));
                }
                _ => {
                    return Err(format!(
                        "'{part}' is not a rank or a range of ranks; for example: 0,4-31 or 0-60:4"
                    ));
                }
            }
        }
        Ok(Self(ranks))
    }
}

impl Serialize for RankSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_ranks_are_merged_and_gaps_are_kept() {
        let set: RankSet = [0].into_iter().chain(4..32).chain([40, 41]).collect();
        assert_eq!(set.to_string(), "[0,4-31,40-41]");
    }

    #[test]
    fn one_rank_has_no_brackets_and_an_empty_set_has_empty_ones() {
        assert_eq!(RankSet::from_iter([7]).to_string(), "7");
        assert_eq!(RankSet::default().to_string(), "[]");
    }

    #[test]
    fn a_set_is_parsed_back_and_invalid_parts_are_named() {
        for text in ["[0,4-31,40-41]", "7", "[]"] {
            assert_eq!(text.parse::<RankSet>().unwrap().to_string(), text);
        }
        assert_eq!("0, 2-5".parse::<RankSet>().unwrap().to_string(), "[0,2-5]");
        assert!("3-x".parse::<RankSet>().unwrap_err().contains("'3-x'"));
        assert!("5-2".parse::<RankSet>().is_err() && "0-4294967295".parse::<RankSet>().is_err());
    }

    #[test]
    fn equally_spaced_ranks_are_a_range_with_a_step() {
        let text = |ranks: &[u32]| ranks.iter().copied().collect::<RankSet>().to_string();
        assert_eq!((0..=60).step_by(4).collect::<RankSet>().to_string(), "[0-60:4]");
        assert_eq!(text(&[0, 2, 5]), "[0,2,5]");
        assert_eq!(text(&[0, 2, 4, 5, 6, 7]), "[0,2,4-7]");
        assert_eq!(text(&[0, 8, 16, 24, 25, 26]), "[0-16:8,24-26]");
        assert_eq!(text(&[1, 2, 4, 7, 10, 13]), "[1-2,4-13:3]");
        assert_eq!(text(&[0, u32::MAX]), "[0,4294967295]");
    }

    #[test]
    fn every_set_is_parsed_as_it_was_printed() {
        for bits in 0u32..4096 {
            let set: RankSet = (0..12).filter(|rank| bits >> rank & 1 == 1).collect();
            assert_eq!(set.to_string().parse::<RankSet>().unwrap(), set);
        }
        assert!("0-8:0".parse::<RankSet>().is_err() && "0-8:".parse::<RankSet>().is_err());
    }

    #[test]
    fn the_largest_rank_does_not_overflow() {
        assert_eq!(RankSet::from_iter([u32::MAX - 1, u32::MAX]).to_string(), "[4294967294-4294967295]");
    }
}
