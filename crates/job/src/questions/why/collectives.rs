//! Which processes are in a collective, which have not entered it, and whether all of them mean the same one.
//!
//! Each member numbers the collectives on a communicator for itself. Collectives with equal numbers must be
//! the same operation, so a member whose count has reached a number is inside or has left, whatever it does
//! now, and one whose count has not is missing.

use super::snapshot::{
    Collective, CommIndex, Condition, FREED, FUNCTION, Need, PARTS, Process, ProcessIndex, Snapshot,
};
use crate::observation::{Between, ElementKinds, RootBetween};
use mpi_abi::Element;
use mpiscope_image::mixture::{self, Mixture};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// The number used for `MPI_Finalize`, which is collective and not counted.
pub const FINALIZE: u64 = 0;

/// Returns the members of a communicator that have not entered a collective.
pub fn missing(snapshot: &Snapshot, comm: CommIndex, number: u64) -> Vec<ProcessIndex> {
    let members = snapshot.communicators.get(comm as usize).map_or(&[][..], |c| &c.members);
    let process = |member: &ProcessIndex| snapshot.processes.get(*member as usize);
    let absent = |member: &&ProcessIndex| process(member).is_some_and(|p| !has_entered(p, comm, number));
    members.iter().filter(absent).copied().collect()
}

/// Returns whether a process is or was in a collective.
pub fn has_entered(process: &Process, comm: CommIndex, number: u64) -> bool {
    if number == FINALIZE {
        return process.condition == Condition::Finalized || is_finalizing(process);
    }
    let (number, starts) = parts(number);
    if process.entered(comm) < number {
        return false;
    }
    // A persistent collective is numbered at its creation; starts that have been dropped from the records may
    // have happened.
    let mine = process.collectives.iter().filter(|known| known.comm == comm).map(|known| parts(known.number));
    let started = mine.filter(|(known, _)| *known == number).map(|(_, starts)| starts).max();
    starts == 0 || started.is_none_or(|mine| mine.wrapping_sub(starts).cast_signed() >= 0)
}

/// Bit position at which [`numbered`] stores the starts.
const STARTS: u32 = 48;

/// Combines the number of a collective with its number of starts if it is persistent: each start is a
/// separate collective.
pub fn numbered(number: u64, starts: u16) -> u64 {
    number & ((1 << STARTS) - 1) | u64::from(starts) << STARTS
}

/// Splits this into number and starts.
pub fn parts(number: u64) -> (u64, u16) {
    (number & ((1 << STARTS) - 1), (number >> STARTS) as u16)
}

/// Returns whether a process is in `MPI_Finalize`.
pub fn is_finalizing(process: &Process) -> bool {
    open(process).any(|collective| collective.number == FINALIZE)
}

/// Returns the collectives that the open calls of a process wait for.
pub fn open(process: &Process) -> impl Iterator<Item = &Collective> {
    process.calls().flat_map(|call| call.wait.needs()).filter_map(|need| match need {
        Need::Collective(collective) => Some(&**collective),
        _ => None,
    })
}

/// Members that passed different arguments to one collective.
#[derive(Debug)]
pub struct Mismatch<'a> {
    /// What differs: [`FUNCTION`], "root", …
    pub difference: &'static str,
    /// What all members together send and expect, if that is what differs.
    pub sums: Option<Sums>,
    /// Members with equal arguments: the largest group first; among equal ones the one with the lowest rank.
    pub groups: Vec<(&'a Collective, Vec<ProcessIndex>)>,
}

impl<'a> Mismatch<'a> {
    /// Returns the members that are taken to be wrong, by their arguments: those outside the majority. If no
    /// group is the largest, any may be wrong; if all passed the same, all of them are.
    pub fn suspects(&self) -> &[(&'a Collective, Vec<ProcessIndex>)] {
        if let Some(at) = self.unbalancing().or_else(|| self.of_two_roots()) {
            return self.groups.get(at..=at).unwrap_or_default();
        }
        if let Some(others) = self.but_the_root() {
            return others;
        }
        match self.groups.as_slice() {
            [(_, most), others @ ..] if others.first().is_some_and(|(_, next)| next.len() < most.len()) => {
                others
            }
            all => all,
        }
    }

    /// On an intercommunicator: the members that all claim to be the root, of which there can be only one.
    fn of_two_roots(&self) -> Option<usize> {
        let claims = |(collective, ranks): &(&Collective, Vec<ProcessIndex>)| {
            let root = collective.signature.between.map(|between| between.root);
            root == Some(RootBetween::Myself) && ranks.len() > 1
        };
        self.groups.iter().position(claims)
    }

    /// On an intercommunicator: all but the only member that claims to be the root, if its group comes last. It is
    /// the others that must agree with it, unless none of them expects a root at all.
    fn but_the_root(&self) -> Option<&[(&'a Collective, Vec<ProcessIndex>)]> {
        let ((last, _), others) = self.groups.split_last().filter(|_| self.difference == "root")?;
        let root = last.signature.between.is_some_and(|between| between.root == RootBetween::Myself);
        let expects = |(collective, _): &(&Collective, _)| {
            let between = collective.signature.between;
            between.is_some_and(|between| matches!(between.root, RootBetween::OfOthers(_)))
        };
        (root && others.iter().any(expects)).then_some(others)
    }

    /// Returns the members that have freed the object while others use it, unless most members freed it under the
    /// same number.
    pub fn freeing(&self) -> Vec<&(&'a Collective, Vec<ProcessIndex>)> {
        let frees = |(collective, _): &&(&Collective, Vec<ProcessIndex>)| {
            FREEING.contains(&&*collective.signature.function)
        };
        match self.difference {
            FREED => self.groups.iter().skip(1).collect(),
            FUNCTION if self.suspects().len() == self.groups.len() => {
                self.groups.iter().filter(frees).collect()
            }
            _ => Vec::new(),
        }
    }

    /// If the members together send other than they expect: the only group that would set this right by
    /// sending or expecting what most members do.
    fn unbalancing(&self) -> Option<usize> {
        let Some(Sums::Bytes(gives, expects)) = self.sums else { return None };
        let (most, others) = self.groups.split_first()?;
        let usual = most.0.totals.filter(|_| most.1.len() > 1)?;
        let balances = |(collective, ranks): &(&Collective, Vec<ProcessIndex>)| {
            let own = collective.totals?;
            let share = |own: u64, usual: u64, sum: u64| {
                let count = ranks.len() as u64;
                sum.checked_sub(own.checked_mul(count)?)?.checked_add(usual.checked_mul(count)?)
            };
            let (given, expected) = (share(own.0, usual.0, gives)?, share(own.1, usual.1, expects)?);
            Some(given == expects || gives == expected || given == expected)
        };
        let mut found = (1..).zip(others).filter(|(_, group)| balances(group) == Some(true));
        let (one, _) = found.next()?;
        found.next().is_none().then_some(one)
    }
}

/// How what all members together send differs from what they expect.
#[derive(Debug, Clone, Copy)]
pub enum Sums {
    /// Bytes sent, and bytes expected.
    Bytes(u64, u64),
    /// The same number of bytes, but different elements.
    Elements,
}

/// Returns all collectives whose members did not agree, as far as remembered, by communicator and number.
#[must_use]
pub fn disagreements(snapshot: &Snapshot) -> Vec<Mismatch<'_>> {
    let entered = snapshot.processes.iter().flat_map(|process| &process.collectives);
    let mut found = compare(snapshot, entered.map(|collective| (place(collective), Vec::new())).collect());
    // Of a communicator on which it was in no other collective, a process does not remember the one that freed it.
    let comm = |mismatch: &Mismatch<'_>| mismatch.groups.first().map(|(collective, _)| collective.comm);
    let apart = found.iter().filter(|mismatch| mismatch.difference == FUNCTION);
    let mut known: HashSet<_> = apart.map(comm).collect();
    let freed = freed(snapshot, |process| Box::new(process.collectives.iter().chain(open(process))));
    found.extend(freed.into_iter().filter(|mismatch| known.insert(comm(mismatch))));
    found.sort_by_key(|mismatch| mismatch.groups.first().map(|(collective, _)| place(collective)));
    found
}

/// Returns collectives whose members do not agree and in which a process waits, or that preceded one of
/// these; by communicator and number.
///
/// A library may let members leave although they were in different functions. Those that made fewer calls are
/// then missing later on, and the cause is where they diverged, as for [`disagreements`]. Other differences
/// in an earlier collective did no harm, as it is over. Also includes objects that a member has freed while
/// others are in a collective on them.
pub fn mismatches(snapshot: &Snapshot) -> Vec<Mismatch<'_>> {
    let waited = snapshot.processes.iter().flat_map(open).filter(|collective| collective.number != FINALIZE);
    let waited: HashSet<_> = waited.map(place).collect();
    let mut latest: HashMap<CommIndex, u64> = HashMap::new();
    for (comm, number) in &waited {
        let latest = latest.entry(*comm).or_default();
        *latest = (*number).max(*latest);
    }
    let entered = snapshot.processes.iter().flat_map(|process| &process.collectives);
    let before = entered.map(place).filter(|(comm, number)| {
        *number != FINALIZE && latest.get(comm).is_some_and(|latest| number < latest)
    });
    let mut found = freed(snapshot, |process| Box::new(open(process)));
    let compared =
        compare(snapshot, waited.iter().copied().chain(before).map(|at| (at, Vec::new())).collect());
    found.extend(compared.into_iter().filter(|mismatch| {
        let at = mismatch.groups.first().map(|(collective, _)| place(collective));
        mismatch.difference == FUNCTION || at.is_some_and(|at| waited.contains(&at))
    }));
    // On each communicator the cause is the first divergence.
    found.sort_by_key(|mismatch| mismatch.groups.first().map(|(collective, _)| place(collective)));
    found
}

/// Functions that free the communicator, window or file they are called on.
const FREEING: [&str; 4] = ["MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Win_free", "MPI_File_close"];

/// Whether a process that has freed the object of a collective in the collective `last` did so instead of entering
/// this one.
pub fn has_freed_instead(last: u64, collective: &Collective) -> bool {
    // One that has left a freeing call did the same as those still in it.
    let frees = FREEING.contains(&&*collective.signature.function);
    let number = parts(collective.number).0;
    last < number || last == number && !frees
}

/// Collectives of a process.
type Used<'a> = Box<dyn Iterator<Item = &'a Collective> + 'a>;

/// Returns those of the given collectives that are on an object that another member has freed in an earlier
/// collective or under the same number. For windows and files it is not known what the others were in at that
/// number, but it was not the freeing call.
fn freed<'a>(snapshot: &'a Snapshot, used: impl Fn(&'a Process) -> Used<'a>) -> Vec<Mismatch<'a>> {
    let mut last: HashMap<CommIndex, Vec<(ProcessIndex, u64)>> = HashMap::new();
    for (index, process) in (0..).zip(&snapshot.processes) {
        for comm in &process.freed {
            last.entry(*comm).or_default().push((index, process.entered(*comm)));
        }
    }
    let mut waited: BTreeMap<(CommIndex, u64), (&Collective, Vec<ProcessIndex>)> = BTreeMap::new();
    for (index, process) in (0..).zip(&snapshot.processes).filter(|_| !last.is_empty()) {
        for collective in used(process).filter(|collective| last.contains_key(&collective.comm)) {
            let at = (collective.comm, collective.number);
            let inside = &mut waited.entry(at).or_insert_with(|| (collective, Vec::new())).1;
            if inside.last() != Some(&index) {
                inside.push(index);
            }
        }
    }
    let mut found = Vec::new();
    for ((comm, _), (collective, inside)) in waited {
        let gone = last.get(&comm).into_iter().flatten();
        let gone = gone.filter(|(_, last)| has_freed_instead(*last, collective));
        let gone: Vec<_> = gone.map(|(process, _)| *process).collect();
        if !gone.is_empty() {
            let groups = vec![(collective, inside), (collective, gone)];
            found.push(Mismatch { difference: FREED, sums: None, groups });
        }
    }
    found
}

/// Identifies a collective: all starts of a persistent one share the arguments given at its creation.
fn place(collective: &Collective) -> (CommIndex, u64) {
    (collective.comm, parts(collective.number).0)
}

type Groups<'a> = Vec<(&'a Collective, Vec<ProcessIndex>)>;

/// What each member passed, as far as remembered.
type Given<'a> = Vec<(&'a Collective, ProcessIndex)>;

/// Returns those of these collectives whose members do not agree.
fn compare<'a>(
    snapshot: &'a Snapshot,
    mut waited: HashMap<(CommIndex, u64), Given<'a>>,
) -> Vec<Mismatch<'a>> {
    for (index, process) in (0..).zip(&snapshot.processes) {
        // The records of entered collectives know the arguments best.
        let mut seen = HashSet::new();
        for collective in process.collectives.iter().chain(open(process)) {
            let at = place(collective);
            if let Some(known) = waited.get_mut(&at).filter(|_| seen.insert(at)) {
                known.push((collective, index));
            }
        }
    }
    let members = |comm: CommIndex| snapshot.communicators.get(comm as usize).map_or(&[][..], |c| &c.members);
    let mut found: Vec<_> = waited
        .into_iter()
        .filter_map(|(at, given)| {
            let members = members(at.0);
            let found = mismatch(&given, members).or_else(|| rootless(&given, members.len()));
            Some((at, found.or_else(|| lopsided(&given, members))?))
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, mismatch)| mismatch).collect()
}

/// Groups members with equal arguments, the largest group first.
fn groups<'a, K: Eq + Hash>(
    given: &Given<'a>,
    key: impl Fn(&'a Collective, ProcessIndex) -> K,
) -> Groups<'a> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Groups<'a> = Vec::new();
    for (collective, process) in given {
        let place = *places.entry(key(collective, *process)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, ranks)) => ranks.push(*process),
            None => groups.push((collective, vec![*process])),
        }
    }
    largest_first(&mut groups);
    groups
}

fn largest_first(groups: &mut Groups<'_>) {
    groups.sort_by_key(|(_, ranks)| (usize::MAX - ranks.len(), ranks.first().copied()));
}

fn mismatch<'a>(given: &Given<'a>, members: &[ProcessIndex]) -> Option<Mismatch<'a>> {
    let (first, _) = given.first()?;
    let differs = |difference: &&'static str| {
        let mut known = given.iter().filter_map(|(collective, _)| collective.signature.part(difference));
        let first = known.next();
        known.any(|other| first.as_ref() != Some(&other))
    };
    let alike = given.iter().all(|(other, _)| other.signature == first.signature);
    let difference = PARTS.iter().find(|difference| !alike && differs(difference))?;
    // A member for which this is unknown agrees with all others.
    let part = |collective: &'a Collective| collective.signature.part(difference);
    let known = given.iter().filter(|(collective, _)| part(collective).is_some()).copied().collect();
    let mut groups = groups(&known, |collective, _| part(collective));
    if let Some((root, at)) = siding_root(given, members, &groups)
        && let Some((_, ranks)) = groups.get_mut(at)
    {
        ranks.push(root);
        ranks.sort_unstable();
        largest_first(&mut groups);
    }
    Some(Mismatch { difference, sums: None, groups })
}

/// The root of a gather or scatter, in which what it passes for itself is not what the others must agree on, and the only
/// group whose members send what it expects from each, or expect what it sends to each.
fn siding_root(
    given: &Given<'_>,
    members: &[ProcessIndex],
    groups: &Groups<'_>,
) -> Option<(ProcessIndex, usize)> {
    let (first, _) = given.first()?;
    let root = *members.get(usize::try_from(first.signature.root?).ok()?)?;
    let (at_root, _) = given.iter().find(|(_, process)| *process == root)?;
    let count = members.len() as u64;
    let sides = |(one, _): &(&Collective, Vec<ProcessIndex>)| {
        let ((gives, expects), (all_given, all_expected)) = (one.totals?, at_root.totals?);
        let fits = gives.checked_mul(count)? == all_expected && expects == 0
            || expects.checked_mul(count)? == all_given && gives == 0;
        let kinds = one.elements.zip(at_root.elements);
        let alike = kinds.is_none_or(|(own, root)| {
            let (own, root) = (kinds_of(own), kinds_of(root));
            if expects == 0 { own.0 == root.1 } else { own.1 == root.0 }
        });
        Some(fits && alike)
    };
    let mut found = (0..).zip(groups).filter(|(_, group)| sides(group) == Some(true));
    let (at, _) = found.next()?;
    (found.next().is_none() && groups.iter().all(|(_, ranks)| !ranks.contains(&root))).then_some((root, at))
}

/// Members of an intercommunicator that do not agree on one root: one must pass `MPI_ROOT`, the others of its
/// group `MPI_PROC_NULL`, and all members of the other group its rank.
fn rootless<'a>(given: &Given<'a>, members: usize) -> Option<Mismatch<'a>> {
    let said = |(collective, _): &(&Collective, ProcessIndex)| collective.signature.between;
    let all: Vec<Between> = given.iter().filter_map(said).collect();
    let roots: Vec<&Between> = all.iter().filter(|between| between.root == RootBetween::Myself).collect();
    let agree = match roots.as_slice() {
        [] => all.is_empty() || all.len() < members,
        [root] => {
            let ranks = all.iter().filter_map(|between| match between.root {
                RootBetween::OfOthers(rank) => Some(rank),
                _ => None,
            });
            let (count, right) = (ranks.clone().count(), ranks.clone().all(|rank| rank == root.rank));
            right && (all.len() < members || count + root.size as usize == members)
        }
        _ => false,
    };
    let groups = || groups(given, |collective, _| collective.signature.between.map(|between| between.root));
    (!agree).then(|| Mismatch { difference: "root", sums: None, groups: groups() })
}

/// Collectives with individual counts in which every member receives what all members send.
const TO_ALL_ALIKE: [&str; 3] = ["MPI_Allgatherv", "MPI_Iallgatherv", "MPI_Allgatherv_init"];

/// Collectives with individual counts in which all members pass the same counts and the same datatype.
const REDUCED: [&str; 3] = ["MPI_Reduce_scatter", "MPI_Ireduce_scatter", "MPI_Reduce_scatter_init"];

/// The kind of element that a member passes, if it passes only one and all others must pass the same.
/// (With two groups, each expects what the other one sends.)
fn only_kind(collective: &Collective) -> Option<Element> {
    let elements = collective.elements?;
    let function = collective.signature.function.trim_end_matches("_c");
    let same =
        REDUCED.contains(&function) || TO_ALL_ALIKE.contains(&function) && elements.gives == elements.expects;
    Mixture::from_stored([0, elements.gives]).element().filter(|_| same)
}

/// Whether two members of such a collective pass elements of one kind each, but not of the same; or one sends each
/// member elements of one kind, and another expects only elements of another kind.
fn of_two_kinds(given: &Given<'_>) -> bool {
    let mut kinds = given.iter().filter_map(|(collective, _)| only_kind(collective));
    let first = kinds.next();
    if kinds.any(|kind| Some(kind) != first) {
        return true;
    }
    let elements = || given.iter().filter_map(|(collective, _)| collective.elements);
    let sent = elements().filter_map(|one| Mixture::from_stored([0, one.gives]).element_to_all());
    let sent: HashSet<Element> = sent.collect();
    let mut expected = elements().filter_map(|one| Mixture::from_stored([0, one.expects]).element());
    expected.any(|kind| sent.iter().any(|sent| *sent != kind))
}

/// The kinds of elements that a member sends and expects, to be compared.
fn kinds_of(elements: ElementKinds) -> (Result<Element, bool>, Result<Element, bool>) {
    let kind = |stored: u16| {
        let all = Mixture::from_stored([0, stored]);
        all.element().ok_or(all.is_of_several_kinds())
    };
    (kind(elements.gives), kind(elements.expects))
}

/// All members together send something other than they expect. As each may pass what it likes, none is wrong
/// by itself.
fn lopsided<'a>(given: &Given<'a>, members: &[ProcessIndex]) -> Option<Mismatch<'a>> {
    let (first, _) = given.first()?;
    if given.len() != members.len() {
        return None;
    }
    // The root is a group of its own: only some of what it passed is significant at the others.
    let root = first.signature.root.and_then(|root| members.get(usize::try_from(root).ok()?));
    let is_root = |process: ProcessIndex| root == Some(&process);
    let add = |(gives, expects): (u64, u64), (collective, _): &(&Collective, ProcessIndex)| {
        let (more, wanted) = collective.totals?;
        Some((gives.checked_add(more)?, expects.checked_add(wanted)?))
    };
    let (gives, expects) = given.iter().try_fold((0, 0), add)?;
    if gives != expects {
        let groups = groups(given, |collective, process| (collective.totals, is_root(process)));
        return Some(Mismatch { difference: "size", sums: Some(Sums::Bytes(gives, expects)), groups });
    }
    let elements = || given.iter().map(|(collective, _)| collective.elements);
    let known = elements().all(|elements| elements.is_some());
    let sum = || mixture::sum(elements().flatten().map(|elements| elements.difference));
    let differ = known && (sum() != 0 || of_two_kinds(given));
    let key = |collective: &Collective, process| (collective.elements.map(kinds_of), is_root(process));
    let groups = || groups(given, key);
    differ.then(|| Mismatch { difference: "type signature", sums: Some(Sums::Elements), groups: groups() })
}
