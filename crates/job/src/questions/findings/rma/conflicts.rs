//! Operations on the same bytes of a process's memory that nothing orders, at least one of which writes.
//!
//! Between the same two fences, or in the same epoch of `MPI_Win_post`, operations of different processes are
//! never ordered. Under shared locks, [`Order`] knows. Operations of one process are ordered only by what
//! completes the first one at the target, except that accumulating ones keep their order.

use super::order::Order;
use super::uses::{Exposed, Use, Uses};
use super::{Finding, Kind};
use crate::observation::one_sided::Operation;
use crate::questions::findings::alike::Alike;
use crate::questions::why::{ProcessIndex, Words};
use std::collections::{HashMap, HashSet};

/// Maximum number of pairs of operations in the same memory that are compared in a job.
const MOST_PAIRS: u64 = 1 << 24;

/// Function and line.
type Line<'a> = (&'a str, Option<&'a str>);

pub(super) fn conflicts(uses: &Uses<'_>, words: &Words<'_>) -> Vec<Finding> {
    let mut search = Search { uses, words, left: MOST_PAIRS, found: Alike::new() };
    search.of_one_origin();
    search.of_several_origins();
    search.found.naming_ranks(Kind::RMA_CONFLICT, |(_, (_, line), _)| *line)
}

struct Search<'s, 'a> {
    uses: &'s Uses<'a>,
    words: &'s Words<'s>,
    /// Number of pairs that may still be compared.
    left: u64,
    /// By the lines of both, and whether they are of one process.
    found: Alike<(Line<'s>, Line<'s>, bool)>,
}

impl<'s, 'a> Search<'s, 'a> {
    fn of_one_origin(&mut self) {
        let mut groups: HashMap<_, Vec<&'s Use<'a>>> = HashMap::new();
        for one in &self.uses.all {
            let group = (one.call.window, one.target, one.origin, one.completed.there);
            groups.entry(group).or_default().push(one);
        }
        let mut groups: Vec<_> = groups.into_iter().filter(|(_, group)| group.len() > 1).collect();
        groups.sort_unstable_by_key(|(key, _)| *key);
        for (_, group) in groups {
            let pairs = self.pairs(without_repetitions(group), true, |one, two| {
                let (first, second) = if one.place < two.place { (one, two) } else { (two, one) };
                second.place < first.done
            });
            pairs.into_iter().for_each(|pair| self.add(pair));
        }
    }

    fn of_several_origins(&mut self) {
        let mut groups: HashMap<_, Vec<&'s Use<'a>>> = HashMap::new();
        for one in self.uses.all.iter().filter(|one| one.exposed != Exposed::Otherwise) {
            groups.entry((one.call.window, one.target, one.exposed)).or_default().push(one);
        }
        let several = |group: &[&Use<'_>]| {
            let mut origins = group.iter().map(|one| one.origin);
            let first = origins.next();
            origins.any(|origin| Some(origin) != first)
        };
        let mut groups: Vec<_> = groups.into_iter().filter(|(_, group)| several(group)).collect();
        groups.sort_unstable_by_key(|(key, _)| *key);
        let order = Order::of(self.uses);
        for ((.., exposed), group) in groups {
            let locks = exposed == Exposed::Always;
            let group = if locks { group } else { without_repetitions(group) };
            let pairs = self.pairs(group, false, |one, two| {
                one.origin != two.origin && (!locks || order.is_none(one, two))
            });
            pairs.into_iter().for_each(|pair| self.add(pair));
        }
    }

    /// Returns pairs of operations that conflict, share bytes and are `unordered`.
    fn pairs(
        &mut self,
        mut group: Vec<&'s Use<'a>>,
        same: bool,
        unordered: impl Fn(&Use<'_>, &Use<'_>) -> bool,
    ) -> Vec<(&'s Use<'a>, &'s Use<'a>)> {
        group.sort_by_key(|one| (one.first, one.origin, one.place));
        // Operations that extend beyond the first byte of the current one, by kind.
        let mut open: Vec<(&Operation, Vec<&'s Use<'a>>)> = Vec::new();
        let mut found = Vec::new();
        for two in group {
            for (kind, uses) in &mut open {
                if !conflict(kind, &two.access.kind, same) {
                    continue;
                }
                uses.retain(|one| one.end > two.first);
                for one in uses {
                    self.left = self.left.saturating_sub(1);
                    if self.left == 0 {
                        return found;
                    }
                    if one.shared_with(two).is_some() && unordered(one, two) {
                        found.push((*one, two));
                    }
                }
            }
            match open.iter_mut().find(|(kind, _)| **kind == two.access.kind) {
                Some((_, uses)) => uses.push(two),
                None => open.push((&two.access.kind, vec![two])),
            }
        }
        found
    }

    fn add(&mut self, (one, two): (&'s Use<'a>, &'s Use<'a>)) {
        let same = one.origin == two.origin;
        let turned = if same { one.place > two.place } else { in_text(one) > in_text(two) };
        let (first, second) = if turned { (two, one) } else { (one, two) };
        let (uses, words) = (self.uses, self.words);
        let lines = (line(first), line(second), same);
        self.found
            .add(lines, words.members([one.origin, two.origin]), 1, || sentence(first, second, uses, words));
    }
}

/// What distinguishes operations of one process and line: kind, first byte, byte after the last one, number of
/// bytes, completion, and for those that write: what they write.
type Distinct<'a> = (&'a Operation, i128, i128, u64, usize, Option<(u64, usize)>);

/// Leaves out operations that differ in nothing that matters from an earlier one of the same process and line
/// and do not conflict with it. That includes puts of the same buffer, which the program must not change
/// before they are complete at the origin: their order does not matter.
fn without_repetitions<'s, 'a>(mut group: Vec<&'s Use<'a>>) -> Vec<&'s Use<'a>> {
    let mut known: HashSet<(ProcessIndex, Line<'_>, Distinct<'_>)> = HashSet::new();
    group.retain(|one| {
        let access = one.access;
        let puts = access.kind == Operation::Put;
        let written = puts.then_some((access.buffer, one.completed.here));
        let distinct = (&access.kind, one.first, one.end, access.bytes, one.done, written);
        puts && access.buffer == 0 || known.insert((one.origin, line(one), distinct))
    });
    group
}

fn line<'a>(of: &'a Use<'_>) -> Line<'a> {
    (of.call.call.function.as_str(), of.call.call.place.as_deref())
}

/// Orders operations by function, file and line: line 98 comes before line 100.
fn in_text<'a>(of: &'a Use<'_>) -> (&'a str, &'a str, Option<u64>) {
    let (function, place) = line(of);
    let (file, number) = place.and_then(|place| place.rsplit_once(':')).unwrap_or_default();
    (function, file, number.parse().ok())
}

/// Whether two operations on the same bytes must be ordered. `same`: they are of one process, which keeps the
/// order of those that accumulate elements of one type.
fn conflict(one: &Operation, two: &Operation, same: bool) -> bool {
    use Operation::{Accumulate, Get, Put};
    if !one.writes() && !two.writes() {
        return false;
    }
    match (one, two) {
        (Put | Get, _) | (_, Put | Get) => true,
        (Accumulate { op, element, .. }, Accumulate { op: other_op, element: other, .. }) => {
            !same && op != other_op || *element != 0 && *other != 0 && element != other
        }
        _ => false,
    }
}

/// Returns the window of an operation, as text for users.
pub(super) fn window<'a>(uses: &Uses<'a>, one: &Use<'_>) -> &'a str {
    let seen = uses.seen.get(&one.origin).map(|process| process.seen);
    let window = seen.and_then(|seen| seen.communicators.iter().find(|win| win.identity == one.call.window));
    window.map_or("a window", |window| window.name.as_str())
}

/// Describes an operation.
pub(super) fn said(one: &Use<'_>) -> String {
    let with = match &one.access.kind {
        Operation::Accumulate { op, .. } => format!(" with {op}"),
        _ => String::new(),
    };
    format!("{}{with}", one.call.call)
}

fn sentence(first: &Use<'_>, second: &Use<'_>, uses: &Uses<'_>, words: &Words<'_>) -> String {
    let whose = format!("the memory of rank {} in {}", words.rank(first.target), window(uses, first));
    if first.origin == second.origin {
        let what = match said(first) == said(second) {
            true => format!("{} twice", said(first)),
            false => format!("{} and {}", said(first), said(second)),
        };
        return format!(
            "rank {} accessed the same bytes of {whose} by {what}, and nothing completed the first operation before the \
             second",
            words.rank(first.origin)
        );
    }
    format!(
        "rank {} by {} and rank {} by {} accessed the same bytes of {whose}, and nothing ordered them",
        words.rank(first.origin),
        said(first),
        words.rank(second.origin),
        said(second)
    )
}
