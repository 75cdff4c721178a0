//! Two ranks of which only one takes the other for a neighbor.
//!
//! A rank waits for another one and has sent it a message, but that one has neither sent nor received any. Either may
//! have computed its neighbors wrongly. If all others have the same number of neighbors, the two show which.

use super::fewer::Fewer;
use super::left_out::Missing;
use super::{Case, Reason};
use crate::questions::why::snapshot::{CommIndex, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;

/// Number of other ranks that must have the same number of neighbors.
const ALIKE: usize = 2;
const NEXT: &str =
    "compare the neighbors that these two ranks compute: each must take the other for one, or neither";

impl Case<'_> {
    pub(super) fn strangers(&self, one: &Missing<'_>, fewer: &Fewer) -> Option<Reason> {
        let Missing { waits, by, comm, .. } = *one;
        let known = self.process(by)?.received_from(comm).any(|(from, _)| from == waits);
        let mut left = self.pairs().left(by).iter();
        let unreceived = left.any(|(from, message)| {
            *from == waits && message.comm == comm && !self.pairs().is_matched(message)
        });
        if fewer.count > 0 || known || !unreceived {
            return None;
        }
        let (waiting, other) = (self.words.rank(waits), self.words.rank(by));
        let verdict = format!(
            "rank {waiting} waits for {} that was never sent: rank {waiting} has sent rank {other} a message, but rank {other} \
             has neither received it nor sent rank {waiting} any, so that only one of the two takes the other for a \
             neighbor; rank {other} is {}",
            self.words.need(one.need),
            self.words.activity(by)
        );
        let culprits = self.with_odd_number_of_neighbors(comm, (waits, by), fewer);
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT);
        Some(Reason { culprits: self.culprits(culprits), ..reason })
    }

    /// Returns the one that has one neighbor more or fewer than all others, or both.
    fn with_odd_number_of_neighbors(
        &self,
        comm: CommIndex,
        (waits, by): (ProcessIndex, ProcessIndex),
        fewer: &Fewer,
    ) -> Vec<ProcessIndex> {
        let count = |one| self.process(one).map_or(0, |process: &Process| process.sent_to(comm).count());
        let mut others =
            fewer.alike.iter().filter(|one| **one != waits && **one != by).map(|one| count(*one));
        let usual = others.next().filter(|usual| others.all(|other| other == *usual));
        let enough = fewer.alike.len() > ALIKE;
        match usual.filter(|_| enough) {
            Some(usual) if count(waits) == usual && count(by) + 1 == usual => vec![by],
            Some(usual) if count(waits) == usual + 1 && count(by) == usual => vec![waits],
            _ => vec![waits, by],
        }
    }
}
