//! Waits whose reason is not proven, because records of messages were overwritten.
//!
//! A message whose record is lost may be on its way. But one that has been sent arrives soon if both sides are in
//! MPI calls: if nothing has moved for long and all ranks are in calls that wait, none of the lost messages is what
//! a rank waits for.

use super::{Case, Reason};
use crate::base::quantity::duration;
use crate::questions::why::blocked::{Blocked, blocked};
use crate::questions::why::progress;
use crate::questions::why::snapshot::Snapshot;
use std::cell::OnceCell;

impl Case<'_> {
    /// The reason if no lost message is on its way, and which processes are then stuck.
    pub(super) fn overwritten(&self) -> Option<(Reason, Blocked)> {
        if !self.snapshot.processes.iter().any(|process| process.lost) || self.completed != 0 {
            return None;
        }
        let still_s = progress::long_still(self.snapshot)?;
        let mut snapshot = self.snapshot.clone();
        snapshot.processes.iter_mut().for_each(|process| process.lost = false);
        let found = blocked(&snapshot, self.acts, false);
        let reason = self.on(&snapshot).stuck(&found)?;
        let verdict = format!(
            "{}; records of earlier messages were overwritten, so this follows from the fact that nothing has moved for {}",
            reason.verdict,
            duration(still_s)
        );
        Some((Reason { verdict, certain: false, ..reason }, found))
    }

    /// The same looks, with another model of what was seen.
    fn on<'s>(&'s self, snapshot: &'s Snapshot) -> Case<'s> {
        let words = super::Words::new(snapshot);
        Case { words, snapshot, acts: self.acts, pairs: OnceCell::new(), completed: 0, seconds: self.seconds }
    }
}
