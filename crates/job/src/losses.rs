//! Kinds of losses, by the names that readers and reports give them.

use mpiscope_image::layout::Loss;

/// Why records of this kind are lost, and what to do; nothing for a kind that is not known here.
#[must_use]
pub fn why(kind: &str) -> Option<&'static str> {
    Loss::ALL.iter().find(|loss| loss.name() == Some(kind)).map(|loss| loss.why())
}

/// Whether it is the kind of freed objects that are no longer known, which is no loss for whom does not ask for them.
#[must_use]
pub fn is_tombstones(kind: &str) -> bool {
    Loss::TOMBSTONES.name() == Some(kind)
}
