//! A rank of a ring that has sent nothing to the rank that waits for it.
//!
//! In a shift along a ring, each rank has sent as many messages to the next one as it has begun to receive from the one
//! before: one more than it has received. A rank that only receives has another destination, such as `MPI_PROC_NULL`
//! at the end of a row.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::verdict::Kind;

const NEXT: &str = "compare the destination of that rank with the source of the waiting one";

impl Case<'_> {
    /// The only rank of a ring of receives that sends nothing along it.
    pub(super) fn silent_in_ring(&self, found: &Blocked) -> Option<Reason> {
        let (ring, passed) = self.passed_on(found)?;
        let mut silent = None;
        for link in passed {
            match (link.sent, silent.is_some()) {
                (0, false) if link.received > 0 => silent = Some(link.one),
                _ if link.sent == link.received + 1 => {}
                _ => return None,
            }
        }
        let one = silent?;
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: rank {by} has sent rank {waits} no message, but the others of \
             {} have each sent one more to the rank that waits for them than they have received; rank {by} is {}",
            self.words.need(one.need),
            self.links(&ring),
            self.words.activity(one.by)
        );
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT).blaming(self.culprit(one.by));
        let reason = reason.blaming(self.culprit(one.waits));
        Some(Reason { cycle: ring, ..reason })
    }
}
