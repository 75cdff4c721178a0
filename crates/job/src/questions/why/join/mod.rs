//! Joins observations of single processes into one snapshot of the job.
//!
//! Ranks of communicators become processes: a communicator is shared by all observations with its identity,
//! and its members are ranks of the observer's world. The remote group of an intercommunicator between worlds
//! is the local group of the processes that observe it from the other side. Unobserved ranks of a world are
//! present as [`Condition::Unseen`], so that nothing is concluded without them.

mod arrived;
mod buffered;
mod communicators;
pub mod compared;
mod creations;
mod epochs;
mod failed;
mod hosts;
mod joined;
mod locks;
mod meetings;
mod messaging;
mod neighbors;
mod other_sides;
mod parties;
mod partitions;
mod remembered;
pub(super) mod settled;
mod shifted;
mod texts;
mod under_way;
mod unequal;
mod unreceived;

pub use arrived::{Arrivals, Arrived, arrived};
pub use hosts::Hosts;
pub use joined::Joined;
pub use unreceived::Unexpected;

use super::Kind;
use super::collectives::numbered;
use super::snapshot::{
    Call, Collective, Condition, Idle, Match, Message, Need, NotStarted, Peer, Process, ProcessIndex,
    Receive, Signature, Snapshot, Thread, Wait,
};
use crate::jobs::losses;
use crate::jobs::worlds::Worlds;
use crate::observation::{self, Action, Observation, Stage};
use communicators::Communicators;
use parties::Parties;
use remembered::{Awaited, awaited};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use texts::Texts;

/// Maximum plausible number of ranks in one world.
const MOST_RANKS: u32 = 1 << 24;
/// Maximum number of unobserved ranks across all worlds: images may claim any number, and a process not
/// listed counts as one that may act.
const MOST_UNSEEN: usize = 1 << 20;

/// The worlds, and the indexes of their processes.
#[derive(Debug)]
struct Places {
    worlds: Worlds,
    /// By world and rank.
    index: HashMap<(usize, u32), ProcessIndex>,
}

impl Places {
    fn of(observations: &[Observation]) -> Self {
        Self { worlds: worlds(observations), index: HashMap::new() }
    }

    fn process(&self, world: usize, rank: u32) -> Option<ProcessIndex> {
        self.index.get(&(world, rank)).copied()
    }
}

/// Returns the worlds of observed processes, numbered as in every view.
pub fn worlds(observations: &[Observation]) -> Worlds {
    Worlds::in_order(observations.iter().map(|seen| (&*seen.world, seen.rank.is_none(), seen.begin_ns)))
}

/// A process: world, rank, and its observation.
type Slot<'a> = (usize, u32, Option<&'a Observation>);

/// Builds a snapshot of a job; `unseen_because` explains why ranks may not have been observed. Two
/// observations of the same processes yield snapshots in the same order.
#[must_use]
pub fn snapshot(observations: &[Observation], unseen_because: &str) -> Snapshot {
    made(observations, unseen_because, &awaited(observations))
}

/// The same with all remembered collectives, whether or not a process waits in them.
#[must_use]
pub fn whole(observations: &[Observation], unseen_because: &str) -> Snapshot {
    let mut all = Awaited::new();
    for history in observations.iter().flat_map(|seen| &seen.history) {
        all.entry(history.comm).or_default().extend(history.iter().map(|(number, _)| number));
    }
    made(observations, unseen_because, &all)
}

fn made(observations: &[Observation], unseen_because: &str, awaited: &Awaited) -> Snapshot {
    let (slots, communicators) = all_ranks(observations);
    let parties = Parties::of(&slots);
    let texts = Texts::default();
    let joiner = |(me, slot)| Joiner {
        communicators: &communicators,
        parties: &parties,
        texts: &texts,
        unseen_because,
        awaited,
        slots: &slots,
        me,
        slot,
        got: OnceCell::new(),
    };
    let mut processes: Vec<Process> = (0..).zip(&slots).map(|at| joiner(at).process()).collect();
    unreceived::add(&slots, &communicators, &mut processes);
    buffered::wait(&slots, &communicators, &mut processes);
    let one_sided = neighbors::one_sided(&slots, &communicators);
    let creations = creations::unequal(&slots, &communicators);
    let unequal = unequal::unequal(&slots, &communicators);
    let partitioned = under_way::partitioned(&slots, &communicators);
    let shifted = shifted::shifted(&slots, &communicators, &texts, awaited);
    let losses =
        slots.iter().filter_map(|(world, rank, seen)| Some(((*world, Some(*rank)), &(*seen)?.losses)));
    let losses = losses::joined(losses);
    let (communicators, parties) = (communicators.list, parties.list());
    let singletons = singletons(observations);
    let mut snapshot = Snapshot {
        processes,
        communicators,
        parties,
        one_sided,
        creations,
        unequal,
        partitioned,
        shifted,
        singletons,
        losses,
    };
    settled::set_apart(&mut snapshot);
    snapshot
}

/// Whether a launcher started the processes as the ranks of one job but each is alone in its world: the
/// launcher belongs to another library.
fn singletons(observations: &[Observation]) -> bool {
    let alone = |seen: &Observation| {
        seen.size == Some(1) && seen.communicators.iter().all(|comm| comm.remote.is_none())
    };
    let ranks: BTreeSet<u32> = observations.iter().filter_map(|seen| seen.launcher_rank).collect();
    ranks.len() > 1 && observations.iter().all(alone)
}

/// Counts the messages without a receive on each communicator of each process, as `MPI_T_UMQ_LENGTH` does
/// inside the process.
#[must_use]
pub fn unexpected(observations: &[Observation]) -> Vec<Unexpected> {
    let (slots, communicators) = all_ranks(observations);
    unreceived::unexpected(&slots, &communicators)
}

/// Returns the processes in order, including unobserved ones, and the communicators they share.
fn all_ranks(observations: &[Observation]) -> (Vec<Slot<'_>>, Communicators) {
    side_by_side(observations, MOST_UNSEEN)
}

/// The same with at most this many unobserved processes.
fn side_by_side(observations: &[Observation], most_unseen: usize) -> (Vec<Slot<'_>>, Communicators) {
    let mut places = Places::of(observations);
    let mut slots: Vec<Slot<'_>> = Vec::new();
    for observation in observations {
        let world = places.worlds.number(&observation.world);
        // Processes that do not know their rank yet come last.
        let rank = observation.rank.unwrap_or(u32::MAX);
        slots.push((world, rank, Some(observation)));
    }
    unseen(observations, &places.worlds, &mut slots, most_unseen);
    slots.sort_by_key(|(world, rank, seen)| (*world, *rank, seen.map(|o| o.pid)));
    for (index, (world, rank, _)) in (0..).zip(&slots) {
        places.index.entry((*world, *rank)).or_insert(index);
    }
    let communicators = Communicators::join(&slots, &places);
    (slots, communicators)
}

/// Adds the unobserved ranks of every world.
fn unseen<'a>(observations: &'a [Observation], worlds: &Worlds, slots: &mut Vec<Slot<'a>>, mut left: usize) {
    if left == 0 {
        return;
    }
    let mut found: HashMap<usize, (u32, Vec<bool>)> = HashMap::new();
    for observation in observations {
        let world = worlds.number(&observation.world);
        let (size, seen) = found.entry(world).or_default();
        *size = (*size).max(observation.size.unwrap_or(0).min(MOST_RANKS));
        if let Some(rank) = observation.rank.filter(|rank| *rank < MOST_RANKS) {
            let rank = rank as usize;
            seen.resize(seen.len().max(rank + 1), false);
            seen.iter_mut().skip(rank).take(1).for_each(|seen| *seen = true);
        }
    }
    for (world, (size, seen)) in found {
        let known = |rank: &u32| seen.get(*rank as usize).copied().unwrap_or(false);
        // Processes that exist but do not know their rank yet are some of them.
        let nameless = observations.iter().filter(|o| o.rank.is_none() && worlds.number(&o.world) == world);
        let missing = (0..size).filter(|rank| !known(rank)).skip(nameless.count());
        let missing: Vec<u32> = missing.take(left).collect();
        left -= missing.len();
        slots.extend(missing.into_iter().map(|rank| (world, rank, None)));
    }
}

/// Builds one process.
struct Joiner<'a> {
    communicators: &'a Communicators,
    parties: &'a Parties,
    texts: &'a Texts,
    unseen_because: &'a str,
    awaited: &'a Awaited,
    slots: &'a [Slot<'a>],
    me: ProcessIndex,
    slot: &'a Slot<'a>,
    /// Where it last received a message, by communicator, rank and tag.
    got: OnceCell<HashMap<(u64, u32, i32), &'a str>>,
}

fn received_at(seen: &Observation) -> HashMap<(u64, u32, i32), &str> {
    let known = seen.received.iter().filter_map(|message| Some((message, message.place.as_deref()?)));
    known.map(|(message, place)| ((message.comm, message.peer, message.tag), place)).collect()
}

impl<'a> Joiner<'a> {
    fn process(&self) -> Process {
        let (world, rank, observation) = *self.slot;
        let Some(seen) = observation else {
            return Process {
                world,
                rank,
                size: 0,
                host: "".into(),
                pid: 0,
                condition: Condition::Unseen(self.unseen_because.into()),
                bad_end: None,
                threads: Vec::new(),
                entered: Vec::new(),
                freed: Vec::new(),
                collectives: Vec::new(),
                sent: Vec::new(),
                posted: Vec::new(),
                not_started: None,
                cancelled_receives: 0,
                messaging: None,
                failed: Vec::new(),
                lost: false,
            };
        };
        let comm = |identity: u64| self.communicators.index(identity);
        let entered = seen.communicators.iter().filter_map(|c| Some((comm(c.identity)?, c.collectives)));
        let mut entered = compact(entered);
        entered.sort_unstable();
        let (freed, kept): (Vec<_>, Vec<_>) = seen.communicators.iter().partition(|c| c.freed);
        let kept: HashSet<_> = kept.into_iter().map(|c| c.identity).collect();
        let freed = freed.into_iter().map(|c| c.identity).filter(|identity| !kept.contains(identity));
        Process {
            world,
            rank,
            size: seen.size.unwrap_or(0),
            host: self.texts.of(&seen.host),
            pid: seen.pid,
            condition: condition(seen),
            bad_end: seen.bad_end,
            threads: compact(seen.threads.iter().map(|thread| self.thread(seen, thread))),
            entered,
            freed: freed.filter_map(comm).collect(),
            collectives: self.collectives(seen),
            sent: Vec::new(),
            posted: self.posted(seen),
            not_started: self.not_started(seen),
            cancelled_receives: seen.cancelled_receives,
            messaging: messaging::of(self, seen),
            failed: failed::of(seen),
            lost: false,
        }
    }

    /// Everything that takes messages out of the unexpected queue, in that order.
    fn posted(&self, seen: &Observation) -> Vec<Receive> {
        let posted = seen.posted.iter().map(|receive| (receive.order, false, receive));
        let matched = seen.matched.iter().map(|receive| (receive.order, true, receive));
        let mut all: Vec<_> = posted.chain(matched).collect();
        all.sort_by_key(|(order, ..)| *order);
        let joined = |(_, matched, receive)| Some(Receive { matched, ..self.receive(seen, receive)? });
        compact(all.into_iter().filter_map(joined))
    }

    fn not_started(&self, seen: &Observation) -> Option<Box<NotStarted>> {
        let observation::NotStarted { sends, receives } = seen.not_started.as_deref()?;
        Some(Box::new(NotStarted {
            sends: sends.iter().filter_map(|message| self.message(seen, message)).collect(),
            receives: receives.iter().filter_map(|receive| self.receive(seen, receive)).collect(),
        }))
    }

    fn thread(&self, seen: &Observation, thread: &observation::Thread) -> Thread {
        Thread {
            calls: thread.calls,
            polls: thread.polls,
            steps: thread.steps,
            call: thread.call.as_ref().map(|call| self.call(seen, call)),
            idle: Idle {
                after: self.texts.of(&thread.after),
                doing: self.texts.of(&thread.doing),
                at: self.texts.known(&thread.at),
            },
            ended: thread.ended,
        }
    }

    fn call(&self, seen: &Observation, call: &observation::Call) -> Call {
        let needs = compact(call.needs.iter().flat_map(|need| self.needs(seen, call, need)));
        let wait = match (needs.is_empty(), call.any) {
            (true, _) => Wait::Nothing,
            (false, true) => Wait::Any(needs),
            (false, false) => Wait::All(needs),
        };
        Call {
            function: self.texts.of(&call.function),
            place: self.texts.known(&call.place),
            age_s: call.age_s,
            wait,
            met: Vec::new(),
            polling: call.polling,
            polled_before_s: call.polled_before_s,
            for_buffered: false,
        }
    }

    fn needs(&self, seen: &Observation, call: &observation::Call, need: &observation::Need) -> Vec<Need> {
        let found = match need {
            observation::Need::Epoch { window, access, name } => {
                return self.epoch(seen, call, (*window, *access), name);
            }
            observation::Need::Message(receive) => self.awaited(seen, call, receive).map(Need::Message),
            observation::Need::Receiver(message) => self.message(seen, message).map(Need::Receiver),
            observation::Need::Collective(collective) => {
                self.collective(collective).map(|collective| Need::Collective(Box::new(collective)))
            }
            observation::Need::Action { comm, rank, what, kind } => {
                let by = u32::try_from(*rank).ok().and_then(|rank| self.partner(seen, *comm, rank));
                by.map(|by| self.action(vec![by], what, verdict(*kind)))
            }
            observation::Need::Partitioned { comm, peer, tag, sends, made, starts } => {
                let (comm, peer, tag) = (*comm, *peer, *tag);
                let side = partitions::Side { comm, peer, tag, sends: *sends, made: *made, starts: *starts };
                self.partitioned(seen, &side)
            }
            observation::Need::Match { function, comm, tag, with, kind } => {
                return self.matched(function, (*comm, *tag), with, *kind).into_iter().collect();
            }
            observation::Need::Neighbors { collective, of } => Some(self.neighbors(seen, collective, of)),
            // Its messages are not known yet; see [`buffered`].
            observation::Need::Buffered { .. } => Some(Need::Outside {
                what: "its buffered messages to be received".into(),
                kind: Kind::RUNNING,
            }),
            observation::Need::Start => return self.start().into_iter().collect(),
            observation::Need::Lock { window, target, name, asks } => {
                Some(self.lock(seen, (*window, *target), name, *asks))
            }
            observation::Need::Own { what, kind } => Some(self.action(vec![self.me], what, verdict(*kind))),
            observation::Need::Outside { what, kind } => Some(meetings::outside(call, what, *kind)),
        };
        // A process outside what was observed may always act.
        vec![
            found.unwrap_or_else(|| Need::Outside { what: "an unknown process".into(), kind: Kind::RUNNING }),
        ]
    }

    /// One of these processes must act.
    fn action(&self, by: Vec<ProcessIndex>, what: &str, kind: Kind) -> Need {
        Need::Action { by: self.parties.index(by), every: false, what: what.into(), kind }
    }

    /// The neighbors whose data a process receives must enter a collective of its topology, unless they have.
    fn neighbors(&self, seen: &Observation, collective: &observation::Collective, of: &[u32]) -> Need {
        let (comm, number) = (collective.comm, collective.number);
        let entered = |index: &ProcessIndex| {
            let seen = self.slots.get(*index as usize).and_then(|(_, _, seen)| *seen);
            let there = seen.and_then(|seen| seen.communicators.iter().find(|there| there.identity == comm));
            there.is_some_and(|there| there.collectives >= number)
        };
        let sources = of.iter().filter_map(|rank| self.partner(seen, comm, *rank));
        let mut absent: Vec<ProcessIndex> = sources.filter(|index| !entered(index)).collect();
        absent.sort_unstable();
        absent.dedup();
        let index = self.communicators.index(comm).and_then(|at| self.communicators.list.get(at as usize));
        let on = index.map_or("a communicator", |comm| &comm.name);
        if absent.is_empty() {
            return Need::Outside { what: format!("neighbors on {on}").into(), kind: Kind::RUNNING };
        }
        let what = format!("enter {} (collective {number} on {on})", collective.function).into();
        Need::Action { by: self.parties.index(absent), every: true, what, kind: Kind::COLLECTIVE_NOT_ENTERED }
    }

    fn partner(&self, seen: &Observation, comm: u64, rank: u32) -> Option<ProcessIndex> {
        self.communicators.partner(self.me, seen, comm, rank)
    }

    fn receive(&self, seen: &Observation, receive: &observation::Receive) -> Option<Receive> {
        let from = match receive.from {
            None => Peer::Any,
            Some(rank) => Peer::One(self.partner(seen, receive.comm, rank)?),
        };
        let comm = self.communicators.index(receive.comm)?;
        let place = self.texts.known(&receive.place);
        Some(Receive {
            matches: Match { from, comm, tag: receive.tag, partitioned: false },
            room: receive.room,
            element: receive.element,
            place,
            got: None,
            overwritten: self.texts.known(&receive.overwritten),
            matched: false,
            took: None,
            order: receive.order,
        })
    }

    /// A receive that a call waits for; takes earlier messages into account.
    fn awaited(
        &self,
        seen: &Observation,
        call: &observation::Call,
        receive: &observation::Receive,
    ) -> Option<Receive> {
        let joined = self.receive(seen, receive)?;
        let Some((from, tag)) = receive.from.zip(receive.tag) else { return Some(joined) };
        let got = self.got.get_or_init(|| self.slot.2.map_or_else(HashMap::new, received_at));
        let got = got.get(&(receive.comm, from, tag));
        // A blocking receive is at the line of its call.
        let here = receive.place.as_deref().or(call.place.as_deref());
        let elsewhere = got.filter(|place| Some(**place) != here);
        Some(Receive { got: elsewhere.map(|place| (*place).into()), ..joined })
    }

    fn message(&self, seen: &Observation, message: &observation::Message) -> Option<Message> {
        Some(Message {
            to: self.partner(seen, message.comm, message.peer)?,
            comm: self.communicators.index(message.comm)?,
            tag: message.tag,
            bytes: message.bytes,
            place: self.texts.known(&message.place),
            partitioned: false,
        })
    }

    fn collective(&self, collective: &observation::Collective) -> Option<Collective> {
        let signature = Signature {
            function: self.texts.of(&collective.function),
            root: collective.root,
            between: collective.between,
            op: self.texts.known(&collective.op),
            bytes: collective.bytes,
            types: collective.types,
            argument: collective.argument,
        };
        let comm = self.communicators.index(collective.comm)?;
        let (data, place) = (self.texts.known(&collective.data), self.texts.known(&collective.place));
        let number = numbered(collective.number, collective.starts);
        let (totals, elements) = (collective.totals, collective.elements);
        Some(Collective { comm, number, signature, totals, elements, data, place })
    }

    /// What the process passed to collectives that a process waits in, whether entered long ago or active.
    fn collectives(&self, seen: &Observation) -> Vec<Collective> {
        let of_comm = |history: &observation::History| {
            let numbers = self.awaited.get(&history.comm).into_iter().flatten();
            let found = numbers.filter_map(|number| Some((*number, history.get(*number)?)));
            let made = found.filter_map(|(number, kind)| {
                Some(Collective { number: numbered(number, kind.starts), ..self.collective(kind)? })
            });
            made.collect::<Vec<_>>()
        };
        let entered = seen.history.iter().flat_map(of_comm);
        compact(entered.chain(seen.collectives.iter().filter_map(|c| self.collective(c))))
    }
}

/// Collects without room for more: every process has such lists, mostly of a single element, and a list that
/// grows has room for four.
fn compact<T>(elements: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = elements.collect();
    all.shrink_to_fit();
    all
}

fn condition(seen: &Observation) -> Condition {
    match (&seen.ended, seen.stage) {
        (_, Stage::Finalized) => Condition::Finalized,
        (Some(how), _) => Condition::Ended(how.as_str().into()),
        (None, Stage::Silent | Stage::Starting) => Condition::Starting,
        (None, Stage::Running) => Condition::Running,
    }
}

fn verdict(action: Action) -> Kind {
    match action {
        Action::Rma => Kind::RMA,
        Action::Partition => Kind::PARTITION_NOT_READY,
        Action::Request => Kind::REQUEST_NOT_COMPLETED,
        Action::Partner | Action::Start => Kind::NO_PARTNER,
        Action::Member => Kind::COLLECTIVE_NOT_ENTERED,
        Action::File => Kind::FILE,
        Action::Unknown => Kind::RUNNING,
    }
}
