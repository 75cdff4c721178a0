//! Which rank of a ring is out of step, if one of them waits in a collective and another one for a message.
//!
//! Programs go round in step. If a rank leaves a loop early, its partners wait for its next message while it waits
//! for them in the collective that follows; if it goes round once more, or skips a collective, it is the other way
//! round. Both look alike from within the ring: what tells them apart is where the other members of the
//! communicator are. Numbers alone do not convict a rank that waits for a message, as the message may just as well
//! have been left out: it must also be ahead of the others, in that it has sent something that they do not receive,
//! or the rank that it waits for must be in step with others. A rank that waits for the receipt of a message is ahead if
//! it has sent one more than others have.

use super::Case;
use super::left_out::Missing;
use crate::questions::why::collectives;
use crate::questions::why::snapshot::{Collective, CommIndex, Process, ProcessIndex};
use crate::questions::why::words::{place, ranks, verb};
use std::collections::{BTreeMap, HashSet};

/// Minimum number of ranks that outvote others.
const SEVERAL: usize = 2;
/// Maximum number of ranks that are named as culprits, and of those that are compared with one.
const MOST_COMPARED: usize = 256;

/// The members of a communicator, by whether they have entered a collective.
struct Sides {
    inside: Vec<ProcessIndex>,
    outside: Vec<ProcessIndex>,
    /// Those of `inside`, since large jobs ask for many members.
    entered: HashSet<ProcessIndex>,
}

/// Ranks that do something else than the others, and how this shows.
type Odd = (Vec<ProcessIndex>, String);

impl Case<'_> {
    /// Returns the ranks out of step among the members of the collective that one of a ring waits in.
    pub(super) fn out_of_step(&self, collective: &Collective) -> Option<Odd> {
        let members = &self.snapshot.communicators.get(collective.comm as usize)?.members;
        let known = |one: &ProcessIndex| self.process(*one).is_some_and(|p| !p.is_unseen() && !p.is_gone());
        if collective.number == collectives::FINALIZE || !members.iter().all(known) {
            return None;
        }
        let entered = |one: &ProcessIndex| {
            self.process(*one)
                .is_some_and(|p| collectives::has_entered(p, collective.comm, collective.number))
        };
        let (inside, outside): (Vec<_>, _) = members.iter().copied().partition(entered);
        let sides = Sides { entered: inside.iter().copied().collect(), inside, outside };
        self.stays(&sides).or_else(|| self.leaves(&sides))
    }

    /// Few have gone on to the collective, and the others wait for messages like those that they sent before.
    fn leaves(&self, sides: &Sides) -> Option<Odd> {
        if sides.outside.len() < SEVERAL {
            return None;
        }
        let mut awaited: BTreeMap<ProcessIndex, Vec<ProcessIndex>> = BTreeMap::new();
        for waits in &sides.outside {
            let inside = |one: &Missing<'_>| sides.entered.contains(&one.by) && self.exchanged_before(one);
            for one in self.missing(*waits).filter(inside) {
                let waiting = awaited.entry(one.by).or_default();
                if waiting.last() != Some(waits) {
                    waiting.push(*waits);
                }
            }
        }
        let odd: Vec<ProcessIndex> = awaited.keys().copied().take(MOST_COMPARED).collect();
        if !odd.is_empty()
            && sides.inside.len() < sides.outside.len()
            && let Some(at) = self.common_place(&sides.outside)
        {
            let still = self.words.ranks(sides.outside.iter().copied());
            let gone = self.words.members(odd.iter().copied());
            let have = verb(&gone, "has", "have");
            let said =
                format!("{still} are all still {at}, and {} {have} gone on without them", ranks(&gone));
            return Some((odd, said));
        }
        let mut all = awaited.into_iter();
        let (one, waiting) = all.next().filter(|(_, waiting)| waiting.len() >= SEVERAL)?;
        let said = || {
            let (waiting, one) = (self.words.ranks(waiting), self.words.rank(one));
            format!("{waiting} all wait for rank {one}, which has gone on without them")
        };
        all.next().is_none().then(|| (vec![one], said()))
    }

    /// Whether a message like the missing one has gone from the one rank to the other.
    fn exchanged_before(&self, missing: &Missing<'_>) -> bool {
        let (from, to) =
            if missing.sends { (missing.by, missing.waits) } else { (missing.waits, missing.by) };
        let mut received =
            self.process(to).into_iter().flat_map(|process| process.received_from(missing.comm));
        received.any(|(one, _)| one == from)
    }

    /// The call and line that all of these are at.
    fn common_place(&self, of: &[ProcessIndex]) -> Option<String> {
        let at = |one: &ProcessIndex| self.process(*one)?.calls().next().filter(|call| call.place.is_some());
        let first = at(of.first()?)?;
        let same = |one: &ProcessIndex| {
            at(one).is_some_and(|call| (&call.place, &call.function) == (&first.place, &first.function))
        };
        of.iter().all(same).then(|| place(first))
    }

    /// All but one have entered the collective, and that one waits for what will not come.
    fn stays(&self, sides: &Sides) -> Option<Odd> {
        let &[waits] = sides.outside.as_slice() else { return None };
        if sides.inside.len() < SEVERAL {
            return None;
        }
        let missing: Vec<Missing<'_>> =
            self.missing(waits).filter(|one| sides.entered.contains(&one.by)).take(MOST_COMPARED).collect();
        if let Some(odd) = missing.iter().find_map(|one| self.one_more(sides, one)) {
            return Some(odd);
        }
        let ahead = |one: &Missing<'_>| self.is_ahead_of(sides, one) || self.is_in_step(sides, one);
        missing.iter().any(ahead).then(|| {
            let others = self.words.ranks(sides.inside.iter().copied());
            let rank = self.words.rank(waits);
            let said = format!(
                "{others} have all entered that collective: rank {rank} has skipped it, or goes round once more"
            );
            (vec![waits], said)
        })
    }

    /// The only member that has sent one message more to the awaited rank than all others have, so that there is
    /// none left for the one that waits.
    fn one_more(&self, sides: &Sides, missing: &Missing<'_>) -> Option<Odd> {
        if !self.is_left_over(missing.waits, missing.by, missing.comm) {
            return None;
        }
        let mut sent = self.sent_by_others(sides, missing);
        sent.push((missing.waits, self.count_sent(missing.waits, missing)));
        let (one, most) = sent.iter().copied().max_by_key(|(_, count)| *count)?;
        let others: Vec<ProcessIndex> =
            sent.iter().filter(|(_, count)| count + 1 == most).map(|(other, _)| *other).collect();
        let alone = one != missing.waits && others.len() + 1 == sent.len() && others.len() >= SEVERAL;
        alone.then(|| {
            let (rank, to) = (self.words.rank(one), self.words.rank(missing.by));
            let said = format!(
                "rank {rank} has sent {most} messages to rank {to}, but {} have each sent {}",
                self.words.ranks(others),
                most - 1
            );
            (vec![one], said)
        })
    }

    /// Whether a rank has sent something that members in the collective do not receive, and is not behind them.
    fn is_ahead_of(&self, sides: &Sides, missing: &Missing<'_>) -> bool {
        let left = |one: &ProcessIndex| self.is_left_over(missing.waits, *one, missing.comm);
        let own = self.count_sent(missing.waits, missing);
        let others = self.sent_by_others(sides, missing);
        if !missing.sends {
            // The message that is not received counts.
            let most = others.iter().map(|(_, count)| *count).max();
            return most.or_else(|| self.most_sent(sides, missing.comm)).is_some_and(|most| own > most);
        }
        let first = own == 0 || others.iter().all(|(_, count)| *count <= own);
        first && (left(&missing.by) || sides.inside.iter().take(MOST_COMPARED).any(left))
    }

    /// The largest number of messages that a member in the collective has sent to one rank.
    fn most_sent(&self, sides: &Sides, comm: CommIndex) -> Option<u64> {
        let inside = sides.inside.iter().take(MOST_COMPARED).filter_map(|one| self.process(*one));
        inside.flat_map(|process| process.sent_to(comm)).map(|(_, count)| count).max()
    }

    /// Whether the awaited rank has left nothing out, as far as can be seen.
    fn is_in_step(&self, sides: &Sides, missing: &Missing<'_>) -> bool {
        missing.sends && (self.sends_alike(sides, missing) || self.is_as_often_at_its_lines(sides, missing))
    }

    /// Whether the awaited rank has sent all others that it sends to as many messages as the one that waits.
    fn sends_alike(&self, sides: &Sides, missing: &Missing<'_>) -> bool {
        let sent = self.process(missing.by).into_iter().flat_map(|process| process.sent_to(missing.comm));
        let (own, others): (Vec<_>, Vec<_>) = sent.partition(|(to, _)| *to == missing.waits);
        let [(_, own)] = own.as_slice() else { return false };
        let alike = others.iter().all(|(to, count)| count == own && sides.entered.contains(to));
        alike && (SEVERAL..MOST_COMPARED).contains(&others.len())
    }

    /// Whether the awaited rank has been at each line at which it sends as often as all other members have that
    /// have been there, and there are such lines and members.
    fn is_as_often_at_its_lines(&self, sides: &Sides, missing: &Missing<'_>) -> bool {
        let own = self.process(missing.by).into_iter().flat_map(Process::message_calls);
        let own = own.filter(|calls| calls.sends && calls.comm == missing.comm);
        let others = || sides.inside.iter().filter(|one| **one != missing.by).take(MOST_COMPARED);
        let counts = |place: &str| {
            let all = others().filter_map(|one| self.process(*one)).flat_map(Process::message_calls);
            let there = all.filter(|calls| calls.comm == missing.comm && &*calls.place == place);
            there.map(|calls| calls.count).collect::<Vec<u64>>()
        };
        let compared: Vec<(u64, Vec<u64>)> = own.map(|calls| (calls.count, counts(&calls.place))).collect();
        compared.iter().any(|(_, others)| !others.is_empty())
            && compared.iter().all(|(own, others)| others.iter().all(|other| other == own))
    }

    /// Whether a message from one rank to another is never received.
    fn is_left_over(&self, from: ProcessIndex, to: ProcessIndex, comm: CommIndex) -> bool {
        let left = self.pairs().left(to).iter();
        left.take(MOST_COMPARED).any(|(sender, message)| {
            *sender == from && message.comm == comm && !self.pairs().is_matched(message)
        })
    }

    /// Number of messages that other members in the collective have sent to the awaited rank.
    fn sent_by_others(&self, sides: &Sides, missing: &Missing<'_>) -> Vec<(ProcessIndex, u64)> {
        let others = sides.inside.iter().copied().filter(|one| *one != missing.by);
        let counted = others.map(|one| (one, self.count_sent(one, missing)));
        counted.filter(|(_, count)| *count > 0).take(MOST_COMPARED).collect()
    }

    /// Number of messages that a process has sent to the awaited rank.
    fn count_sent(&self, from: ProcessIndex, missing: &Missing<'_>) -> u64 {
        let mut sent = self.process(from).into_iter().flat_map(|process| process.sent_to(missing.comm));
        sent.find(|(to, _)| *to == missing.by).map_or(0, |(_, count)| count)
    }
}
