//! A rank that has sent one message fewer than its peers show it should have.
//!
//! Ranks that exchange messages and wait for any of them (`MPI_Waitany`, `MPI_Waitsome`) stop at different
//! places if a message is missing, often outside of any collective, so that their calls cannot be compared
//! line by line. What can be compared is the number of messages each of them has sent to each of its partners.
//! If every rank has sent the same number to all of its partners, except for one that has sent one fewer to
//! just the rank that waits for it, that rank has left the send out; likewise if it is the only one that sends. If a rank waits for a message from any of
//! several, which have all sent it the same number except for one that has sent one fewer, it is that one; or
//! the only one that has sent none with the awaited tag. In a ring in which each rank passes on what it receives,
//! it is the only one that has received more than it sent.

use super::left_out::Missing;
use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{CommIndex, Peer, Process, ProcessIndex, Receive};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};
use crate::questions::why::{collectives, cycle};
use std::collections::BTreeSet;

/// Maximum number of stuck ranks whose messages are compared.
const MOST_COMPARED: usize = 256;
/// Number of other ranks that must have sent the same number to all of their partners.
const ALIKE: usize = 2;
const NEXT: &str = "look for the branch of the program in which that rank skips the send to the waiting rank";

/// A rank that has sent one message fewer to the waiting rank than to others.
pub(super) struct Fewer {
    /// Number of messages sent to the waiting rank.
    pub(super) count: u64,
    /// Those that it has sent one more to.
    to: Vec<ProcessIndex>,
    /// Ranks that have sent the same number to all of their partners; none if only the sender sends.
    pub(super) alike: BTreeSet<ProcessIndex>,
}

/// What a rank of a ring of receives has sent to the one that waits for it.
pub(super) struct PassedOn<'a> {
    /// The message that it has not sent.
    pub(super) one: Missing<'a>,
    /// The rank that it waits for.
    from: ProcessIndex,
    /// Number of messages sent.
    pub(super) sent: u64,
    /// Number of messages received from the rank that it waits for.
    pub(super) received: u64,
}

/// A receive from any rank, and the rank that has sent one message fewer than all others.
pub(super) struct Least {
    pub(super) by: ProcessIndex,
    count: u64,
    others: Vec<ProcessIndex>,
    /// The tag, if only messages with it are compared.
    tag: Option<i32>,
}

impl Case<'_> {
    /// The only send that is missing among messages sent evenly, by all ranks to one or by one to all.
    pub(super) fn fewer(&self, found: &Blocked) -> Option<Reason> {
        self.fewer_to_one(found)
            .or_else(|| self.unanswered(found))
            .or_else(|| self.fewer_from_one(found))
            .or_else(|| self.fewer_received(found))
            .or_else(|| self.fewer_in_ring(found))
            .or_else(|| self.silent_in_ring(found))
    }

    /// Returns a ring of receives, and what each of its ranks has passed on.
    pub(super) fn passed_on(&self, found: &Blocked) -> Option<(Vec<ProcessIndex>, Vec<PassedOn<'_>>)> {
        let ring = cycle::cycle(self.snapshot, found);
        if ring.len() <= ALIKE {
            return None;
        }
        // Each waits for the next, and sends to the one before.
        let before = ring.iter().cycle().skip(ring.len() - 1);
        let neighbors = ring.iter().zip(ring.iter().cycle().skip(1)).zip(before);
        let passed = neighbors.map(|((me, from), to)| {
            let one = self.missing(*to).find(|one| one.by == *me && one.sends)?;
            let messaging = self.process(*me).filter(|process| !process.lost)?.messaging.as_ref()?;
            let count = |all: &[(CommIndex, ProcessIndex, u64)], with: ProcessIndex| {
                all.iter().find(|(on, of, _)| (*on, *of) == (one.comm, with)).map_or(0, |(.., count)| *count)
            };
            let (sent, received) = (count(&messaging.sent_to, *to), count(&messaging.received_from, *from));
            Some(PassedOn { one, from: *from, sent, received })
        });
        let passed = passed.collect::<Option<_>>()?;
        Some((ring, passed))
    }

    /// In a ring of receives, every rank has sent as many messages to the next as it has received from the one
    /// before, except for the rank that began and one that has not passed a message on.
    fn fewer_in_ring(&self, found: &Blocked) -> Option<Reason> {
        let (ring, passed) = self.passed_on(found)?;
        let (mut kept, mut began) = (None, 0);
        for link in passed {
            match (link.sent.cast_signed().wrapping_sub(link.received.cast_signed()), &kept) {
                (0, _) => {}
                (1, _) => began += 1,
                (-1, None) => kept = Some(link),
                _ => return None,
            }
        }
        let PassedOn { one, from, sent, received } = kept.filter(|_| began == 1)?;
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: rank {by} has received {} from rank {}, but sent {sent} to rank \
             {waits}, and the others of {} have passed on all that they received; rank {by} is {}",
            self.words.need(one.need),
            messages(received),
            self.words.rank(from),
            self.links(&ring),
            self.words.activity(one.by)
        );
        let reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT).blaming(self.culprit(one.by));
        Some(Reason { cycle: ring, ..reason })
    }

    /// A rank waits for a message from any rank, and one has sent fewer than all others.
    fn fewer_from_one(&self, found: &Blocked) -> Option<Reason> {
        let any = |(_, receive): &(ProcessIndex, &Receive)| receive.matches.from == Peer::Any;
        let mut all = self.receives(found).take(MOST_COMPARED).filter(any);
        let (waits, receive, least) =
            all.find_map(|(waits, receive)| Some((waits, receive, self.least(waits, receive)?)))?;
        let verdict = format!(
            "rank {} waits for {} that was never sent: {}; rank {} is {}",
            self.words.rank(waits),
            self.words.message(&receive.matches),
            self.sent_least(&least, waits),
            self.words.rank(least.by),
            self.words.activity(least.by)
        );
        Some(Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT).blaming(self.culprit(least.by)))
    }

    /// Returns the only rank that has sent the waiting one a message fewer than all others have, or none with
    /// the awaited tag.
    pub(super) fn least(&self, waits: ProcessIndex, receive: &Receive) -> Option<Least> {
        let least = self.least_of_all(waits, receive).filter(|least| !self.held_up(least.by, waits));
        least.or_else(|| self.least_of_tag(waits, receive, ALIKE))
    }

    /// Whether a process has not got to its send, because it waits for a message of a third process or for the
    /// receipt of one by it.
    pub(super) fn held_up(&self, by: ProcessIndex, waits: ProcessIndex) -> bool {
        self.missing(by).any(|one| one.by != waits)
    }

    /// Returns the only rank that has sent the waiting one no message with the awaited tag, if at least `alike`
    /// others have.
    pub(super) fn least_of_tag(&self, waits: ProcessIndex, receive: &Receive, alike: usize) -> Option<Least> {
        let (on, tag) = (receive.matches.comm, receive.matches.tag?);
        self.process(waits).filter(|process| !process.lost)?;
        let comm = self.snapshot.communicators.get(on as usize)?;
        let others = comm.members.iter().copied().filter(|one| *one != waits).take(MOST_COMPARED);
        let (others, missing): (Vec<_>, Vec<_>) =
            others.partition(|one| self.has_sent((*one, waits), on, tag));
        let [by] = missing[..] else { return None };
        let known = self.process(by).is_some_and(|process| !process.lost && process.messaging.is_some());
        let certain = known && others.len() >= alike && !self.held_up(by, waits);
        certain.then_some(Least { by, count: 0, others, tag: Some(tag) })
    }

    fn least_of_all(&self, waits: ProcessIndex, receive: &Receive) -> Option<Least> {
        let on = receive.matches.comm;
        let comm = self.snapshot.communicators.get(on as usize)?;
        let others = comm.members.iter().copied().filter(|one| *one != waits).take(MOST_COMPARED + 1);
        let mut sent: Vec<(u64, ProcessIndex)> = Vec::new();
        for other in others {
            let process =
                self.process(other).filter(|process| !process.lost && process.messaging.is_some())?;
            let count = process.sent_to(on).find(|(to, _)| *to == waits).map_or(0, |(_, count)| count);
            sent.push((count, other));
        }
        sent.sort_unstable();
        let ((count, by), rest) = sent.split_first()?;
        let ahead = rest.iter().all(|(more, _)| *more == count + 1);
        let others: Vec<ProcessIndex> = rest.iter().map(|(_, other)| *other).collect();
        let certain = ahead && (ALIKE..MOST_COMPARED).contains(&others.len());
        certain.then_some(Least { by: *by, count: *count, others, tag: None })
    }

    /// Formats `rank 2 has sent no message to rank 0, but ranks [1,3] have each sent 1`.
    pub(super) fn sent_least(&self, least: &Least, waits: ProcessIndex) -> String {
        if let Some(tag) = least.tag {
            let others = self.words.members(least.others.iter().copied());
            return format!(
                "rank {} has sent no message with tag {tag} to rank {}, but {} {}",
                self.words.rank(least.by),
                self.words.rank(waits),
                ranks(&others),
                verb(&others, "has", "have")
            );
        }
        format!(
            "rank {} has sent {} to rank {}, but {} have each sent {}",
            self.words.rank(least.by),
            messages(least.count),
            self.words.rank(waits),
            self.words.ranks(least.others.iter().copied()),
            least.count + 1
        )
    }

    /// A rank has sent one message fewer to the rank that waits for it than to all others.
    fn fewer_to_one(&self, found: &Blocked) -> Option<Reason> {
        let core = cycle::core(self.snapshot, found);
        let any = core.contains(&true);
        let counts = |index: &ProcessIndex| !any || core.get(*index as usize).copied().unwrap_or(false);
        let stuck = found.stuck().filter(counts).take(MOST_COMPARED);
        // A rank that waits for messages from several has gone another way than they, whatever their numbers.
        let alone =
            |one: &Missing<'_>| self.missing(one.waits).all(|other| !other.sends || other.by == one.by);
        let missing = stuck.flat_map(|waits| self.missing(waits)).filter(|one| one.sends && alone(one));
        let mut all = missing.filter_map(|one| Some((self.sent_fewer(&one)?, one)));
        let (fewer, one) = all.next()?;
        if all.any(|(_, other)| (other.by, other.waits) != (one.by, one.waits)) {
            return None;
        }
        if let Some(reason) = self.strangers(&one, &fewer) {
            return Some(Reason { cycle: cycle::cycle(self.snapshot, found), ..reason });
        }
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let to = self.words.members(fewer.to);
        let each = if to.len() == 1 { "" } else { "each of " };
        let alike = match fewer.alike.is_empty() {
            true => String::new(),
            false => {
                let alike = self.words.ranks(fewer.alike);
                format!(", and {alike} have each sent the same number to all of their partners")
            }
        };
        let verdict = format!(
            "rank {waits} waits for {} that was never sent: rank {by} has sent {} to rank {waits}, but {} to {each}{}{alike}; \
             rank {by} is {}",
            self.words.need(one.need),
            messages(fewer.count),
            fewer.count + 1,
            ranks(&to),
            self.words.activity(one.by)
        );
        let mut reason = Reason::new(Kind::MESSAGE_NEVER_SENT, verdict, NEXT).blaming(self.culprit(one.by));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    fn sent_fewer(&self, missing: &Missing<'_>) -> Option<Fewer> {
        let Missing { waits, by, comm, .. } = *missing;
        let sender = self.process(by).filter(|process| !process.lost)?;
        let count = sender.sent_to(comm).find(|(to, _)| *to == waits).map_or(0, |(_, count)| count);
        let mut to: Vec<ProcessIndex> = Vec::new();
        for (other, more) in sender.sent_to(comm).filter(|(to, _)| *to != waits) {
            if more != count + 1 {
                return None;
            }
            to.push(other);
        }
        let waiting = self.process(waits)?.sent_to(comm).map(|(to, _)| to);
        let mut alike: BTreeSet<ProcessIndex> = to.iter().copied().chain([waits]).chain(waiting).collect();
        alike.remove(&by);
        // One of them may be a round ahead or behind.
        let fits = |sent: u64| sent.abs_diff(count + 1) <= 1;
        let even = |one: &ProcessIndex| {
            self.process(*one).and_then(|process| evenly(process, comm)).is_some_and(fits)
        };
        // One that waits for a message may be in the middle of a round, if that of the sender is over.
        let over = |process: &Process| collectives::open(process).next().is_some();
        let halfway = |one: &ProcessIndex| {
            self.process(*one).is_some_and(|process| {
                over(sender) && !over(process) && process.sent_to(comm).all(|(_, sent)| fits(sent))
            })
        };
        let (even, rest): (BTreeSet<_>, BTreeSet<_>) = alike.iter().copied().partition(even);
        let exchange = even.len() >= ALIKE && rest.iter().all(halfway);
        // Only the sender sends: to all others alike.
        let silent =
            |one: &ProcessIndex| self.process(*one).is_some_and(|p| p.sent_to(comm).next().is_none());
        let distribution = to.len() >= ALIKE && alike.iter().all(silent);
        (!to.is_empty() && (exchange || distribution)).then_some(Fewer { count, to, alike: even })
    }
}

/// Returns how many messages a process has sent to each of its partners on a communicator, if it has several
/// and sent the same number to all.
fn evenly(process: &Process, comm: CommIndex) -> Option<u64> {
    let mut sent = process.sent_to(comm).map(|(_, count)| count).peekable();
    let first = sent.next().filter(|_| sent.peek().is_some())?;
    (!process.lost && sent.all(|count| count == first)).then_some(first)
}

pub(super) fn messages(count: u64) -> String {
    match count {
        0 => "no message".to_owned(),
        1 => "1 message".to_owned(),
        _ => format!("{count} messages"),
    }
}
