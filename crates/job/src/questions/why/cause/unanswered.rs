//! A rank that has not answered one message.
//!
//! A server answers each request, and neighbours that exchange messages send as many as they receive; a server that
//! hands out work sends one message more to each, with which it ends. If the difference is the same for all partners
//! of a rank, but one smaller for the rank that waits for it, the message that this one waits for is the one that it
//! owes.

use super::left_out::Missing;
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Process, ProcessIndex};
use crate::questions::why::verdict::Kind;
use std::collections::BTreeMap;

/// Maximum number of stuck ranks whose messages are compared, and of partners of a rank.
const MOST_COMPARED: usize = 256;
const NEXT: &str = "look for the branch of the program in which that rank does not answer a message";

/// A rank that owes a message.
struct Owed<'a> {
    missing: Missing<'a>,
    received: u64,
    sent: u64,
    /// Its other partners.
    others: Vec<ProcessIndex>,
    /// How many messages more it has sent to each of these than it received.
    more: i64,
}

/// Minimum number of other partners to which a rank has sent another number of messages than it received.
const SEVERAL: usize = 2;

impl Case<'_> {
    /// The only message that was not answered.
    pub(super) fn unanswered(&self, found: &Blocked) -> Option<Reason> {
        let stuck = found.stuck().take(MOST_COMPARED);
        let mut all = stuck.flat_map(|waits| self.missing(waits)).filter_map(|one| self.owed(one));
        let Owed { missing, received, sent, others, more } = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let (waits, by) = (self.words.rank(missing.waits), self.words.rank(missing.by));
        let each = if others.len() == 1 { "" } else { "each of " };
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: rank {by} has received {received} messages from rank {waits} and \
             sent it {sent}, but sent {each}{} {}; rank {by} is {}",
            self.words.need(missing.need),
            self.words.ranks(others),
            compared(more),
            self.words.activity(missing.by)
        );
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT).blaming(self.culprit(missing.by));
        Some(Reason { cycle: cycle::cycle(self.snapshot, found), ..reason })
    }

    /// Whether the rank that should send the message has received one more from the waiting rank than it sent.
    fn owed<'a>(&self, missing: Missing<'a>) -> Option<Owed<'a>> {
        if !missing.sends {
            return None;
        }
        let waiting = self.process(missing.waits).filter(|process| !process.lost)?;
        let by = self.process(missing.by).filter(|process| !process.lost && process.messaging.is_some())?;
        let mut partners = exchanged(by, &missing);
        let (sent, received) = partners.remove(&missing.waits)?;
        let asked = waiting.sent_to(missing.comm).find(|(to, _)| *to == missing.by).map(|(_, count)| count);
        let difference =
            |(sent, received): (u64, u64)| sent.cast_signed().wrapping_sub(received.cast_signed());
        let mut others = partners.values().map(|one| difference(*one));
        let more = others.next()?;
        let least = if more == 0 { 1 } else { SEVERAL };
        let alike = others.all(|other| other == more) && (least..MOST_COMPARED).contains(&partners.len());
        let owes = sent > 0 && difference((sent, received)) == more - 1 && asked == Some(received);
        let others = partners.into_keys().collect();
        (owes && alike).then_some(Owed { missing, received, sent, others, more })
    }
}

/// Formats `as many as it received`, or `2 more than it received`.
fn compared(more: i64) -> String {
    match more {
        0 => "as many as it received".to_owned(),
        1.. => format!("{more} more than it received"),
        _ => format!("{} fewer than it received", more.unsigned_abs()),
    }
}

/// By partner: number of messages sent to it and received from it.
fn exchanged(process: &Process, missing: &Missing<'_>) -> BTreeMap<ProcessIndex, (u64, u64)> {
    let mut partners: BTreeMap<ProcessIndex, (u64, u64)> = BTreeMap::new();
    for (to, count) in process.sent_to(missing.comm) {
        partners.entry(to).or_default().0 = count;
    }
    for (from, count) in process.received_from(missing.comm) {
        partners.entry(from).or_default().1 = count;
    }
    partners
}
