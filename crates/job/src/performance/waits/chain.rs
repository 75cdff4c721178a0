//! Where waiting began: the process waited for may have been late because it had waited itself.
//!
//! ```text
//!        met                     entered             came
//! A ──────┼── work ── waits ─────────┼─── the wait ────┤      the wait = (work of B − work of A)
//! B ──────┼── work ── waits ── work ───────────────────┤               + (waits of B − waits of A)
//! ```
//!
//! Since the two last met, at a message or a collective, B has worked longer than A, or waited longer, or
//! both; the difference is what A waits now. The first part is attributed to B, and the second is handed on
//! to the processes B waited for, in proportion to B's waits: their shares are already known, as waits are
//! processed in the order in which they ended. So the shares of a wait always add up to its length. Waiting
//! of B that was not observed counts as B's work.
//!
//! What would lead back to A's own work stays with B: had A worked less, B would have come earlier and A would
//! have waited as long. So ranks that work in turn wait for each other's work, and not for the first turn.

use super::Span;
use super::alike::{Origin, Who};
use super::named::NamedWait;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Maximum number of waits remembered per process.
const MOST_WAITS: usize = 256;
/// Maximum number of partners and communicators remembered per process.
const MOST_PARTNERS: usize = 4096;
/// Number of meeting times remembered for each: a wait may begin before the last meeting.
const MOST_TIMES: usize = 8;
/// Smaller parts of a wait are dropped and the others scaled up accordingly.
const LEAST: f64 = 0.01;

/// The part of a wait during which the process waited for did wait itself, up to which the call that it was in most
/// of the time describes its work.
const MOST_WAITING: f64 = 0.25;

/// Parts of a wait in the order of time, which add up to one: the last one is the work of the process waited for.
type Parts = Arc<[(Origin, f64)]>;

/// An occasion at which processes met.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// A collective on a communicator.
    Collective(u64),
    /// A message between two processes.
    Message(Who, Who),
}

/// An event, ordered by its end.
#[derive(Debug, Clone)]
enum Event {
    Met(Meeting, Vec<Who>),
    Waited(NamedWait, f64),
}

/// A wait with its extrapolation factor and origins.
pub struct Traced {
    pub named: NamedWait,
    pub factor: f64,
    pub origins: Vec<(Origin, u64)>,
}

/// Waits not traced yet, and what is remembered of earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    looks: u64,
    events: u64,
    /// By end and number, with the pass that found it.
    pending: BTreeMap<(u64, u64), (u64, Event)>,
    processes: HashMap<Who, Past>,
}

#[derive(Debug, Clone, Default)]
struct Past {
    /// Ordered by end.
    waits: VecDeque<(Span, Parts)>,
    /// The most recent times, the latest last.
    met: HashMap<Meeting, VecDeque<u64>>,
    /// The earliest known time of the process.
    first: Option<u64>,
}

impl Chains {
    /// Adds a wait.
    pub fn waited(&mut self, named: NamedWait, factor: f64) {
        let until = named.from_ns.saturating_add(named.ns);
        self.push(until, Event::Waited(named, factor));
    }

    /// Adds a meeting of these processes.
    pub fn met(&mut self, at_ns: u64, meeting: Meeting, who: Vec<Who>) {
        self.push(at_ns, Event::Met(meeting, who));
    }

    fn push(&mut self, until: u64, event: Event) {
        self.events += 1;
        self.pending.insert((until, self.events), (self.looks, event));
    }

    /// Ends a pass: traces what was found `later` passes ago, since nothing that ended earlier can still turn
    /// up.
    pub fn look(&mut self, later: u64) -> Vec<Traced> {
        let mut traced = Vec::new();
        while let Some(next) = self.pending.first_entry() {
            if later > 0 && next.get().0 + later > self.looks {
                break;
            }
            let ((at, _), (_, event)) = next.remove_entry();
            match event {
                Event::Met(meeting, who) => self.meet(at, &meeting, &who),
                Event::Waited(named, factor) => traced.push(self.trace(named, factor)),
            }
        }
        self.looks += 1;
        traced
    }

    fn meet(&mut self, at: u64, meeting: &Meeting, who: &[Who]) {
        for who in who {
            let past = self.processes.entry(who.clone()).or_default();
            past.first.get_or_insert(at);
            if past.met.len() < MOST_PARTNERS || past.met.contains_key(meeting) {
                let times = past.met.entry(meeting.clone()).or_default();
                if times.len() >= MOST_TIMES {
                    times.pop_front();
                }
                times.push_back(at);
            }
        }
    }

    fn trace(&mut self, named: NamedWait, factor: f64) -> Traced {
        let span = Span { from: named.from_ns, until: named.from_ns.saturating_add(named.ns) };
        let parts = self.parts(&named, span);
        let past = self.processes.entry(named.who.clone()).or_default();
        past.first.get_or_insert(span.from);
        if past.waits.len() >= MOST_WAITS
            && let Some((gone, _)) = past.waits.pop_front()
        {
            past.first = past.first.max(Some(gone.until));
        }
        past.waits.push_back((span, Arc::clone(&parts)));
        let origins =
            parts.iter().map(|(origin, part)| (origin.clone(), (part * named.ns as f64).round() as u64));
        Traced { origins: origins.collect(), named, factor }
    }

    /// Attributes a wait to its origins.
    fn parts(&self, named: &NamedWait, span: Span) -> Parts {
        let own = |part: f64, waits: f64| {
            // What it was in most of the time is where it waited itself, unless it waited little.
            let doing =
                if part < 0.5 || waits > MOST_WAITING { &named.working } else { &named.key.meanwhile };
            ((named.key.culprit.clone(), doing.as_str().into()), part)
        };
        let alone = || Arc::from([own(1.0, 0.0)]);
        if named.threads {
            return alone();
        }
        let none = Past::default();
        let Some(culprit) = self.processes.get(&named.key.culprit) else { return alone() };
        let waiter = self.processes.get(&named.who).unwrap_or(&none);
        let since = waiter.last_met(culprit, span.from).unwrap_or(span.from);
        let theirs = Span { from: since, until: span.until };
        let (waited, all) = culprit.waits_in(theirs);
        if all == 0 || span.ns() == 0 {
            return alone();
        }
        let (_, before) = waiter.waits_in(Span { from: since, until: span.from });
        let their_work = theirs.ns().saturating_sub(all) as f64;
        let my_work = span.from.saturating_sub(since).saturating_sub(before) as f64;
        let whole = span.ns() as f64;
        let direct = (their_work - my_work).clamp(0.0, whole) / whole;
        let (mut handed_on, mut back): (Vec<(Origin, f64)>, f64) = (Vec::new(), 0.0);
        for (origin, ns) in waited {
            let part = (1.0 - direct) * ns / all as f64;
            if origin.0 == named.who {
                back += part;
            } else {
                add(&mut handed_on, origin.clone(), part);
            }
        }
        let (_, meanwhile) = culprit.waits_in(span);
        let (origin, part) = own(direct + back, meanwhile as f64 / whole);
        add(&mut handed_on, origin, part);
        without_small_parts(handed_on)
    }
}

fn add(parts: &mut Vec<(Origin, f64)>, origin: Origin, part: f64) {
    match parts.iter_mut().find(|(known, _)| *known == origin) {
        Some((_, sum)) => *sum += part,
        None => parts.push((origin, part)),
    }
}

/// Drops small parts, which would make lists contain every process.
fn without_small_parts(mut parts: Vec<(Origin, f64)>) -> Parts {
    parts.retain(|(_, part)| *part >= LEAST);
    let all: f64 = parts.iter().map(|(_, part)| part).sum();
    parts.into_iter().map(|(origin, part)| (origin, part / all)).collect()
}

impl Past {
    /// Returns when two processes last met before a time; if they never did, since when both are known.
    fn last_met(&self, other: &Self, before: u64) -> Option<u64> {
        let (few, many) = if self.met.len() < other.met.len() { (self, other) } else { (other, self) };
        let both = few.met.iter().filter_map(|(meeting, times)| {
            let theirs = many.met.get(meeting)?;
            times.iter().rev().find(|at| **at <= before && theirs.contains(at)).copied()
        });
        let known = self.first?.max(other.first?);
        let met = both.max().unwrap_or(known);
        Some(met.max(known)).filter(|since| *since <= before)
    }

    /// Returns the origins of the waits within a span, with nanoseconds, and the sum of these waits.
    fn waits_in(&self, stretch: Span) -> (Vec<(&Origin, f64)>, u64) {
        let ended: Vec<_> =
            self.waits.iter().rev().take_while(|(span, _)| span.until > stretch.from).collect();
        let (mut list, mut all) = (Vec::new(), 0);
        for (span, parts) in ended.into_iter().rev() {
            let inside = span.and(stretch);
            all += inside.ns();
            let (first, end) =
                ((inside.from - span.from) as f64, (inside.from - span.from + inside.ns()) as f64);
            let mut from = 0.0;
            for (origin, part) in parts.iter() {
                let until = from + part * span.ns() as f64;
                let common = until.min(end) - f64::max(from, first);
                if common > 0.0 {
                    list.push((origin, common));
                }
                from = until;
            }
        }
        (list, all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::alike::Alike;
    use super::*;

    fn who(rank: u32) -> Who {
        ("w".into(), Some(rank))
    }

    fn wait(me: u32, culprit: u32, [from_ns, until]: [u64; 2]) -> NamedWait {
        let key = Alike {
            kind: Kind::LATE_SENDER,
            function: "MPI_Recv".into(),
            line: None,
            culprit: who(culprit),
            meanwhile: "busy".into(),
            of: None,
        };
        NamedWait { key, who: who(me), from_ns, ns: until - from_ns, working: "busy".into(), threads: false }
    }

    /// Returns the shares, by rank, of the last of these waits; all ranks met at time zero.
    fn of_last(waits: &[NamedWait]) -> Vec<(u32, u64)> {
        let mut chains = Chains::default();
        chains.met(0, Meeting::Collective(1), (0..4).map(who).collect());
        waits.iter().for_each(|named| chains.waited(named.clone(), 1.0));
        let last = chains.look(0).pop().unwrap();
        let mut shares: Vec<_> = last.origins.iter().map(|((who, _), ns)| (who.1.unwrap(), *ns)).collect();
        shares.sort_unstable();
        shares
    }

    #[test]
    fn a_rank_that_works_longer_than_the_waiter_is_the_origin() {
        assert_eq!(of_last(&[wait(1, 0, [100, 500])]), [(0, 400)]);
    }

    #[test]
    fn a_delay_is_traced_along_a_pipeline_to_its_origin() {
        // Every rank works for 100; rank 0 is late by another 300, and so are all behind it, although they
        // work no longer than the others.
        let all = [wait(1, 0, [0, 400]), wait(2, 1, [0, 500]), wait(3, 2, [0, 600])];
        assert_eq!(of_last(&all[..1]), [(0, 400)]);
        assert_eq!(of_last(&all[..2]), [(0, 400), (1, 100)]);
        assert_eq!(of_last(&all), [(0, 400), (1, 100), (2, 100)]);
    }

    #[test]
    fn what_one_of_several_threads_waited_for_is_not_why_another_was_late() {
        let mut last = wait(2, 1, [0, 500]);
        last.threads = true;
        assert_eq!(of_last(&[wait(1, 0, [0, 400]), last]), [(1, 500)]);
    }

    #[test]
    fn a_rank_that_waited_no_longer_than_the_waiter_propagates_nothing() {
        // Both waited 100 for rank 3; then rank 1 worked for 200 and rank 2 for 50.
        let all = [wait(1, 3, [0, 100]), wait(2, 3, [0, 100]), wait(2, 1, [150, 300])];
        assert_eq!(of_last(&all), [(1, 150)]);
    }

    #[test]
    fn delays_before_the_last_synchronization_do_not_count() {
        let mut chains = Chains::default();
        chains.met(0, Meeting::Collective(1), (0..3).map(who).collect());
        chains.waited(wait(1, 0, [10, 400]), 1.0);
        chains.met(450, Meeting::Message(who(1), who(2)), vec![who(1), who(2)]);
        chains.waited(wait(2, 1, [500, 600]), 1.0);
        let last = chains.look(0).pop().unwrap();
        assert_eq!(last.origins, [((who(1), "busy".into()), 100)]);
    }

    #[test]
    fn a_wait_that_began_before_the_last_synchronization_is_measured_from_the_previous_one() {
        let mut chains = Chains::default();
        let all = || (0..3).map(who).collect::<Vec<_>>();
        chains.met(100, Meeting::Collective(1), all());
        // Rank 0 has gone ahead; rank 2 waits for rank 1 at the next collective and so is late where rank 0
        // is already waiting.
        chains.waited(wait(2, 1, [110, 300]), 1.0);
        chains.met(300, Meeting::Collective(1), all());
        chains.waited(wait(0, 2, [110, 301]), 1.0);
        let last = chains.look(0).pop().unwrap();
        assert_eq!(last.origins, [((who(1), "busy".into()), 191)]);
    }

    #[test]
    fn ranks_that_work_in_turn_wait_for_the_work_of_the_others() {
        // Three ranks work 100 each in turn, three times; the message that passes the turn is where two met.
        let mut chains = Chains::default();
        let turns: Vec<(u32, u64)> = (0..9).map(|turn| ((turn % 3) as u32, 100 * turn)).collect();
        for (rank, begin) in turns.into_iter().skip(1) {
            let from = if begin < 300 { 0 } else { begin - 200 };
            let before = (rank + 2) % 3;
            chains.waited(wait(rank, before, [from, begin]), 1.0);
            chains.met(begin, Meeting::Message(who(before), who(rank)), vec![who(before), who(rank)]);
        }
        for traced in chains.look(0).into_iter().skip(4) {
            let mut shares: Vec<_> = traced.origins.iter().map(|((who, _), ns)| (who.1, *ns)).collect();
            shares.sort_unstable();
            let others = (0..3).map(Some).filter(|rank| *rank != traced.named.who.1);
            assert!(shares.iter().map(|(rank, _)| *rank).eq(others), "{shares:?}");
            assert!(shares.iter().all(|(_, ns)| (90..=110).contains(ns)), "{shares:?}");
        }
    }

    #[test]
    fn a_rank_that_waited_half_of_the_time_and_worked_the_other_half_is_late_because_of_its_work() {
        let mut chains = Chains::default();
        chains.met(0, Meeting::Collective(1), (0..3).map(who).collect());
        chains.waited(wait(1, 2, [0, 190]), 1.0);
        let mut last = wait(2, 1, [0, 400]);
        (last.key.meanwhile, last.working) = ("in MPI_Recv".into(), "computing".into());
        chains.waited(last, 1.0);
        let last = chains.look(0).pop().unwrap();
        assert_eq!(last.origins, [((who(1), "computing".into()), 400)]);
    }

    #[test]
    fn waits_found_later_but_ended_earlier_are_traced_first() {
        let mut chains = Chains::default();
        chains.met(0, Meeting::Collective(1), (0..3).map(who).collect());
        chains.waited(wait(2, 1, [0, 500]), 1.0);
        assert!(chains.look(1).is_empty());
        chains.waited(wait(1, 0, [0, 400]), 1.0);
        assert!(chains.look(1).is_empty(), "what is found now ended earlier");
        let traced = chains.look(1);
        assert_eq!(traced.len(), 2);
        let origins: Vec<_> = traced[1].origins.iter().map(|((who, _), ns)| (who.1, *ns)).collect();
        assert_eq!(origins, [(Some(0), 400), (Some(1), 100)]);
    }

    #[test]
    fn memory_is_bounded_and_the_shares_add_up_to_the_wait() {
        let mut chains = Chains::default();
        chains.met(0, Meeting::Collective(1), (0..3).map(who).collect());
        for at in 0..2000 {
            chains.waited(wait(1, 0, [10 * at, 10 * at + 7]), 1.0);
            chains.waited(wait(2, 1, [10 * at, 10 * at + 8]), 1.0);
            for traced in chains.look(2) {
                let sum: u64 = traced.origins.iter().map(|(_, ns)| ns).sum();
                assert!(sum.abs_diff(traced.named.ns) <= traced.origins.len() as u64, "{sum}");
            }
        }
        assert!(chains.processes.values().all(|past| past.waits.len() <= MOST_WAITS));
        assert!(chains.pending.len() < 10);
    }
}
