//! Waits in collectives, determined by when each member entered.

use super::calls::Calls;
use super::entered::{Taken, entered};
use super::{Kind, Span, Wait};
use crate::observation::ledger::Called;
use crate::observation::{Observation, RootBetween};
use crate::questions::why::Hosts;
use crate::questions::why::{Joined, ProcessIndex};
use mpi_abi::{FunctionId, Partners};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A collective of which all members are known, and the waits in it.
pub struct Judged {
    /// Communicator and number.
    pub number: (u64, u64),
    /// Whether its calls only started it and others completed it.
    pub started: bool,
    /// The call that entered it, of one of the members.
    pub call: Arc<Called>,
    /// Nanoseconds spent by all members in the calls that wait.
    pub ns: u64,
    /// The waits of the members, one after the other.
    pub waits: Vec<Wait>,
    /// When the last member entered.
    pub met_ns: u64,
    /// All members.
    pub members: Vec<ProcessIndex>,
}

/// What one pass reveals about collectives.
#[derive(Default)]
pub struct Found {
    /// Those that all members have completed.
    pub judged: Vec<Judged>,
    /// Communicator and number of those that were started and that some member has not completed.
    pub open: BTreeSet<(u64, u64)>,
}

/// Judges the collectives that are `new`. In the `last` pass, those merely started are no longer waited for.
pub fn judge(
    joined: &Joined<'_>,
    calls: &Calls,
    hosts: &Hosts<'_>,
    last: bool,
    new: impl Fn(u64, u64) -> bool,
) -> Found {
    let mut all: BTreeMap<(u64, u64), Vec<(ProcessIndex, Taken)>> = BTreeMap::new();
    let mut sizes: HashMap<u64, u32> = HashMap::new();
    for (me, _, _, seen) in joined.processes() {
        sizes.extend(seen.communicators.iter().filter_map(|comm| Some((comm.identity, comm.callers()?))));
        for (key, taken) in entered(seen, last).filter(|((comm, number), _)| new(*comm, *number)) {
            all.entry(key).or_default().push((me, taken));
        }
    }
    let mut found = Found::default();
    for ((comm, number), mut members) in all {
        if let Some(size) = sizes.get(&comm) {
            add_missing(joined, (comm, number), *size, &mut members);
        }
        // Which member came last is known only if all members are.
        let everybody = sizes.get(&comm).is_some_and(|size| *size as usize == members.len());
        let Some(error_ns) = error_of(hosts, &members).filter(|_| everybody) else { continue };
        let Some(call) = members.first().map(|(_, first)| Arc::clone(&first.call)) else { continue };
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
            call,
            started: members.iter().any(|(_, taken)| taken.starts()),
            ns,
            waits: waits.into_iter().filter_map(|wait| calls.bounded(wait)).collect(),
            met_ns: members.iter().map(|(_, taken)| taken.span.from).max().unwrap_or_default(),
            members: members.iter().map(|(who, _)| *who).collect(),
        });
    }
    found
}

/// A member that had not entered a collective when everything ended, while others were in it, counts as
/// entering at the end.
fn add_missing(
    joined: &Joined<'_>,
    (comm, number): (u64, u64),
    size: u32,
    members: &mut Vec<(ProcessIndex, Taken)>,
) {
    let inside = || members.iter().filter(|(_, taken)| taken.open);
    let Some((me, first)) = inside().next() else { return };
    let end = inside().map(|(_, taken)| taken.span.until).max().unwrap_or_default();
    let there: HashSet<ProcessIndex> = members.iter().map(|(who, _)| *who).collect();
    let late = |who| {
        let (call, span) = (Arc::clone(&first.call), Span { from: end, until: end });
        let (root, between, completed) = (first.root, None, None);
        (who, Taken { call, span, root, between, completed, given_up: false, open: false })
    };
    let all = (0..size).filter_map(|rank| joined.partner(*me, comm, rank));
    // A process whose count is past the number has been there and no longer remembers it.
    let is_past = |seen: &Observation| {
        seen.history.iter().any(|history| history.comm == comm && history.newest >= number)
    };
    let past: HashSet<ProcessIndex> =
        joined.processes().filter(|(.., seen)| is_past(seen)).map(|(who, ..)| who).collect();
    let missing: Vec<_> = all.filter(|who| !there.contains(who) && !past.contains(who)).map(late).collect();
    members.extend(missing);
}

fn error_of(hosts: &Hosts<'_>, members: &[(ProcessIndex, Taken)]) -> Option<u64> {
    hosts.between(members.iter().map(|(member, _)| member))
}

/// The members of a communicator in rank order.
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

/// Returns the member that entered last.
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
    let is_of_two = |seen: &Observation| {
        seen.communicators.iter().any(|known| known.identity == comm && known.remote.is_some())
    };
    if joined.processes().find(|(who, ..)| who == me).is_some_and(|(_, _, _, seen)| is_of_two(seen)) {
        return of_two_groups(function, partners, members, waits);
    }
    let root = first.root.and_then(|root| joined.partner(*me, comm, root));
    match (partners, root) {
        (Some(Partners::ROOT), Some(root)) => {
            let Some(late) = members.iter().find(|(who, _)| *who == root) else { return };
            let others = members.iter().filter(|(who, _)| *who != root);
            others.for_each(|member| waits.extend(wait_for_last(Kind::LATE_ROOT, member, late)));
        }
        (Some(Partners::LEAVES), Some(root)) => {
            let early = members.iter().find(|(who, _)| *who == root);
            let late = latest(members.iter().filter(|(who, _)| *who != root));
            if let (Some(early), Some(late)) = (early, late) {
                waits.extend(wait_for_last(Kind::EARLY_ROOT, early, late));
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
                waits.extend(last.and_then(|last| wait_for_last(Kind::EARLY_SCAN, member, last)));
                last = latest([last, Some(member)].into_iter().flatten());
            }
        }
        _ => {}
    }
}

/// A collective on an intercommunicator: members of the root's group other than the root do nothing.
fn of_two_groups(function: &str, partners: Option<Partners>, members: &[Member], waits: &mut Vec<Wait>) {
    let root = members.iter().find(|(_, taken)| taken.between == Some(RootBetween::Myself));
    // Members that name a rank belong to the other group.
    let others = || members.iter().filter(|(_, taken)| taken.root.is_some());
    match (partners, root) {
        (Some(Partners::ROOT), Some(root)) => {
            others().for_each(|member| waits.extend(wait_for_last(Kind::LATE_ROOT, member, root)));
        }
        (Some(Partners::LEAVES), Some(root)) => {
            waits.extend(latest(others()).and_then(|late| wait_for_last(Kind::EARLY_ROOT, root, late)));
        }
        (Some(Partners::ALL), _) => {
            let mut by_entry: Vec<&Member> = members.iter().collect();
            by_entry.sort_unstable_by_key(|(_, taken)| taken.span.from);
            let (kind, asked) = (Kind::of_all(function), asked(members.iter()));
            for member in members {
                // The standard lets a member proceed without the others of its own group.
                let until = member.1.waits_in().map_or(u64::MAX, |(span, _)| span.until);
                let before = by_entry.partition_point(|(_, taken)| taken.span.from < until);
                let last = before.checked_sub(1).and_then(|last| by_entry.get(last)).copied();
                for_all(kind, member, last, &asked, waits);
            }
        }
        _ => {}
    }
}

/// Returns the wait of a member from the start of its waiting call until another one has entered.
fn wait_for_last(kind: Kind, (who, taken): &Member, (culprit, last): &Member) -> Option<Wait> {
    let (own, call) = taken.waits_in()?;
    let span = Span { from: own.from, until: last.span.from };
    let (call, culprit) = (Arc::clone(call), *culprit);
    let wait = Wait { kind, who: *who, call, in_call: own.from, span, culprit, message: None };
    (span.ns() > 0).then_some(wait)
}

/// Returns when these members asked for completion of what they had started, in order of time.
fn asked<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<(u64, ProcessIndex)> {
    let started = members.filter(|(_, taken)| taken.starts());
    let mut asked: Vec<_> =
        started.filter_map(|(who, taken)| Some((taken.completed.as_ref()?.0.from, *who))).collect();
    asked.sort_unstable();
    asked
}

/// Adds the wait until the last of the required members has entered and, for a collective merely started, the
/// wait until the members that asked for completion before it returned had done so.
fn for_all(
    kind: Kind,
    member: &Member,
    last: Option<&Member>,
    asked: &[(u64, ProcessIndex)],
    waits: &mut Vec<Wait>,
) {
    let (who, taken) = member;
    let last = last.filter(|(last, _)| last != who);
    waits.extend(last.and_then(|last| wait_for_last(kind, member, last)));
    let Some((own, call)) = taken.completed.as_ref().filter(|_| taken.starts()) else { return };
    let there = own.from.max(last.map_or(0, |(_, last)| last.span.from));
    let before = asked.get(..asked.partition_point(|(asked, _)| *asked <= own.until)).unwrap_or_default();
    if let Some((until, culprit)) = before.iter().rev().find(|(_, other)| other != who)
        && *until > there
    {
        let (span, call) = (Span { from: there, until: *until }, Arc::clone(call));
        let kind = Kind::LATE_COMPLETION;
        let culprit = *culprit;
        waits.push(Wait { kind, who: *who, call, in_call: own.from, span, culprit, message: None });
    }
}

/// Returns for each member whose data it receives in collectives of the communicator's topology.
fn sources(joined: &Joined<'_>, comm: u64) -> HashMap<ProcessIndex, Vec<ProcessIndex>> {
    let of = |(me, _, _, seen): (ProcessIndex, _, _, &Observation)| {
        let ranks = seen.communicators.iter().find(|known| known.identity == comm)?.sources.as_ref()?;
        Some((me, ranks.iter().filter_map(|rank| joined.partner(me, comm, *rank)).collect()))
    };
    joined.processes().filter_map(of).collect()
}
