//! A rank that has received one message fewer from one sender than from all others.
//!
//! All senders have sent it the same number, and it has received all of them but one, whose sender waits for that.

use super::fewer::messages;
use super::left_out::Missing;
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Need, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;

/// Number of other senders.
const ALIKE: usize = 2;
/// Maximum number of stuck ranks and of senders that are compared.
const MOST_COMPARED: usize = 256;
const NEXT: &str = "look at the loop in which that rank receives: it must receive from each rank that sends";

impl Case<'_> {
    /// The only receive that is missing among messages received evenly.
    pub(super) fn fewer_received(&self, found: &Blocked) -> Option<Reason> {
        let stuck = found.stuck().take(MOST_COMPARED);
        let mut all = stuck.flat_map(|waits| self.missing(waits)).filter_map(|one| {
            let others = self.received_from_others(&one)?;
            Some((one, others))
        });
        let (one, (count, others)) = all.next()?;
        let Need::Receiver(message) = one.need else { return None };
        if all.next().is_some() {
            return None;
        }
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let verdict = format!(
            "rank {waits} sent {} that is never received: rank {by} has received {} from each of {}, but {} from rank \
             {waits}, which has sent it as many; rank {by} is {}",
            self.words.sent(self.recorded(one.waits, message)),
            messages(count),
            self.words.ranks(others),
            messages(count - 1),
            self.words.activity(one.by)
        );
        let reason = Reason::new(Kind::MESSAGE_NEVER_RECEIVED, verdict, NEXT).blaming(self.culprit(one.by));
        Some(Reason { cycle: cycle::cycle(self.snapshot, found), ..reason })
    }

    /// Returns how many messages the receiver has received from each of the other senders, and these.
    fn received_from_others(&self, one: &Missing<'_>) -> Option<(u64, Vec<ProcessIndex>)> {
        let Missing { waits, by, comm, sends, .. } = *one;
        let known = |process: &&Process| !process.lost && process.messaging.is_some();
        let receiver = self.process(by).filter(known)?;
        if sends || self.held_up(by, waits) {
            return None;
        }
        let sent = |from: ProcessIndex| {
            let sender = self.process(from).filter(known)?;
            Some(sender.sent_to(comm).find(|(to, _)| *to == by).map_or(0, |(_, count)| count))
        };
        let received = |from: ProcessIndex| {
            receiver.received_from(comm).find(|(one, _)| *one == from).map_or(0, |(_, count)| count)
        };
        let count = sent(waits).filter(|count| received(waits) + 1 == *count)?;
        let members = &self.snapshot.communicators.get(comm as usize)?.members;
        let mut others = Vec::new();
        for other in members.iter().copied().filter(|one| *one != waits && *one != by).take(MOST_COMPARED) {
            match sent(other)? {
                0 => {}
                all if all == count && received(other) == count => others.push(other),
                _ => return None,
            }
        }
        (others.len() >= ALIKE).then_some((count, others))
    }
}
