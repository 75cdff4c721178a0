//! Sets of ranks as people read them: `[0,4-31]`.

use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of ranks that prints compressed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RankSet(pub BTreeSet<u32>);

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Self {
        Self(ranks.into_iter().collect())
    }
}

impl RankSet {
    /// The neighbouring ranks of the set, as first and last.
    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for rank in &self.0 {
            match runs.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
                _ => runs.push((*rank, *rank)),
            }
        }
        runs
    }
}

/// One rank stands alone (`3`), several in brackets (`[0,4-31]`).
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (1, Some(only)) = (self.0.len(), self.0.first()) {
            return f.pad(&only.to_string());
        }
        let parts: Vec<String> = self
            .runs()
            .iter()
            .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
            .collect();
        f.pad(&format!("[{}]", parts.join(",")))
    }
}

/// Most ranks that a set written by a person may have: a slip must not fill the memory.
const MOST: u32 = 1 << 24;

/// As [`Display`](fmt::Display) writes it, with or without brackets: `0,4-31`.
impl FromStr for RankSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.trim();
        let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
        let mut ranks = BTreeSet::new();
        for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last && last - first < MOST => {
                    ranks.extend(first..=last)
                }
                _ => return Err(format!("'{part}' is no rank or range of ranks; write for example 0,4-31")),
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
    fn neighbours_are_joined_and_gaps_are_kept() {
        let set: RankSet = [0].into_iter().chain(4..32).chain([40, 41]).collect();
        assert_eq!(set.to_string(), "[0,4-31,40-41]");
    }

    #[test]
    fn one_rank_needs_no_brackets_and_none_shows_empty_ones() {
        assert_eq!(RankSet::from_iter([7]).to_string(), "7");
        assert_eq!(RankSet::default().to_string(), "[]");
    }

    #[test]
    fn a_set_is_read_as_it_is_written_and_nonsense_is_named() {
        for text in ["[0,4-31,40-41]", "7", "[]"] {
            assert_eq!(text.parse::<RankSet>().unwrap().to_string(), text);
        }
        assert_eq!("0, 2-5".parse::<RankSet>().unwrap().to_string(), "[0,2-5]");
        assert!("3-x".parse::<RankSet>().unwrap_err().contains("'3-x'"));
        assert!("5-2".parse::<RankSet>().is_err() && "0-4294967295".parse::<RankSet>().is_err());
    }

    #[test]
    fn the_largest_rank_does_not_overflow() {
        assert_eq!(RankSet::from_iter([u32::MAX - 1, u32::MAX]).to_string(), "[4294967294-4294967295]");
    }
}
