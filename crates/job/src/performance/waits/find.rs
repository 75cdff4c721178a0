//! Finding waits: the calls of each process that can wait, and what each of them waited for.

use super::merge::UNNAMED;
use super::{Kind, Span, Wait, is_collective_that_waits};
use crate::observation::history::Completed;
use crate::observation::ledger::{Called, Line, Waited};
use crate::observation::{Collective, Observation};
use crate::questions::why::{Ends, Joined, ProcessIndex};
use mpi_abi::{FunctionId, Partners};
use mpiscope_image::history::RING;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Calls of one process, by when they began, with when they returned.
type Own = BTreeMap<u64, (u64, Arc<Called>)>;

/// The calls of all processes that can wait and are known with their times.
#[derive(Default)]
pub struct Calls {
    all: HashMap<ProcessIndex, Own>,
}

/// Those of the look before, by world and rank: what a rank did meanwhile may have been overwritten since.
pub type Before = HashMap<(String, Option<u32>), Own>;

impl Calls {
    /// Of messages and collectives.
    pub fn of(joined: &Joined<'_>, before: &mut Before) -> Self {
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
            let epochs = seen.locks.iter().flat_map(|locks| &locks.list);
            for call in epochs.flat_map(|epoch| [Some(&epoch.asked), epoch.released.as_ref()]).flatten() {
                own.insert(call.from_ns, (call.until_ns, Arc::clone(&call.call)));
            }
            let name = (seen.world.clone(), rank);
            let mut all = before.remove(&name).unwrap_or_default();
            now.insert(name, own.clone());
            all.extend(own);
            calls.all.insert(me, all);
        }
        *before = now;
        calls
    }

    /// What a process did meanwhile: the call that it was in for more than half of the time, else what it had called last; and
    /// what it had called last in any case.
    pub fn meanwhile(&self, who: ProcessIndex, span: Span) -> (String, String) {
        let Some(own) = self.all.get(&who) else { return ("not seen".to_owned(), "not seen".to_owned()) };
        let working = match own.range(..span.until).next_back() {
            Some((_, (_, call))) => format!("{UNNAMED} after {}", named(call)),
            None => UNNAMED.to_owned(),
        };
        let before = own.range(..span.until).rev();
        let inside = before.clone().take_while(|(_, (until, _))| *until > span.from);
        let longest = inside
            .map(|(from, (until, call))| (Span { from: *from, until: *until }.and(span).ns(), call))
            .max_by_key(|(ns, _)| *ns);
        if let Some((ns, call)) = longest
            && ns.saturating_mul(2) > span.ns()
        {
            return (format!("in {}", named(call)), working);
        }
        (working.clone(), working)
    }
}

fn named(call: &Called) -> String {
    match &call.place {
        Some(place) => format!("{} at {place}", call.function),
        None => call.function.clone(),
    }
}

/// A collective that a process entered.
struct Taken {
    call: Arc<Called>,
    /// Its end is zero if it was not left, or only started the operation.
    span: Span,
    root: Option<u32>,
    /// The call that completed what this one started.
    completed: Option<(Span, Arc<Called>)>,
    /// It only starts the operation, and nobody will say any more when that was complete.
    given_up: bool,
}

impl Taken {
    /// The call only starts the operation.
    fn starts(&self) -> bool {
        !is_collective_that_waits(&self.call.function)
    }

    /// The call frees the communicator, with its history.
    fn frees(&self) -> bool {
        matches!(self.call.function.as_str(), "MPI_Comm_free" | "MPI_Comm_disconnect")
    }

    /// The call in which the process waited for the others.
    fn waits_in(&self) -> Option<(Span, &Arc<Called>)> {
        if self.starts() {
            return self.completed.as_ref().map(|(span, call)| (*span, call));
        }
        (self.span.until != 0).then_some((self.span, &self.call))
    }

    /// The process is through with it.
    fn is_over(&self) -> bool {
        self.waits_in().is_some() || self.given_up && (self.starts() || self.frees())
    }
}

/// So many collectives later the ring will soon forget one that is not complete: it was freed, or is persistent, or belongs to a
/// communicator that is freed.
const GIVEN_UP: u64 = RING as u64 - 8;

/// The collectives of a process that are known with their times, by communicator and number. At the `last` look nothing is waited for.
fn entered(seen: &Observation, last: bool) -> impl Iterator<Item = ((u64, u64), Taken)> {
    seen.history.iter().flat_map(move |history| {
        let called = |kind: &Collective| {
            Arc::new(Called { function: kind.function.clone(), place: kind.place.clone() })
        };
        // Many are alike: what they are called stands once.
        let calls: Vec<Arc<Called>> = history.kinds.iter().map(called).collect();
        let completed: HashMap<u64, &Completed> =
            history.completed.iter().map(|completed| (completed.number, completed)).collect();
        let known = history.times.len() == history.entries.len();
        let both = history.entries.iter().zip(&history.times).take(if known { usize::MAX } else { 0 });
        both.filter(|(_, (from, _))| *from != 0).filter_map(move |((number, kind), (from, until))| {
            let kind = *kind as usize;
            let root = history.kinds.get(kind)?.root.and_then(|root| u32::try_from(root).ok());
            let (call, span) = (Arc::clone(calls.get(kind)?), Span { from: *from, until: *until });
            let completed = completed.get(number).map(|known| {
                let call = Called { function: known.function.clone(), place: known.place.clone() };
                (Span { from: known.from_ns, until: known.until_ns }, Arc::new(call))
            });
            let given_up = last || history.newest.saturating_sub(*number) >= GIVEN_UP;
            Some(((history.comm, *number), Taken { call, span, root, completed, given_up }))
        })
    })
}

/// The hosts of processes: each has a clock of its own, which may be known here.
pub struct Hosts<'a>(HashMap<ProcessIndex, (&'a str, Option<u64>)>);

impl<'a> Hosts<'a> {
    /// Of all processes that were seen.
    pub fn of(joined: &Joined<'a>) -> Self {
        Self(
            joined
                .processes()
                .map(|(me, _, _, seen)| (me, (seen.host.as_str(), seen.clock_error_ns)))
                .collect(),
        )
    }

    /// Whether all can be compared.
    pub fn have_one_clock(&self) -> bool {
        self.between(self.0.keys()).is_some()
    }

    /// Whether all of these read the same clock.
    pub fn are_on_one_host(&self, processes: [&ProcessIndex; 2]) -> bool {
        self.between(processes) == Some(0)
    }

    /// By how much times of two of them may be wrong against each other; none on one host, or where that is not known.
    pub fn error_ns(&self) -> Option<u64> {
        self.between(self.0.keys()).filter(|error| *error > 0)
    }

    /// The same of these: nothing on one host, none where they cannot be compared.
    fn between<'p>(&self, processes: impl IntoIterator<Item = &'p ProcessIndex>) -> Option<u64> {
        let all: Vec<_> = processes.into_iter().filter_map(|process| self.0.get(process)).collect();
        let Some((first, _)) = all.first() else { return Some(0) };
        if all.iter().all(|(host, _)| host == first) {
            return Some(0);
        }
        let worst = all.iter().map(|(_, error)| *error).collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some(worst.saturating_mul(2).max(1))
    }
}

/// A collective of which all members are known, and who waited in it.
pub struct Judged {
    /// Communicator and number.
    pub number: (u64, u64),
    /// It was only started by its calls, and completed by others.
    pub started: bool,
    /// Nanoseconds of all members in the calls that wait.
    pub ns: u64,
    /// Of each member, one after the other.
    pub waits: Vec<Wait>,
    /// When the last of them entered.
    pub met_ns: u64,
    /// All of them.
    pub members: Vec<ProcessIndex>,
}

/// The waits for messages of processes that can be compared, each at most as long as the call that it was in.
pub fn for_messages(messages: &[Ends<'_>], calls: &Calls, hosts: &Hosts<'_>) -> Vec<Wait> {
    let mut latest: HashMap<(ProcessIndex, u64), Vec<Wait>> = HashMap::new();
    for ends in messages {
        let Some(error_ns) = hosts.between([&ends.sender, &ends.receiver]) else { continue };
        for waits in of_message(ends) {
            let long = waits.into_iter().filter(|wait| wait.span.ns() > error_ns);
            let waits: Vec<Wait> = long.filter_map(|wait| calls.bounded(wait)).collect();
            let Some(last) = waits.last() else { continue };
            // Of both ends of a call that sends and receives it is the receive that waits, if they say the same.
            let rank = |wait: &Wait| (wait.span.until, wait.kind != Kind::LATE_RECEIVER);
            let known = latest.entry((last.who, last.in_call)).or_default();
            if known.last().is_none_or(|known| rank(known) < rank(last)) {
                *known = waits;
            }
        }
    }
    latest.into_values().flatten().collect()
}

impl Calls {
    /// A wait ends when its call returned, at the latest.
    pub fn bounded(&self, mut wait: Wait) -> Option<Wait> {
        let (until, _) = self.all.get(&wait.who)?.get(&wait.in_call)?;
        wait.span.until = wait.span.until.min(*until);
        (wait.span.ns() > 0).then_some(wait)
    }
}

/// Of the receiver, in its probe and in the call that received, and of the sender: for the other end to be there, and then, unless the
/// call returned before, until the other one asked for completion too.
pub fn of_message(ends: &Ends<'_>) -> [Vec<Wait>; 3] {
    let side = |kind, who, call: &Option<Waited>, culprit, other: &Line| {
        let mut waits = Vec::new();
        let Some(call) = call else { return waits };
        let mut wait = |kind, from, until| {
            let span = Span { from, until };
            waits.push(Wait {
                kind,
                who,
                call: Arc::clone(&call.call),
                in_call: call.from_ns,
                span,
                culprit,
            });
        };
        if other.posted_ns > call.from_ns {
            wait(kind, call.from_ns, other.posted_ns);
        }
        let both = other.posted_ns.max(call.from_ns);
        if let Some(asked) = &other.waited
            && (both + 1..=call.until_ns).contains(&asked.from_ns)
        {
            wait(Kind::LATE_COMPLETION, both, asked.from_ns);
        }
        waits
    };
    // A probe waits for the message to be there, and for nothing else; one that was sent later was not what it found.
    let probed = &ends.received.probed;
    let mut in_probe = side(Kind::LATE_SENDER, ends.receiver, probed, ends.sender, ends.sent);
    in_probe.retain(|wait| {
        let found = probed.as_ref().is_some_and(|call| wait.span.until <= call.until_ns);
        wait.kind == Kind::LATE_SENDER && found
    });
    [
        in_probe,
        side(Kind::LATE_SENDER, ends.receiver, &ends.received.waited, ends.sender, ends.sent),
        side(Kind::LATE_RECEIVER, ends.sender, &ends.sent.waited, ends.receiver, ends.received),
    ]
}

/// What is known of collectives at one look.
#[derive(Default)]
pub struct Found {
    /// Those that all members are through with.
    pub judged: Vec<Judged>,
    /// Communicator and number of those that were started, and that somebody has not completed.
    pub open: BTreeSet<(u64, u64)>,
}

/// The collectives that are `new`. At the `last` look, those that were started are not waited for any more.
pub fn collectives(
    joined: &Joined<'_>,
    calls: &Calls,
    hosts: &Hosts<'_>,
    last: bool,
    new: impl Fn(u64, u64) -> bool,
) -> Found {
    let mut all: BTreeMap<(u64, u64), Vec<(ProcessIndex, Taken)>> = BTreeMap::new();
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for (me, _, _, seen) in joined.processes() {
        for comm in seen.communicators.iter().filter(|comm| comm.remote.is_none()) {
            sizes.insert(comm.identity, comm.size);
        }
        for (key, taken) in entered(seen, last).filter(|((comm, number), _)| new(*comm, *number)) {
            all.entry(key).or_default().push((me, taken));
        }
    }
    let mut found = Found::default();
    for ((comm, number), members) in all {
        // Who came last is known only if all are.
        let everybody = sizes.get(&comm).is_some_and(|size| *size as usize == members.len());
        let Some(error_ns) = error_of(hosts, &members).filter(|_| everybody) else { continue };
        if !members.iter().all(|(_, taken)| taken.is_over()) {
            if members.iter().all(|(_, taken)| taken.starts()) {
                found.open.insert((comm, number));
            }
            continue;
        }
        let mut waits = Vec::new();
        of_collective(joined, comm, &members, &mut waits);
        waits.retain(|wait: &Wait| wait.span.ns() > error_ns);
        let inside = members.iter().filter_map(|(_, taken)| taken.waits_in());
        let ns = inside.map(|(span, _)| span.ns()).fold(0, u64::saturating_add);
        found.judged.push(Judged {
            number: (comm, number),
            started: members.iter().any(|(_, taken)| taken.starts()),
            ns,
            waits: waits.into_iter().filter_map(|wait| calls.bounded(wait)).collect(),
            met_ns: members.iter().map(|(_, taken)| taken.span.from).max().unwrap_or_default(),
            members: members.iter().map(|(who, _)| *who).collect(),
        });
    }
    found
}

fn error_of(hosts: &Hosts<'_>, members: &[(ProcessIndex, Taken)]) -> Option<u64> {
    hosts.between(members.iter().map(|(member, _)| member))
}

/// The members of a communicator in the order of their ranks there.
fn by_rank<'m>(
    joined: &Joined<'_>,
    comm: u64,
    members: &'m [(ProcessIndex, Taken)],
) -> Vec<&'m (ProcessIndex, Taken)> {
    let known: HashMap<ProcessIndex, &(ProcessIndex, Taken)> =
        members.iter().map(|member| (member.0, member)).collect();
    let Some((me, _)) = members.first() else { return Vec::new() };
    let partner = |rank| joined.partner(*me, comm, rank);
    (0..).take(members.len()).filter_map(|rank| known.get(&partner(rank)?).copied()).collect()
}

/// A member of a collective.
type Member = (ProcessIndex, Taken);

/// Who of these entered last.
fn latest<'m>(members: impl Iterator<Item = &'m Member>) -> Option<&'m Member> {
    members.max_by_key(|(_, taken)| taken.span.from)
}

fn of_collective(joined: &Joined<'_>, comm: u64, members: &[Member], waits: &mut Vec<Wait>) {
    let Some((me, first)) = members.first() else { return };
    let function = &first.call.function;
    if members.iter().any(|(_, taken)| taken.call.function != *function) {
        return;
    }
    let partners = FunctionId::from_name(function).map(|id| id.properties().partners);
    let root = first.root.and_then(|root| joined.partner(*me, comm, root));
    match (partners, root) {
        (Some(Partners::ROOT), Some(root)) => {
            let Some(late) = members.iter().find(|(who, _)| *who == root) else { return };
            let others = members.iter().filter(|(who, _)| *who != root);
            others.for_each(|member| waits.extend(for_the_last(Kind::LATE_ROOT, member, late)));
        }
        (Some(Partners::LEAVES), Some(root)) => {
            let early = members.iter().find(|(who, _)| *who == root);
            let late = latest(members.iter().filter(|(who, _)| *who != root));
            if let (Some(early), Some(late)) = (early, late) {
                waits.extend(for_the_last(Kind::EARLY_ROOT, early, late));
            }
        }
        (Some(Partners::ALL), _) => {
            let kind = Kind::of_all(function);
            let (last, asked) = (latest(members.iter()), asked(members.iter()));
            members.iter().for_each(|member| for_all(kind, member, last, &asked, waits));
        }
        (Some(Partners::NEIGHBORS), _) => {
            let sources = sources(joined, comm);
            for member in members {
                let mine = sources.get(&member.0).map_or(&[][..], Vec::as_slice);
                let needed = || members.iter().filter(|(who, _)| mine.contains(who));
                for_all(Kind::N_TO_N, member, latest(needed()), &asked(needed()), waits);
            }
        }
        (Some(Partners::LOWER), _) => {
            let mut last: Option<&Member> = None;
            for member in by_rank(joined, comm, members) {
                waits.extend(last.and_then(|last| for_the_last(Kind::EARLY_SCAN, member, last)));
                last = latest([last, Some(member)].into_iter().flatten());
            }
        }
        _ => {}
    }
}

/// From the call in which a member waits until another one has entered.
fn for_the_last(kind: Kind, (who, taken): &Member, (culprit, last): &Member) -> Option<Wait> {
    let (own, call) = taken.waits_in()?;
    let span = Span { from: own.from, until: last.span.from };
    let wait = Wait { kind, who: *who, call: Arc::clone(call), in_call: own.from, span, culprit: *culprit };
    (span.ns() > 0).then_some(wait)
}

/// When these asked for the completion of what they had started, by that time.
fn asked<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<(u64, ProcessIndex)> {
    let started = members.filter(|(_, taken)| taken.starts());
    let mut asked: Vec<_> =
        started.filter_map(|(who, taken)| Some((taken.completed.as_ref()?.0.from, *who))).collect();
    asked.sort_unstable();
    asked
}

/// Until the last of those it needs has entered; then, in one that was only started, until those had asked for completion who did so
/// before it returned.
fn for_all(
    kind: Kind,
    member: &Member,
    last: Option<&Member>,
    asked: &[(u64, ProcessIndex)],
    waits: &mut Vec<Wait>,
) {
    let (who, taken) = member;
    let last = last.filter(|(last, _)| last != who);
    waits.extend(last.and_then(|last| for_the_last(kind, member, last)));
    let Some((own, call)) = taken.completed.as_ref().filter(|_| taken.starts()) else { return };
    let there = own.from.max(last.map_or(0, |(_, last)| last.span.from));
    let before = asked.get(..asked.partition_point(|(asked, _)| *asked <= own.until)).unwrap_or_default();
    if let Some((until, culprit)) = before.iter().rev().find(|(_, other)| other != who)
        && *until > there
    {
        let (span, call) = (Span { from: there, until: *until }, Arc::clone(call));
        let kind = Kind::LATE_COMPLETION;
        waits.push(Wait { kind, who: *who, call, in_call: own.from, span, culprit: *culprit });
    }
}

/// Whose data each member gets in collectives of the communicator's topology.
fn sources(joined: &Joined<'_>, comm: u64) -> HashMap<ProcessIndex, Vec<ProcessIndex>> {
    let of = |(me, _, _, seen): (ProcessIndex, _, _, &Observation)| {
        let ranks = seen.communicators.iter().find(|known| known.identity == comm)?.sources.as_ref()?;
        Some((me, ranks.iter().filter_map(|rank| joined.partner(me, comm, *rank)).collect()))
    };
    joined.processes().filter_map(of).collect()
}
