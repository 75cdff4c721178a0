//! Records dropped for lack of space: how they are described, in the same words everywhere.

use crate::jobs::merge::Who;
use crate::jobs::worlds::Members;
use mpiscope_image::layout::Loss;
use std::collections::BTreeMap;
use std::fmt;

/// Why records of this kind are lost, and what to do; `None` for an unknown kind.
#[must_use]
pub fn why(kind: &str) -> Option<&'static str> {
    Loss::ALL.iter().find(|loss| loss.name() == Some(kind)).map(|loss| loss.why())
}

/// Whether this is the kind of freed objects that were forgotten, which matters only to those who ask for
/// freed objects.
#[must_use]
pub fn is_tombstones(kind: &str) -> bool {
    Loss::TOMBSTONES.name() == Some(kind)
}

/// Lost records of one kind, on all ranks that have lost any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The kind.
    pub kind: String,
    /// Number of lost records.
    pub count: u64,
    /// The ranks that lost them.
    pub ranks: Members,
}

/// For example `lost on ranks [0-1]: 12 requests: the image could not grow: …`.
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = if self.ranks.is_empty() { "rank ?".to_owned() } else { self.ranks.named() };
        write!(f, "lost on {ranks}: {} {}", self.count, self.kind)?;
        why(&self.kind).map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

/// Sums the losses of several ranks by kind, without forgotten freed objects.
pub fn joined<'a>(ranks: impl IntoIterator<Item = (Who, &'a BTreeMap<String, u64>)>) -> Vec<Lost> {
    let mut kinds: BTreeMap<&str, (u64, Members)> = BTreeMap::new();
    for ((world, rank), losses) in ranks {
        for (kind, count) in losses.iter().filter(|(kind, _)| !is_tombstones(kind)) {
            let (sum, members) = kinds.entry(kind).or_default();
            *sum = sum.saturating_add(*count);
            members.add(world, rank);
        }
    }
    let lost = |(kind, (count, ranks)): (&str, _)| Lost { kind: kind.to_owned(), count, ranks };
    kinds.into_iter().map(lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(losses: &[(&str, u64)]) -> BTreeMap<String, u64> {
        losses.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    }

    #[test]
    fn losses_of_one_kind_share_a_line_with_their_ranks_and_the_reason() {
        let (first, second) = (of(&[("events", 3), ("requests", 1)]), of(&[("events", 4)]));
        let lost = joined([((0, Some(0)), &first), ((0, Some(1)), &second)]);
        let lines: Vec<String> = lost.iter().map(Lost::to_string).collect();
        assert_eq!(lines[0], "lost on ranks [0-1]: 7 events: no callback took them in time");
        assert!(lines[1].starts_with("lost on rank 0: 1 requests: the image could not grow"), "{lines:?}");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn forgotten_tombstones_are_not_shown_and_a_kind_of_a_later_version_has_no_reason() {
        let losses = of(&[("tombstones of freed objects", 9), ("kind 40", 2)]);
        let lines: Vec<String> = joined([((0, None), &losses)]).iter().map(Lost::to_string).collect();
        assert_eq!(lines, ["lost on rank ?: 2 kind 40"]);
    }
}
