//! The contents of an archive.

use super::super::{Call, JobTrace, Message};
use super::comms::{Communicator, Communicators};
use super::functions::{self, Operation, Role};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An event in a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Event {
    /// With the string of the call's place.
    Enter {
        region: u32,
        place: Option<u32>,
    },
    Leave {
        region: u32,
    },
    /// With the request, if another call completes it.
    Send {
        to: u32,
        comm: u32,
        tag: u32,
        bytes: u64,
        request: Option<u64>,
    },
    SendDone {
        request: u64,
    },
    ReceivePosted {
        request: u64,
    },
    Receive {
        from: u32,
        comm: u32,
        tag: u32,
        bytes: u64,
        request: Option<u64>,
    },
    CollectiveBegin,
    CollectiveEnd {
        operation: Operation,
        comm: u32,
        root: u32,
        sent: u64,
        received: u64,
    },
}

/// A thread.
#[derive(Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Location {
    pub id: u64,
    /// Index of its rank.
    pub rank: usize,
    pub name: u32,
    /// By time in nanoseconds.
    pub events: Vec<(u64, Event)>,
}

/// A rank.
#[derive(Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Group {
    pub name: u32,
    /// Index of its host.
    pub host: usize,
}

/// All definitions and events.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Plan {
    /// Strings by number; the first is empty.
    pub strings: Vec<Arc<str>>,
    /// Name and role of each region.
    pub regions: Vec<(u32, Role)>,
    /// Names of the hosts.
    pub hosts: Vec<u32>,
    pub groups: Vec<Group>,
    pub locations: Vec<Location>,
    /// Communicators with their names.
    pub comms: Vec<(u32, Communicator)>,
    pub until_ns: u64,
}

/// Events that messages add to a call.
#[derive(Default)]
struct AtCall {
    begin: Vec<Event>,
    end: Vec<Event>,
}

/// Assigns numbers to strings and regions.
#[derive(Default)]
struct Numbers {
    strings: HashMap<Arc<str>, u32>,
    list: Vec<Arc<str>>,
    regions: HashMap<Arc<str>, u32>,
    by_number: Vec<(u32, Role)>,
}

impl Numbers {
    fn string(&mut self, text: &str) -> u32 {
        if let Some(number) = self.strings.get(text) {
            return *number;
        }
        // The library takes null-terminated strings.
        let (text, number): (Arc<str>, _) = (text.replace('\0', " ").into(), self.list.len() as u32);
        self.strings.insert(Arc::clone(&text), number);
        self.list.push(text);
        number
    }

    fn region(&mut self, function: &Arc<str>) -> u32 {
        if let Some(number) = self.regions.get(function) {
            return *number;
        }
        let (name, number) = (self.string(function), self.by_number.len() as u32);
        self.regions.insert(Arc::clone(function), number);
        self.by_number.push((name, functions::role(function)));
        number
    }
}

/// Rank, thread and call.
type Where = (usize, usize, usize);
/// Rank and time of an event that belongs to no call.
type Loose = (usize, u64, Event);

impl Plan {
    /// Plans the archive of a trace.
    pub fn of(trace: &JobTrace) -> Self {
        let mut numbers = Numbers::default();
        numbers.string("");
        let mut comms = Communicators::of(trace);
        let (mut calls, loose) = messages(trace, &mut comms);
        let (mut plan, mut hosts) = (Self::default(), BTreeMap::new());
        for (at, rank) in trace.ranks.iter().enumerate() {
            let host = *hosts.entry(rank.host.as_str()).or_insert_with(|| {
                plan.hosts.push(numbers.string(&rank.host));
                plan.hosts.len() - 1
            });
            plan.groups.push(Group { name: numbers.string(&rank_name(rank.world, rank.rank)), host });
            // A rank that has called nothing is still a member of communicators.
            for number in 0..rank.threads.len().max(1) {
                let thread = rank.threads.get(number);
                let name = thread.map_or(0, |thread| thread.thread);
                let name = numbers.string(&format!("Thread {name}"));
                let mut events = Vec::new();
                for (place, call) in thread.into_iter().flat_map(|thread| thread.calls.iter().enumerate()) {
                    let own = calls.remove(&(at, number, place)).unwrap_or_default();
                    events.push((call, own));
                }
                let mut events = nested(events, at, &mut numbers, &mut comms);
                if number == 0 {
                    let here = loose.iter().filter(|(rank, ..)| *rank == at);
                    events.extend(here.map(|(_, ns, event)| (*ns, *event)));
                    events.sort_by_key(|(ns, _)| *ns);
                }
                let last = events.last().map_or(0, |(ns, _)| *ns);
                plan.until_ns = plan.until_ns.max(last);
                let id = at as u64 | (number as u64) << 32;
                plan.locations.push(Location { id, rank: at, name, events });
            }
        }
        plan.comms = comms.list.into_iter().map(|comm| (numbers.string(&comm.name), comm)).collect();
        (plan.strings, plan.regions) = (numbers.list, numbers.by_number);
        plan
    }

    /// Returns the number of a string that is not in the trace.
    pub fn add(&mut self, text: &str) -> u32 {
        self.strings.push(text.into());
        self.strings.len() as u32 - 1
    }
}

fn rank_name(world: usize, rank: Option<u32>) -> String {
    let rank = rank.map_or_else(|| "unknown".to_owned(), |rank| rank.to_string());
    if world == 0 { format!("Rank {rank}") } else { format!("World {world}, rank {rank}") }
}

/// Returns the events that messages add to the calls that sent and received them, and those of messages whose
/// calls are no longer recorded, with their ranks and times.
fn messages(trace: &JobTrace, comms: &mut Communicators<'_>) -> (BTreeMap<Where, AtCall>, Vec<Loose>) {
    let (mut calls, mut loose) = (BTreeMap::<Where, AtCall>::new(), Vec::new());
    for (number, message) in (1u64..).zip(&trace.messages) {
        let Message { sent, received, posted, done, tag, bytes, .. } = message;
        // Readers pair the first receive with the first send, and so on: one without its send would shift all later
        // ones.
        let Some(sent_ns) = message.sent_ns else { continue };
        let comm = comms.number(message.comm, &message.object);
        let (from, to) = (comms.member(comm, sent.rank), comms.member(comm, received.rank));
        let (tag, bytes) = (tag.cast_unsigned(), *bytes);
        // One request for each end: both may lie in one location, of a rank that sends to itself.
        let other = |one: Option<(usize, usize)>, two: Option<(usize, usize)>| {
            one.is_some() && two.is_some() && one != two
        };
        let of_send = other(sent.call, *done).then_some(2 * number);
        let of_receive = other(*posted, received.call).then_some(2 * number - 1);
        let send = Event::Send { to, comm, tag, bytes, request: of_send };
        match sent.call {
            Some((thread, call)) => {
                calls.entry((sent.rank, thread, call)).or_default().begin.push(send);
            }
            None => loose.push((sent.rank, sent_ns, send)),
        }
        if let (Some(request), Some((thread, call))) = (of_send, *done) {
            calls.entry((sent.rank, thread, call)).or_default().end.push(Event::SendDone { request });
        }
        if let (Some(request), Some((thread, call))) = (of_receive, *posted) {
            let posted = Event::ReceivePosted { request };
            calls.entry((received.rank, thread, call)).or_default().begin.push(posted);
        }
        let receive = Event::Receive { from, comm, tag, bytes, request: of_receive };
        match (received.call, message.received_ns) {
            (Some((thread, call)), _) => {
                calls.entry((received.rank, thread, call)).or_default().end.push(receive);
            }
            (None, Some(ns)) => loose.push((received.rank, ns, receive)),
            // The receiver does not know of it yet.
            (None, None) => {}
        }
    }
    (calls, loose)
}

/// Returns the events of a thread. A call nested in another one ends with it at the latest.
fn nested(
    calls: Vec<(&Call, AtCall)>,
    rank: usize,
    numbers: &mut Numbers,
    comms: &mut Communicators<'_>,
) -> Vec<(u64, Event)> {
    let mut events = Vec::with_capacity(calls.len() * 2);
    let mut open: Vec<(u64, Vec<Event>)> = Vec::new();
    let close = |events: &mut Vec<_>, (until, ends): (u64, Vec<Event>)| {
        events.extend(ends.into_iter().map(|event| (until, event)));
    };
    for (call, own) in calls {
        while let Some(over) = open.pop_if(|(until, _)| *until <= call.begin_ns) {
            close(&mut events, over);
        }
        let until = open.last().map_or(call.end_ns, |(outer, _)| call.end_ns.min(*outer));
        let region = numbers.region(&call.function);
        let place = call.place.as_deref().map(|place| numbers.string(place));
        let mut ends = own.end;
        events.push((call.begin_ns, Event::Enter { region, place }));
        if let Some(end) = collective(call, rank, comms) {
            events.push((call.begin_ns, Event::CollectiveBegin));
            ends.push(end);
        }
        events.extend(own.begin.into_iter().map(|event| (call.begin_ns, event)));
        ends.push(Event::Leave { region });
        open.push((until, ends));
    }
    while let Some(over) = open.pop() {
        close(&mut events, over);
    }
    events
}

/// Returns the end event of a collective.
fn collective(call: &Call, rank: usize, comms: &mut Communicators<'_>) -> Option<Event> {
    let operation = functions::operation(&call.function)?;
    let comm = comms.number(call.identity, call.object.as_deref().unwrap_or_default());
    let own = comms.member(comm, rank);
    let root = call.peer.and_then(|peer| comms.ranked(comm, peer));
    // With other collectives the direction depends on the library's algorithm.
    let receives = match (functions::role(&call.function), root) {
        (Role::ONE_TO_ALL, Some(root)) => own != root,
        (Role::ALL_TO_ONE, Some(root)) => own == root,
        _ => false,
    };
    let (sent, received) = if receives { (0, call.bytes) } else { (call.bytes, 0) };
    Some(Event::CollectiveEnd { operation, comm, root: root.unwrap_or(u32::MAX), sent, received })
}
