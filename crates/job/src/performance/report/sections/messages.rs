//! Messages of all ranks: their number, their sizes, and the maximum number active.

use super::Part;
use crate::jobs::worlds::Members;
use crate::performance::report::document::{Messages, Most, SizeClass};

/// Sums up the messages on all communicators.
pub(super) fn messages(parts: &[Part<'_>]) -> Messages {
    let mut all = Messages::default();
    let mut classes: Vec<[u64; 2]> = Vec::new();
    for part in parts {
        let levels = part.facts.levels;
        all.pending = all.pending.saturating_add(levels.pending);
        all.posted = all.posted.saturating_add(levels.posted);
        all.matched = all.matched.saturating_add(levels.matched);
        all.received_unsized = all.received_unsized.saturating_add(part.facts.unsized_messages);
        all.most_pending.see(levels.pending_high, part);
        all.most_posted.see(levels.posted_high, part);
        classes.resize(classes.len().max(part.facts.sizes.len()), [0, 0]);
        for (sum, [sent, received]) in classes.iter_mut().zip(&part.facts.sizes) {
            *sum = [sum[0].saturating_add(*sent), sum[1].saturating_add(*received)];
        }
    }
    all.received = all.received_unsized;
    for (class, [sent, received]) in classes.into_iter().enumerate() {
        all.sent = all.sent.saturating_add(sent);
        all.received = all.received.saturating_add(received);
        if sent != 0 || received != 0 {
            let from = if class == 0 { 0 } else { 1u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX) };
            let to = if class == 0 { 0 } else { from.saturating_mul(2).saturating_sub(1) };
            all.sizes.push(SizeClass { from, to, sent, received });
        }
    }
    all
}

impl Most {
    fn see(&mut self, value: u64, part: &Part<'_>) {
        if value > self.value {
            *self = Self { value, ranks: Members::default() };
        }
        if value == self.value && value != 0 {
            self.ranks.add(part.world, part.rank);
        }
    }
}
