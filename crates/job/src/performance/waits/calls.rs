//! The calls of each process that can wait, with their times, and what a process did in the meantime.

use super::alike::{ONE_THREAD, OTHER_CALLS, UNNAMED};
use super::entered::{entered, open};
use super::inside::{Inside, Totals};
use super::{MARK, Span, Wait, can_wait_for_messages, is_collective_that_waits};
use crate::observation::ledger::{Called, Line, Waited};
use crate::observation::{Observation, Thread};
use crate::questions::why::{Joined, ProcessIndex};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Calls of one process by start time, with the time of return.
type Own = BTreeMap<u64, (u64, Arc<Called>)>;

/// The calls of all processes that can wait and whose times are known.
#[derive(Default)]
pub struct Calls {
    all: HashMap<ProcessIndex, Own>,
    inside: HashMap<ProcessIndex, Arc<Totals>>,
    /// For processes whose messages are not recorded individually: the calls for messages that samples found.
    sampled: HashMap<ProcessIndex, Own>,
}

/// The calls of earlier passes, by world and rank: what a rank did in the meantime may have been overwritten
/// since.
pub type Before = HashMap<(String, Option<u32>), Own>;

/// Calls for messages that samples found open, by world and rank, for ranks with a single thread in MPI: if
/// individual messages are not recorded, there is no other evidence of when a rank was in them. A wait in one
/// of several threads is not what the rank as a whole did.
#[derive(Debug, Clone, Default)]
pub struct FoundOpen(HashMap<(String, Option<u32>), Own>);

/// Maximum number of calls remembered per rank.
const MOST_OPEN: usize = 64;
/// Number of calls remembered per rank, beyond those of the latest pass: a wait may be as long as many passes.
const MOST_EARLIER: usize = 256;
/// Two samples found the same call if its start times differ by no more than this, the accuracy of ages.
const SAME_NS: u64 = 5_000_000;

impl FoundOpen {
    /// Resolves places that were only recorded.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        self.0.values_mut().for_each(|own| put_into_words(own, words));
    }

    /// Adds a sample of the ranks of this host; `now_ns` is in `CLOCK_MONOTONIC`.
    pub fn look(&mut self, now_ns: u64, observations: &[Observation]) {
        for seen in observations {
            let [Thread { call: Some(call), .. }] = seen.threads.as_slice() else { continue };
            let Some(age_s) = call.age_s.filter(|_| !call.polling && can_wait_for_messages(&call.function))
            else {
                continue;
            };
            let from = now_ns.saturating_sub((age_s * 1e9) as u64);
            let own = self.0.entry((seen.world.clone(), seen.rank)).or_default();
            let known = own.range_mut(from.saturating_sub(SAME_NS)..=from.saturating_add(SAME_NS));
            match known.last().filter(|(_, (_, known))| known.function == call.function) {
                Some((_, (until, _))) => *until = now_ns,
                None => {
                    let call = Called { function: call.function.clone(), place: call.place.clone() };
                    own.insert(from, (now_ns, Arc::new(call)));
                }
            }
            if own.len() > MOST_OPEN {
                own.pop_first();
            }
        }
    }
}

/// Forgets the oldest calls if there are more than so many.
fn without_oldest(own: &mut Own, most: usize) {
    let surplus = own.len().saturating_sub(most);
    if surplus > 0
        && let Some(first) = own.keys().nth(surplus).copied()
    {
        *own = own.split_off(&first);
    }
}

/// Resolves places that were only recorded.
pub fn put_into_words(own: &mut Own, words: &dyn Fn(&str) -> String) {
    for (_, call) in own.values_mut() {
        let place = call.place.as_ref().map(|place| words(place));
        *call = Arc::new(Called { function: call.function.clone(), place });
    }
}

impl Calls {
    /// Collects calls for messages and collectives.
    pub fn of(joined: &Joined<'_>, before: &mut Before, open_at_looks: &FoundOpen, inside: &Inside) -> Self {
        let (mut calls, mut now) = (Self::default(), Before::new());
        for (me, _, rank, seen) in joined.processes() {
            let mut own = Own::new();
            let ledger =
                seen.ledger.iter().flat_map(|ledger| ledger.sent.lines.iter().chain(&ledger.received.lines));
            for Waited { from_ns, until_ns, call } in ledger.flat_map(Line::calls) {
                own.insert(*from_ns, (*until_ns, Arc::clone(call)));
            }
            for (_, taken) in entered(seen, false) {
                if let Some((span, call)) = taken.waits_in() {
                    own.insert(span.from, (span.until, Arc::clone(call)));
                }
            }
            for (span, call) in open(seen).filter(|(_, call)| !is_collective_that_waits(&call.function)) {
                let call = Called { function: call.function.clone(), place: call.place.clone() };
                own.insert(span.from, (span.until, Arc::new(call)));
            }
            let epochs = seen.locks.iter().flat_map(|locks| &locks.list);
            for call in epochs.flat_map(|epoch| [Some(&epoch.asked), epoch.released.as_ref()]).flatten() {
                own.insert(call.from_ns, (call.until_ns, Arc::clone(&call.call)));
            }
            // A mark of an iteration does nothing: what follows it belongs to the call before.
            let returned = seen.returned.as_ref().filter(|waited| waited.call.function != MARK);
            if let Some(&Waited { from_ns, until_ns, ref call }) = returned {
                own.entry(from_ns).or_insert((until_ns, Arc::clone(call)));
            }
            let name = (seen.world.clone(), rank);
            let mut all = before.remove(&name).unwrap_or_default();
            let most = own.len() + MOST_EARLIER;
            all.extend(own);
            without_oldest(&mut all, most);
            for (from, open) in open_at_looks.0.get(&name).into_iter().flatten() {
                all.entry(*from).or_insert_with(|| open.clone());
            }
            if seen.ledger.is_none() {
                calls.sampled.insert(me, open_at_looks.0.get(&name).cloned().unwrap_or_default());
            }
            now.insert(name, all.clone());
            calls.all.insert(me, all);
            calls.inside.extend(inside.of(&seen.world, rank).map(|totals| (me, totals)));
        }
        *before = now;
        calls
    }

    /// Returns what a process did in the meantime: the call it was in for more than half of the time, otherwise
    /// what it did after its last call; and in any case the latter, without the time in known calls. If a
    /// process spent most of the time in MPI, it did not compute but was in several calls. `waiter` is the process
    /// that waited for it.
    pub fn meanwhile(&self, who: ProcessIndex, waiter: ProcessIndex, span: Span) -> (String, String) {
        let Some(own) = self.all.get(&who) else { return ("not seen".to_owned(), "not seen".to_owned()) };
        let before = own.range(..span.until).rev();
        let inside = before.clone().take_while(|(_, (until, _))| *until > span.from);
        let known: Vec<_> = inside
            .map(|(from, (until, call))| (Span { from: *from, until: *until }.and(span).ns(), call))
            .collect();
        let known_ns = known.iter().fold(0, |sum: u64, (ns, _)| sum.saturating_add(*ns));
        let mpi_ns = self.inside.get(&who).map_or(0, |totals| totals.at_least(span));
        let is_most = |ns: u64| ns.saturating_mul(2) > span.ns();
        let last = before.map(|(_, (_, call))| call).next();
        let after = |in_mpi_ns: u64| {
            let (doing, after) = match is_most(in_mpi_ns) {
                true => (OTHER_CALLS, last),
                false => (UNNAMED, before_longest_gap(own, span)),
            };
            after.map_or_else(|| doing.to_owned(), |call| format!("{doing} after {}", named(call)))
        };
        let longest = known.iter().max_by_key(|(ns, _)| *ns).filter(|(ns, _)| is_most(*ns));
        let doing = match longest {
            Some((_, call)) if self.has_several_threads(who, span) => {
                format!("in {}{ONE_THREAD}", named(call))
            }
            Some((_, call)) => format!("in {}", named(call)),
            None if is_most(known_ns.max(mpi_ns)) => after(span.ns()),
            None => self.late_by_messages(who, waiter, span).unwrap_or_else(|| after(0)),
        };
        (doing, after(mpi_ns.saturating_sub(known_ns)))
    }

    /// Describes a process that was late at a collective, not recorded itself, because it waited for messages. If
    /// the wait is too short for a sample to have found the call, totals tell: around this time, the process spent
    /// more time in calls for messages than the waiter, and that is most of what the waiter spent in collectives.
    fn late_by_messages(&self, who: ProcessIndex, waiter: ProcessIndex, span: Span) -> Option<String> {
        let sampled = self.sampled.get(&who)?;
        let [theirs, own] = [who, waiter].map(|who| self.inside.get(&who)?.in_waiting_calls(span));
        let (theirs, own) = (theirs?, own?);
        let more = theirs.messages.saturating_sub(own.messages);
        if own.collectives == 0 || more.saturating_mul(2) <= own.collectives {
            return None;
        }
        let mut found: HashMap<&Arc<Called>, u64> = HashMap::new();
        for (from, (until, call)) in sampled {
            *found.entry(call).or_default() += until.saturating_sub(*from);
        }
        // The names make the choice between equal times the same in every run.
        let most = found.into_iter().max_by_key(|(call, ns)| (*ns, *call));
        most.map(|(call, _)| format!("in {}", named(call)))
    }

    /// Whether several threads of a process were calling MPI: what one of them waited for does not tell why
    /// another one was late.
    pub fn has_several_threads(&self, who: ProcessIndex, span: Span) -> bool {
        self.inside.get(&who).is_some_and(|totals| totals.has_several_threads(span))
    }

    /// Limits a wait to the return of its call.
    pub fn bounded(&self, mut wait: Wait) -> Option<Wait> {
        let (until, _) = self.all.get(&wait.who)?.get(&wait.in_call)?;
        wait.span.until = wait.span.until.min(*until);
        (wait.span.ns() > 0).then_some(wait)
    }
}

/// Returns the call that a process had returned from when it computed for the longest time without another call
/// that is known.
fn before_longest_gap(own: &Own, span: Span) -> Option<&Arc<Called>> {
    let (mut until_ns, mut longest) = (span.until, None);
    for (from_ns, (returned_ns, call)) in own.range(..span.until).rev() {
        let gap_ns = until_ns.saturating_sub((*returned_ns).max(span.from));
        if longest.is_none_or(|(known_ns, _)| gap_ns > known_ns) {
            longest = Some((gap_ns, call));
        }
        if *returned_ns <= span.from {
            break;
        }
        until_ns = until_ns.min(*from_ns);
    }
    // If no earlier call is known, it may have computed since before the first one in this time.
    let first_ns = until_ns.saturating_sub(span.from);
    let known = own.range(..=span.from).next().is_some();
    longest.filter(|(ns, _)| known || *ns >= first_ns).map(|(_, call)| call)
}

fn named(call: &Called) -> String {
    match &call.place {
        Some(place) => format!("{} at {place}", call.function),
        None => call.function.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::inside::Total;
    use super::*;
    use crate::observation::Call;

    const MS: u64 = 1_000_000;

    fn rank(calls: &[(&str, f64)]) -> Vec<Observation> {
        let thread = |(function, age_s): &(&str, f64)| {
            let place = Some("a.c:7".to_owned());
            let call = Call { function: (*function).into(), place, age_s: Some(*age_s), ..Call::default() };
            Thread { call: Some(call), ..Thread::default() }
        };
        let threads = calls.iter().map(thread).collect();
        vec![Observation {
            world: "w".into(),
            rank: Some(0),
            size: Some(1),
            threads,
            ..Observation::default()
        }]
    }

    /// Returns what the rank did from 100 to 500 ms, if it is no longer in a call.
    fn meanwhile(looks: &[(u64, Vec<Observation>)]) -> String {
        let mut open = FoundOpen::default();
        looks.iter().for_each(|(at_ms, seen)| open.look(at_ms * MS, seen));
        let now = rank(&[]);
        let calls = Calls::of(&Joined::of(&now), &mut Before::new(), &open, &Inside::default());
        calls.meanwhile(0, 0, Span { from: 100 * MS, until: 500 * MS }).0
    }

    #[test]
    fn a_rank_sampled_mostly_in_a_receive_was_in_it_and_did_not_compute() {
        // With ages that are not exact to the last digit.
        let looks = [
            (200, rank(&[("MPI_Recv", 0.1)])),
            (300, rank(&[("MPI_Recv", 0.2001)])),
            (480, rank(&[("MPI_Recv", 0.38)])),
        ];
        assert_eq!(meanwhile(&looks), "in MPI_Recv at a.c:7");
        assert_eq!(
            meanwhile(&looks[..2]),
            "computing after MPI_Recv at a.c:7",
            "half of the time is not known"
        );
        assert_eq!(meanwhile(&[]), "computing");
    }

    #[test]
    fn a_call_that_only_one_of_several_threads_waits_in_is_not_what_its_rank_did() {
        let looks = [
            (200, rank(&[("MPI_Recv", 0.1), ("MPI_Send", 0.01)])),
            (480, rank(&[("MPI_Recv", 0.38), ("MPI_Send", 0.01)])),
        ];
        assert_eq!(meanwhile(&looks), "computing");
        assert_eq!(
            meanwhile(&[(480, rank(&[("MPI_Barrier", 0.38)]))]),
            "computing",
            "collectives have records of their own"
        );
    }

    #[test]
    fn a_rank_that_was_in_short_calls_all_the_time_did_not_compute() {
        let now = rank(&[]);
        let meanwhile = |mpi_ms: u64, open: &FoundOpen| {
            let mut inside = Inside::default();
            for (at, mpi) in [(100, 0), (600, mpi_ms * MS)] {
                let at = at * MS;
                inside.read("w", Some(0), Total { at, elapsed: at, mpi, ..Total::default() });
            }
            let calls = Calls::of(&Joined::of(&now), &mut Before::new(), open, &inside);
            calls.meanwhile(0, 0, Span { from: 100 * MS, until: 500 * MS }).0
        };
        let none = FoundOpen::default();
        assert_eq!(meanwhile(490, &none), "in MPI calls");
        assert_eq!(meanwhile(200, &none), "computing");
        // From 130 to 200 ms it is known what it did.
        let mut open = FoundOpen::default();
        for (at_ms, age_s) in [(140, 0.01), (200, 0.07)] {
            open.look(at_ms * MS, &rank(&[("MPI_Recv", age_s)]));
        }
        assert_eq!(meanwhile(490, &open), "in MPI calls after MPI_Recv at a.c:7");
        assert_eq!(meanwhile(290, &open), "computing after MPI_Recv at a.c:7");
    }

    /// An observation of what is new since the previous pass, with this as the last call that has returned.
    fn returned(function: &str, until_ms: u64) -> Vec<Observation> {
        let call = Arc::new(Called { function: function.into(), place: Some("a.c:9".to_owned()) });
        let until_ns = until_ms * MS;
        let mut all = rank(&[]);
        all[0].returned = Some(Waited { from_ns: until_ns - 1, until_ns, call });
        all
    }

    #[test]
    fn the_last_call_before_a_long_wait_is_remembered_for_many_passes() {
        let (mut before, none) = (Before::new(), FoundOpen::default());
        let mut pass =
            |seen: &[Observation]| Calls::of(&Joined::of(seen), &mut before, &none, &Inside::default());
        pass(&returned("MPI_Send", 90));
        (0..1000).for_each(|_| drop(pass(&rank(&[]))));
        let span = Span { from: 100 * MS, until: 500 * MS };
        assert_eq!(pass(&rank(&[])).meanwhile(0, 0, span).0, "computing after MPI_Send at a.c:9");
        (0..1000).for_each(|at| drop(pass(&returned("MPI_Test", 600 + at))));
        assert!(before.values().all(|own| own.len() <= MOST_EARLIER + 1), "bounded");
    }

    #[test]
    fn a_mark_of_an_iteration_is_no_call_that_a_rank_computed_after() {
        let (mut before, none) = (Before::new(), FoundOpen::default());
        let mut pass =
            |seen: &[Observation]| Calls::of(&Joined::of(seen), &mut before, &none, &Inside::default());
        pass(&returned("MPI_Send", 90));
        let calls = pass(&returned(MARK, 110));
        let span = Span { from: 100 * MS, until: 500 * MS };
        assert_eq!(calls.meanwhile(0, 0, span).0, "computing after MPI_Send at a.c:9");
    }

    #[test]
    fn a_rank_that_waited_for_messages_in_every_short_step_did_not_compute() {
        let ranks = |two: [Option<(&str, f64)>; 2]| {
            let one = |(me, call): (u32, Option<(&str, f64)>)| {
                let mut seen = rank(call.as_slice());
                (seen[0].rank, seen[0].size) = (Some(me), Some(2));
                seen
            };
            (0..).zip(two).flat_map(one).collect::<Vec<_>>()
        };
        let mut open = FoundOpen::default();
        open.look(105 * MS, &ranks([None, Some(("MPI_Recv", 0.005))]));
        // In ten steps, rank 0 waits 100 ms in collectives, and rank 1 so long for messages.
        let doing = |messages_ms: [u64; 2]| {
            let mut inside = Inside::default();
            for (at, share) in [(100, 0), (400, 1)] {
                for (me, collectives, messages) in [(0, 100, messages_ms[0]), (1, 0, messages_ms[1])] {
                    let [collectives, messages] = [collectives, messages].map(|ms| share * ms * MS);
                    let mpi = collectives + messages;
                    let total = Total { at: at * MS, elapsed: at * MS, mpi, collectives, messages };
                    inside.read("w", Some(me), total);
                }
            }
            let now = ranks([None, None]);
            let calls = Calls::of(&Joined::of(&now), &mut Before::new(), &open, &inside);
            calls.meanwhile(1, 0, Span { from: 200 * MS, until: 210 * MS }).0
        };
        assert_eq!(doing([0, 100]), "in MPI_Recv at a.c:7");
        assert_eq!(doing([0, 40]), "computing after MPI_Recv at a.c:7", "less than half of it");
        assert_eq!(doing([80, 100]), "computing after MPI_Recv at a.c:7", "both waited for messages");
    }

    #[test]
    fn a_rank_computed_after_the_call_before_the_longest_gap() {
        let own = |calls: &[[u64; 2]]| -> Own {
            let call = |[from, until]: &[u64; 2]| {
                let call = Called { function: format!("MPI_{from}"), place: None };
                (*from, (*until, Arc::new(call)))
            };
            calls.iter().map(call).collect()
        };
        let span = Span { from: 100, until: 500 };
        let after =
            |calls: &[[u64; 2]]| before_longest_gap(&own(calls), span).map(|call| call.function.clone());
        assert_eq!(after(&[[50, 60], [480, 490], [491, 499]]).as_deref(), Some("MPI_50"));
        assert_eq!(after(&[[50, 60], [180, 190], [491, 499]]).as_deref(), Some("MPI_180"));
        assert_eq!(after(&[[50, 110], [120, 130]]).as_deref(), Some("MPI_120"));
        assert_eq!(after(&[[480, 490]]), None, "what came before is not known");
        assert_eq!(after(&[[120, 130]]).as_deref(), Some("MPI_120"));
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn a_call_of_one_of_several_threads_is_shown_as_such() {
        let mut inside = Inside::default();
        for (at, elapsed) in [(100, 200), (600, 1200)] {
            inside.read("w", Some(0), Total { at: at * MS, elapsed: elapsed * MS, ..Total::default() });
        }
        let mut open = FoundOpen::default();
        open.look(480 * MS, &rank(&[("MPI_Recv", 0.38)]));
        let now = rank(&[]);
        let calls = Calls::of(&Joined::of(&now), &mut Before::new(), &open, &inside);
        let span = Span { from: 100 * MS, until: 500 * MS };
        assert_eq!(calls.meanwhile(0, 0, span).0, "in MPI_Recv at a.c:7 with one of its threads");
    }

    #[test]
    fn a_rank_that_waited_in_one_call_after_the_other_did_not_compute() {
        let looks = [
            (200, rank(&[("MPI_Recv", 0.09)])),
            (270, rank(&[("MPI_Recv", 0.16)])),
            (350, rank(&[("MPI_Recv", 0.06)])),
            (450, rank(&[("MPI_Recv", 0.16)])),
        ];
        assert_eq!(meanwhile(&looks), "in MPI calls after MPI_Recv at a.c:7");
        assert_eq!(meanwhile(&looks[2..]), "computing", "mostly before it, after a call that is not known");
    }
}
