//! What was observed, with ranks that do the same combined into one line.
//!
//! Ranks in one function at one place that wait on one communicator share a line even if each waits for
//! another peer, so a stencil of a hundred thousand ranks takes a few lines.

use super::blocked::Blocked;
use super::snapshot::{Call, CommIndex, Condition, Need, Process, ProcessIndex, Snapshot, Unequal};
use super::verdict::Evidence;
use super::words::{Words, is_stopped, outside as outside_of_mpi};
use crate::jobs::worlds::Members;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// The key by which ranks share a line.
#[derive(PartialEq, Eq, Hash)]
enum Class<'a> {
    /// In a call, with the subject of its first need.
    Inside(bool, &'a str, Option<&'a str>, Option<(Discriminant<Need>, Option<CommIndex>, u64)>),
    /// Not in a call.
    Outside(bool, String),
    /// A thread that is not in a call while other threads of the same process are.
    Another(bool, String),
}

/// A line, with its first rank and that rank's call; no rank if the line is about one of several threads.
struct Line<'a> {
    evidence: Evidence,
    first: Option<ProcessIndex>,
    call: Option<&'a Call>,
    alike: bool,
}

/// Returns everything observed, stuck ranks first, then the largest groups.
pub fn evidence(snapshot: &Snapshot, blocked: &Blocked) -> Vec<Evidence> {
    let words = Words::new(snapshot);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut known: HashMap<Class<'_>, usize> = HashMap::new();
    for (index, process) in (0..).zip(&snapshot.processes) {
        let stuck = blocked.stuck.get(index as usize).copied().unwrap_or(false);
        for (class, call) in classes(&words, index, process, stuck) {
            let line = *known.entry(class).or_insert_with_key(|class| {
                lines.push(new(class, index, call));
                lines.len() - 1
            });
            if let Some(line) = lines.get_mut(line) {
                line.add(process, call);
            }
        }
    }
    let mut evidence: Vec<Evidence> = lines.into_iter().map(|line| line.say(&words)).collect();
    evidence.sort_by_key(|line| (!line.stuck, usize::MAX - line.ranks.len()));
    evidence
        .extend(bounded(snapshot.unequal.iter().map(|one| unequal(&words, one)).collect(), "such messages"));
    evidence
}

fn unequal(words: &Words<'_>, one: &Unequal) -> Evidence {
    Evidence {
        ranks: words.members([one.sent.0, one.received.0]),
        what: words.unequal(one),
        function: None,
        place: one.received.2.as_deref().map(str::to_owned),
        since_s: None,
        stuck: false,
    }
}

/// Maximum number of lines shown per kind.
const MOST_LINES: usize = 4;

/// Returns the first of these lines, and one that counts the rest and their ranks; `kind` is what the lines
/// are about.
pub fn bounded(mut lines: Vec<Evidence>, kind: &str) -> Vec<Evidence> {
    if lines.len() <= MOST_LINES + 1 {
        return lines;
    }
    let rest = lines.split_off(MOST_LINES);
    let (count, mut ranks) = (rest.len(), Members::default());
    rest.into_iter().for_each(|line| ranks.join(line.ranks));
    let what = format!("and {count} more places of {kind}");
    lines.push(Evidence { ranks, what, function: None, place: None, since_s: None, stuck: true });
    lines
}

fn classes<'a>(
    words: &Words<'_>,
    index: ProcessIndex,
    process: &'a Process,
    stuck: bool,
) -> Vec<(Class<'a>, Option<&'a Call>)> {
    let inside = matches!(process.condition, Condition::Running | Condition::Starting);
    let calls: Vec<&Call> = process.calls().filter(|_| inside).collect();
    if calls.is_empty() || is_stopped(process) {
        return vec![(Class::Outside(stuck, words.activity(index)), None)];
    }
    let class = |call: &'a Call| {
        let about = call.wait.needs().first().map(|need| (discriminant(need), comm(need), number(need)));
        (Class::Inside(stuck, &call.function, call.place.as_deref(), about), Some(call))
    };
    // A thread outside MPI may be what the others wait for, or wait for one of them.
    let outside = process.threads.iter().filter(|thread| !thread.ended && thread.call.is_none());
    let outside = outside.filter(|thread| !thread.idle.doing.is_empty());
    let another = outside.map(|thread| {
        let what = format!("another thread is {}", outside_of_mpi(&thread.idle));
        (Class::Another(stuck, what), None)
    });
    calls.into_iter().map(class).chain(another).collect()
}

fn comm(need: &Need) -> Option<CommIndex> {
    match need {
        Need::Message(receive) => Some(receive.matches.comm),
        Need::Receiver(message) => Some(message.comm),
        Need::Collective(collective) => Some(collective.comm),
        Need::Action { .. } | Need::Outside { .. } => None,
    }
}

fn number(need: &Need) -> u64 {
    if let Need::Collective(collective) = need { collective.number } else { 0 }
}

fn new<'a>(class: &Class<'a>, first: ProcessIndex, call: Option<&'a Call>) -> Line<'a> {
    let (stuck, function, place, what) = match class {
        Class::Inside(stuck, function, place, _) => (*stuck, Some(*function), *place, String::new()),
        Class::Outside(stuck, what) | Class::Another(stuck, what) => (*stuck, None, None, what.clone()),
    };
    let evidence = Evidence {
        ranks: Members::default(),
        what,
        function: function.map(str::to_owned),
        place: place.map(str::to_owned),
        since_s: None,
        stuck,
    };
    let first = (!matches!(class, Class::Another(..))).then_some(first);
    Line { evidence, first, call, alike: true }
}

impl Line<'_> {
    fn add(&mut self, process: &Process, call: Option<&Call>) {
        self.evidence.ranks.add(process.world, Some(process.rank));
        let (Some(first), Some(call)) = (self.call, call) else { return };
        self.alike &= same(first, call);
        if let Some(age) = call.age_s {
            let (least, greatest) = self.evidence.since_s.unwrap_or((age, age));
            self.evidence.since_s = Some((least.min(age), greatest.max(age)));
        }
    }

    fn say(mut self, words: &Words<'_>) -> Evidence {
        if let Some(call) = self.call {
            self.evidence.what = if self.alike { words.call(call) } else { words.calls(call) };
        } else if let Some(first) = self.first
            && self.evidence.ranks.len() > 1
        {
            self.evidence.what = words.activity_of(first, self.evidence.ranks.len());
        }
        self.evidence
    }
}

/// Whether two calls wait for the same thing.
fn same(a: &Call, b: &Call) -> bool {
    let pair = |(a, b): (&Need, &Need)| match (a, b) {
        (Need::Message(a), Need::Message(b)) => a.matches == b.matches,
        (Need::Receiver(a), Need::Receiver(b)) => (a.to, a.comm, a.tag) == (b.to, b.comm, b.tag),
        (Need::Collective(a), Need::Collective(b)) => (a.comm, a.number) == (b.comm, b.number),
        (Need::Action { by: a, what: x, .. }, Need::Action { by: b, what: y, .. }) => (a, x) == (b, y),
        (Need::Outside { what: a, .. }, Need::Outside { what: b, .. }) => a == b,
        _ => false,
    };
    let (a, b) = (a.wait.needs(), b.wait.needs());
    a.len() == b.len() && a.iter().zip(b).take(2).all(pair)
}
