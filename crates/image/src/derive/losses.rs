//! Number of records dropped for lack of space.

use crate::cell::W64;
use crate::layout::{LOSSES, Loss};

/// Lost records by kind, omitting kinds without losses.
pub fn by_kind(lost: &[W64; LOSSES]) -> impl Iterator<Item = (Loss, u64)> {
    (0..).map(Loss).zip(lost.iter().map(W64::get)).filter(|(_, count)| *count != 0)
}

/// Whether a kind counts as lost. Freed objects whose record was reused do not: `MPISCOPE_TOMBSTONES`
/// determines how many are kept.
pub fn counts(kind: Loss) -> bool {
    kind != Loss::TOMBSTONES
}

/// Total number of lost records.
pub fn total(lost: &[W64; LOSSES]) -> u64 {
    by_kind(lost).filter(|(kind, _)| counts(*kind)).fold(0, |sum, (_, count)| sum.saturating_add(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_tombstones_are_not_a_loss() {
        let lost: [W64; LOSSES] = Default::default();
        lost[Loss::OBJECTS.0 as usize].set(3);
        lost[Loss::TOMBSTONES.0 as usize].set(50);
        assert_eq!(total(&lost), 3);
        assert_eq!(by_kind(&lost).count(), 2);
        lost[Loss::CALLS.0 as usize].set(u64::MAX);
        assert_eq!(total(&lost), u64::MAX);
    }
}
