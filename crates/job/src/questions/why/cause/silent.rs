//! A rank of a ring that has sent nothing to the rank that waits for it.
//!
//! In a shift along a ring, each rank has sent as many messages to the next one as it has begun to receive from the one
//! before: one more than it has received. A rank that only receives has another destination, such as `MPI_PROC_NULL`
//! at the end of a row.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{CommIndex, ProcessIndex};
use crate::questions::why::verdict::Kind;

/// Minimum number of other ranks in the ring.
const ALIKE: usize = 2;
const NEXT: &str = "compare the destination of that rank with the source of the waiting one";

impl Case<'_> {
    /// The only rank of a ring of receives that sends nothing along it.
    pub(super) fn silent_in_ring(&self, found: &Blocked) -> Option<Reason> {
        let ring = cycle::cycle(self.snapshot, found);
        if ring.len() <= ALIKE {
            return None;
        }
        let mut silent = None;
        // Each waits for the next, and sends to the one before.
        let before = ring.iter().cycle().skip(ring.len() - 1);
        for ((me, from), to) in ring.iter().zip(ring.iter().cycle().skip(1)).zip(before) {
            let one = self.missing(*to).find(|one| one.by == *me && one.sends)?;
            let messaging = self.process(*me).filter(|process| !process.lost)?.messaging.as_ref()?;
            let count = |all: &[(CommIndex, ProcessIndex, u64)], with: ProcessIndex| {
                all.iter().find(|(on, of, _)| (*on, *of) == (one.comm, with)).map_or(0, |(.., count)| *count)
            };
            let (sent, received) = (count(&messaging.sent_to, *to), count(&messaging.received_from, *from));
            match (sent, silent.is_some()) {
                (0, false) if received > 0 => silent = Some(one),
                _ if sent == received + 1 => {}
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
