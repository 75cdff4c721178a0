//! Finding waits: the calls of each process that can wait, and what each of them waited for.

use super::merge::UNNAMED;
use super::{Kind, Span, Wait, is_collective_that_waits};
use crate::questions::observation::ledger::{Called, Line, Waited};
use crate::questions::observation::{Collective, Observation};
use crate::questions::why::{Ends, Joined, ProcessIndex};
use mpi_abi::{FunctionId, Partners};
use std::collections::{BTreeMap, HashMap};
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
            for Waited { from_ns, until_ns, call } in ledger.filter_map(|line| line.waited.as_ref()) {
                own.insert(*from_ns, (*until_ns, Arc::clone(call)));
            }
            for (_, taken) in entered(seen).filter(|(_, taken)| taken.span.until != 0) {
                own.insert(taken.span.from, (taken.span.until, taken.call));
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
}

/// The collectives of a process that are known with their times, by communicator and number.
fn entered(seen: &Observation) -> impl Iterator<Item = ((u64, u64), Taken)> {
    seen.history.iter().flat_map(|history| {
        let called = |kind: &Collective| {
            Arc::new(Called { function: kind.function.clone(), place: kind.place.clone() })
        };
        // Many are alike: what they are called stands once.
        let calls: Vec<Arc<Called>> = history.kinds.iter().map(called).collect();
        let known = history.times.len() == history.entries.len();
        let both = history.entries.iter().zip(&history.times).take(if known { usize::MAX } else { 0 });
        both.filter(|(_, (from, _))| *from != 0).filter_map(move |((number, kind), (from, until))| {
            let kind = *kind as usize;
            let root = history.kinds.get(kind)?.root.and_then(|root| u32::try_from(root).ok());
            let (call, span) = (Arc::clone(calls.get(kind)?), Span { from: *from, until: *until });
            Some(((history.comm, *number), Taken { call, span, root }))
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
    /// Nanoseconds of all members in it.
    pub ns: u64,
    /// Each member at most once.
    pub waits: Vec<Wait>,
    /// When the last of them entered.
    pub met_ns: u64,
    /// All of them.
    pub members: Vec<ProcessIndex>,
}

/// The waits for messages of processes that can be compared, each at most as long as the call that it was in.
pub fn for_messages(messages: &[Ends<'_>], calls: &Calls, hosts: &Hosts<'_>) -> Vec<Wait> {
    let mut longest: HashMap<(ProcessIndex, u64), Wait> = HashMap::new();
    let near = messages.iter().flat_map(|ends| {
        let error_ns = hosts.between([&ends.sender, &ends.receiver]);
        error_ns
            .into_iter()
            .flat_map(|error_ns| of_message(ends).filter(move |wait| wait.span.ns() > error_ns))
    });
    for wait in near.filter_map(|wait| calls.bounded(wait)) {
        let key = (wait.who, wait.span.from);
        match longest.get_mut(&key) {
            Some(known) if known.span.until >= wait.span.until => {}
            Some(known) => *known = wait,
            None => _ = longest.insert(key, wait),
        }
    }
    longest.into_values().collect()
}

impl Calls {
    /// A wait ends when its call returned, at the latest.
    fn bounded(&self, mut wait: Wait) -> Option<Wait> {
        let (until, _) = self.all.get(&wait.who)?.get(&wait.span.from)?;
        wait.span.until = wait.span.until.min(*until);
        (wait.span.ns() > 0).then_some(wait)
    }
}

/// At most one of the two ends waited for the other.
pub fn of_message(ends: &Ends<'_>) -> impl Iterator<Item = Wait> + use<> {
    let wait = |kind, who, line: &Line, culprit, other: &Line| {
        let waited = line.waited.as_ref()?;
        let span = Span { from: waited.from_ns, until: other.posted_ns };
        (other.posted_ns > waited.from_ns).then(|| Wait {
            kind,
            who,
            call: Arc::clone(&waited.call),
            span,
            culprit,
        })
    };
    let late_sender = wait(Kind::LATE_SENDER, ends.receiver, ends.received, ends.sender, ends.sent);
    let late_receiver = wait(Kind::LATE_RECEIVER, ends.sender, ends.sent, ends.receiver, ends.received);
    late_sender.into_iter().chain(late_receiver)
}

/// The collectives that all members have left and that are `new`.
pub fn collectives(
    joined: &Joined<'_>,
    calls: &Calls,
    hosts: &Hosts<'_>,
    new: impl Fn(u64, u64) -> bool,
) -> Vec<Judged> {
    let mut all: BTreeMap<(u64, u64), Vec<(ProcessIndex, Taken)>> = BTreeMap::new();
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for (me, _, _, seen) in joined.processes() {
        for comm in seen.communicators.iter().filter(|comm| comm.remote.is_none()) {
            sizes.insert(comm.identity, comm.size);
        }
        for (key, taken) in entered(seen).filter(|((comm, number), _)| new(*comm, *number)) {
            all.entry(key).or_default().push((me, taken));
        }
    }
    // Who came last is known only if all are.
    let whole = |comm: u64, members: &[(ProcessIndex, Taken)]| {
        let all = sizes.get(&comm).is_some_and(|size| *size as usize == members.len());
        all && members.iter().all(|(_, taken)| taken.is_over()) && error_of(hosts, members).is_some()
    };
    all.retain(|(comm, _), members| whole(*comm, members));
    let judged = |((comm, number), members): ((u64, u64), Vec<(ProcessIndex, Taken)>)| {
        let mut waits = Vec::new();
        of_collective(joined, comm, &members, &mut waits);
        let error_ns = error_of(hosts, &members).unwrap_or_default();
        waits.retain(|wait: &Wait| wait.span.ns() > error_ns);
        let ns = members.iter().map(|(_, taken)| taken.span.ns()).fold(0, u64::saturating_add);
        let waits = waits.into_iter().filter_map(|wait| calls.bounded(wait)).collect();
        let met_ns = members.iter().map(|(_, taken)| taken.span.from).max().unwrap_or_default();
        let members = members.iter().map(|(who, _)| *who).collect();
        Judged { number: (comm, number), ns, waits, met_ns, members }
    };
    all.into_iter().map(judged).collect()
}

fn error_of(hosts: &Hosts<'_>, members: &[(ProcessIndex, Taken)]) -> Option<u64> {
    hosts.between(members.iter().map(|(member, _)| member))
}

impl Taken {
    /// The process has left the call.
    fn is_over(&self) -> bool {
        self.span.until != 0 || !is_collective_that_waits(&self.call.function)
    }
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

fn of_collective(joined: &Joined<'_>, comm: u64, members: &[(ProcessIndex, Taken)], waits: &mut Vec<Wait>) {
    let Some((me, first)) = members.first() else { return };
    if members.iter().any(|(_, taken)| taken.call.function != first.call.function) {
        return;
    }
    let partners = FunctionId::from_name(&first.call.function).map(|id| id.properties().partners);
    let root = first.root.and_then(|root| joined.partner(*me, comm, root));
    let latest = |but: Option<ProcessIndex>| {
        let others = members.iter().filter(|(who, _)| Some(*who) != but);
        others.max_by_key(|(_, taken)| taken.span.from)
    };
    let mut wait = |kind, (who, taken): &(ProcessIndex, Taken), (culprit, last): &(ProcessIndex, Taken)| {
        let span = Span { from: taken.span.from, until: last.span.from };
        waits.push(Wait { kind, who: *who, call: Arc::clone(&taken.call), span, culprit: *culprit });
    };
    match (partners, root) {
        (Some(Partners::ROOT), Some(root)) => {
            let Some(late) = members.iter().find(|(who, _)| *who == root) else { return };
            members
                .iter()
                .filter(|(who, _)| *who != root)
                .for_each(|member| wait(Kind::LATE_ROOT, member, late));
        }
        (Some(Partners::LEAVES), Some(root)) => {
            let early = members.iter().find(|(who, _)| *who == root);
            if let (Some(early), Some(late)) = (early, latest(Some(root))) {
                wait(Kind::EARLY_ROOT, early, late);
            }
        }
        (Some(Partners::ALL), _) => {
            let kind = if first.call.function == "MPI_Barrier" { Kind::BARRIER } else { Kind::N_TO_N };
            if let Some(last) = latest(None) {
                members.iter().filter(|(who, _)| *who != last.0).for_each(|member| wait(kind, member, last));
            }
        }
        (Some(Partners::LOWER), _) => {
            let mut last: Option<&(ProcessIndex, Taken)> = None;
            for member in by_rank(joined, comm, members) {
                last.into_iter().for_each(|last| wait(Kind::EARLY_SCAN, member, last));
                last = [last, Some(member)].into_iter().flatten().max_by_key(|(_, taken)| taken.span.from);
            }
        }
        _ => {}
    }
}
