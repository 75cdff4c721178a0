//! Detects programs that depend on a freedom the library has: to let a send complete before its receive is
//! posted, or a collective before all members have entered it.
//!
//! A program is correct only if it ends whatever the library does. So the recorded run is replayed, call by
//! call, with a library that buffers nothing: a call that sends returns when the receives matching its
//! messages are posted, one that receives when its messages have been sent, and a collective when all members
//! have entered it. Processes that cannot reach the end this way wait for each other in a ring.
//!
//! Only necessary dependencies count. A call that something else may have released (`MPI_Waitany`,
//! `MPI_Test`) does not wait here; nor does a message to a rank that receives from any source on that
//! communicator, as it could have been received elsewhere; nor a process in which several threads call MPI.
//! Nor does anything wait for what has been dropped from the records.

use super::{Finding, Kind};
use crate::base::waiting_functions::is_collective_that_waits;
use crate::observation::ledger::{Called, Waited};
use crate::observation::{History, Observation};
use crate::questions::why::{Ends, Joined, ProcessIndex, Words};
use mpi_abi::{Class, Completes, FunctionId, Waits};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of links of a ring shown in a sentence.
const MOST_LINKS: usize = 4;

/// Numbers from here on stand for collectives that their members wait for jointly.
const FIRST_MEETING: ProcessIndex = 1 << 31;

/// What a call waits for: that a process reaches a certain moment.
struct Need {
    who: ProcessIndex,
    /// By that process's own clock.
    when_ns: u64,
    what: What,
}

/// What the process does at that moment.
enum What {
    /// Posts, at this line, the receive for what the call sends.
    Receives(Option<String>),
    /// Sends, at this line, what the call receives.
    Sends(Option<String>),
    /// Enters the same collective.
    Enters,
}

/// A call that does not return until its needs are met.
struct Step {
    until_ns: u64,
    call: Arc<Called>,
    needs: Vec<Need>,
}

/// The calls of a process by start time.
type Steps = BTreeMap<u64, Step>;

/// Returns the rings in which ranks would wait for each other.
pub fn rings(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    if observations.iter().all(|seen| seen.ledger.is_none()) {
        return Vec::new();
    }
    let joined = Joined::of(observations);
    let mut all: HashMap<ProcessIndex, Steps> = HashMap::new();
    let single: HashSet<ProcessIndex> =
        joined.processes().filter(|(.., seen)| seen.threads.len() == 1).map(|(me, ..)| me).collect();
    messages(&joined, &mut |me, call, need| add(&mut all, me, call, need));
    entered(&joined, &mut all);
    all.retain(|me, _| *me >= FIRST_MEETING || single.contains(me));
    let all: BTreeMap<ProcessIndex, Vec<Step>> =
        all.into_iter().map(|(me, steps)| (me, steps.into_values().collect())).collect();
    let stands = gone_through(&all);
    let mut told = HashSet::new();
    let rings = stands.keys().filter_map(|first| ring(&all, &stands, *first, &mut told));
    rings.map(|ring| finding(&all, &stands, &ring, words)).collect()
}

fn add(all: &mut HashMap<ProcessIndex, Steps>, me: ProcessIndex, call: &Waited, need: Need) {
    let step = all.entry(me).or_default().entry(call.from_ns);
    let new = || Step { until_ns: call.until_ns, call: Arc::clone(&call.call), needs: Vec::new() };
    step.or_insert_with(new).needs.push(need);
}

/// Whether a call returns only when all its operations are complete.
fn waits_for_all(call: &Called) -> bool {
    let properties = FunctionId::from_name(&call.function).map(FunctionId::properties);
    properties.is_some_and(|p| match p.waits {
        Waits::SEND | Waits::RECEIVE => true,
        Waits::REQUESTS => matches!(p.completes, Completes::ONE | Completes::ALL),
        _ => false,
    })
}

fn messages(joined: &Joined<'_>, add: &mut dyn FnMut(ProcessIndex, &Waited, Need)) {
    let messages = joined.messages();
    // In another run such a receive might take a different message, and so might all receives after it.
    let free = |ends: &&Ends<'_>| ends.received.is(EntryFlag::ANY_SOURCE) || ends.received.probed.is_some();
    let mut unsettled: HashSet<(ProcessIndex, u64)> =
        messages.iter().filter(free).map(|ends| (ends.receiver, ends.received.comm)).collect();
    for (me, .., seen) in joined.processes() {
        let ledger = seen.ledger.as_ref();
        let unknown = ledger.is_none_or(|ledger| ledger.received.wrapped);
        let named = ledger.iter().flat_map(|ledger| &ledger.received.lines);
        unsettled.extend(
            named.filter(|line| unknown || line.is(EntryFlag::ANY_SOURCE)).map(|line| (me, line.comm)),
        );
    }
    let settled = |ends: &&Ends<'_>| !unsettled.contains(&(ends.receiver, ends.received.comm));
    for ends in messages.iter().filter(settled) {
        let (sent, received) = (ends.sent, ends.received);
        if sent.partitioned || received.partitioned {
            continue;
        }
        let certain = |call: &&Waited| waits_for_all(&call.call);
        if let Some(call) = sent.waited.as_ref().filter(certain).filter(|_| !sent.is(EntryFlag::BUFFERED)) {
            let what = What::Receives(received.named.place.clone());
            add(ends.sender, call, Need { who: ends.receiver, when_ns: received.posted_ns, what });
        }
        if let Some(call) = received.waited.as_ref().filter(certain) {
            let what = What::Sends(sent.named.place.clone());
            add(ends.receiver, call, Need { who: ends.sender, when_ns: sent.posted_ns, what });
        }
    }
}

/// A member of a collective: the process, when it entered, and the call in which it waits, if any.
type Member = (ProcessIndex, u64, Option<Waited>);

/// Represents what the members of a collective wait for jointly as an extra process, numbered after the real
/// ones, whose only call returns when all have entered.
fn entered(joined: &Joined<'_>, all: &mut HashMap<ProcessIndex, Steps>) {
    let mut meetings: BTreeMap<(u64, u64), Vec<Member>> = BTreeMap::new();
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for (me, .., seen) in joined.processes() {
        sizes.extend(seen.communicators.iter().filter(|c| c.remote.is_none()).map(|c| (c.identity, c.size)));
        for history in &seen.history {
            for (number, from, waited) in collectives(history) {
                meetings.entry((history.comm, number)).or_default().push((me, from, waited));
            }
        }
    }
    let known = |(comm, _): &(u64, u64), members: &Vec<Member>| {
        sizes.get(comm).is_some_and(|size| *size as usize == members.len())
    };
    meetings.retain(|at, members| known(at, members));
    for (meeting, members) in (FIRST_MEETING..).zip(meetings.into_values()) {
        let mut needs = Vec::new();
        for (me, from, waited) in members {
            needs.push(Need { who: me, when_ns: from, what: What::Enters });
            if let Some(call) = waited {
                add(all, me, &call, Need { who: meeting, when_ns: 0, what: What::Enters });
            }
        }
        all.entry(meeting).or_default().insert(0, Step { until_ns: 0, call: Arc::default(), needs });
    }
}

/// Returns the collectives of a communicator: number, time of entry, and the call that waits for it.
fn collectives(history: &History) -> impl Iterator<Item = (u64, u64, Option<Waited>)> {
    let is_one = |function: &str| {
        let properties = FunctionId::from_name(function).map(FunctionId::properties);
        properties.is_some_and(|p| p.class == Class::COLLECTIVE)
    };
    let both = history.entries.iter().zip(&history.times);
    both.filter(|(_, (from, _))| *from != 0).filter_map(move |((number, kind), (from, until))| {
        let kind =
            history.kinds.get(*kind as usize).filter(|kind| is_one(&kind.function) && kind.starts == 0)?;
        let called = |function: &str, place: &Option<String>| {
            Arc::new(Called { function: function.to_owned(), place: place.clone() })
        };
        let waited = if is_collective_that_waits(&kind.function) {
            let call = called(&kind.function, &kind.place);
            (*until != 0).then_some(Waited { from_ns: *from, until_ns: *until, call })
        } else {
            let done = history.completed.iter().find(|done| done.number == *number);
            done.map(|done| {
                let call = called(&done.function, &done.place);
                Waited { from_ns: done.from_ns, until_ns: done.until_ns, call }
            })
            .filter(|waited| waits_for_all(&waited.call))
        };
        Some((*number, *from, waited))
    })
}

/// Returns the number of calls of a process that return before a moment on its own clock.
fn before(all: &BTreeMap<ProcessIndex, Vec<Step>>, need: &Need) -> usize {
    all.get(&need.who).map_or(0, |steps| steps.partition_point(|step| step.until_ns <= need.when_ns))
}

/// Returns the call in which each process gets stuck; processes that reach the end are omitted.
fn gone_through(all: &BTreeMap<ProcessIndex, Vec<Step>>) -> BTreeMap<ProcessIndex, usize> {
    let mut done: BTreeMap<ProcessIndex, usize> = all.keys().map(|me| (*me, 0)).collect();
    let mut waiting: HashMap<ProcessIndex, Vec<ProcessIndex>> = HashMap::new();
    let mut next: Vec<ProcessIndex> = all.keys().copied().collect();
    while let Some(me) = next.pop() {
        let Some(steps) = all.get(&me) else { continue };
        let start = done.get(&me).copied().unwrap_or(0);
        let mut at = start;
        while let Some(step) = steps.get(at) {
            let reached = |need: &Need| {
                let there =
                    if need.who == me { at } else { done.get(&need.who).copied().unwrap_or(usize::MAX) };
                there >= before(all, need)
            };
            if let Some(need) = step.needs.iter().find(|need| !reached(need)) {
                waiting.entry(need.who).or_default().push(me);
                break;
            }
            at += 1;
        }
        done.insert(me, at);
        if at > start {
            next.extend(waiting.remove(&me).unwrap_or_default());
        }
    }
    done.retain(|me, at| all.get(me).is_some_and(|steps| *at < steps.len()));
    done
}

/// Returns the first unmet need of a stuck process.
fn unmet<'a>(
    all: &'a BTreeMap<ProcessIndex, Vec<Step>>,
    stands: &BTreeMap<ProcessIndex, usize>,
    me: ProcessIndex,
) -> Option<(&'a Step, &'a Need)> {
    let step = all.get(&me)?.get(*stands.get(&me)?)?;
    let met = |need: &&Need| stands.get(&need.who).is_none_or(|at| *at >= before(all, need));
    Some((step, step.needs.iter().find(|need| !met(need))?))
}

/// Returns the ring that a process waits in or for, unless already reported.
fn ring(
    all: &BTreeMap<ProcessIndex, Vec<Step>>,
    stands: &BTreeMap<ProcessIndex, usize>,
    first: ProcessIndex,
    told: &mut HashSet<ProcessIndex>,
) -> Option<Vec<ProcessIndex>> {
    let (mut path, mut me) = (Vec::new(), first);
    while told.insert(me) {
        path.push(me);
        me = unmet(all, stands, me)?.1.who;
    }
    let from = path.iter().position(|one| *one == me)?;
    Some(path.split_off(from))
}

fn finding(
    all: &BTreeMap<ProcessIndex, Vec<Step>>,
    stands: &BTreeMap<ProcessIndex, usize>,
    ring: &[ProcessIndex],
    words: &Words<'_>,
) -> Finding {
    let ring: Vec<ProcessIndex> = ring.iter().copied().filter(|me| *me < FIRST_MEETING).collect();
    let link = |me: &ProcessIndex| {
        let (step, mut need) = unmet(all, stands, *me)?;
        if need.who >= FIRST_MEETING {
            need = unmet(all, stands, need.who)?.1;
        }
        Some((*me, (step, need)))
    };
    let links: Vec<_> = ring.iter().filter_map(link).collect();
    let at = |place: &Option<String>| place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let link = |(me, (step, need)): &(ProcessIndex, (&Step, &Need))| {
        let other = words.rank(need.who);
        let what = match &need.what {
            What::Receives(place) => format!("rank {other} receives{}", at(place)),
            What::Sends(place) => format!("rank {other} sends{}", at(place)),
            What::Enters => format!("rank {other} enters it"),
        };
        format!(
            "rank {} would wait in {}{} until {what}",
            words.rank(*me),
            step.call.function,
            at(&step.call.place)
        )
    };
    let mut said: Vec<String> = links.iter().take(MOST_LINKS).map(link).collect();
    let more = links.len().saturating_sub(MOST_LINKS);
    said.extend((more > 0).then(|| format!("and so on for {more} more")));
    let collectives = links.iter().any(|(_, (_, need))| matches!(need.what, What::Enters));
    let sends = links.iter().any(|(_, (_, need))| matches!(need.what, What::Receives(_)));
    let why = match (sends, collectives) {
        (true, false) => "the library buffered messages",
        (false, _) => "the library did not wait for all members in a collective",
        (true, true) => "the library buffered messages, or did not wait for all members in a collective",
    };
    let line = links.iter().find(|(_, (_, need))| matches!(need.what, What::Receives(_))).or(links.first());
    Finding {
        kind: Kind::RELIES_ON_BUFFERING,
        ranks: words.members(ring.iter().copied()),
        line: line.and_then(|(_, (step, _))| step.call.place.clone()),
        sentence: format!("no deadlock only because {why}: {}", said.join("; ")),
    }
}
