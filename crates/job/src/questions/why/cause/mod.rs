//! Picks the one reason that explains what was observed, the most certain and most informative first.

mod action;
mod at_odds;
mod buffered;
mod creations;
mod distance;
mod elsewhere;
mod even;
mod fewer;
mod fewer_received;
mod left_out;
mod misdirected;
mod mismatch;
mod neighbors;
mod nobody;
mod not_started;
mod ongoing;
mod overwritten;
mod polling;
mod probed;
mod ring;
mod several;
mod several_senders;
mod silent;
mod skipped;
mod step;
mod strangers;
mod stuck;
mod taken;
mod unanswered;
mod unreceived_first;
mod wrong_group;
mod wrong_source;

use super::blocked::{blocked, blocked_in};
use super::evidence::{bounded, evidence};
use super::failed::{failed, first_look};
use super::leftover::{cancelled, leftover};
use super::matching::{self, Matched};
use super::messages::Pairs;
use super::progress;
use super::snapshot::{Condition, Failed, Process, ProcessIndex, Snapshot};
use super::verdict::{Culprit, Kind, Problem, SCHEMA, Verdict};
use super::words::{Words, ranks};
use crate::base::quantity::duration;
use crate::jobs::losses::Lost;
use crate::jobs::worlds::Members;
use std::cell::OnceCell;

/// Maximum number of links of a ring shown in a sentence; further ones are only counted.
const MOST_LINKS: usize = 8;
/// Advice if a rank has ended.
const WHY_GONE: &str =
    "find out why it ended: check its output, its exit status and its core file (mpiscope core)";
/// Advice if a rank has ended in a call with an error.
const WRONG_CALL: &str = "correct that call; what the library wrote to standard error may say more";
/// Advice if two threads are in collectives of one communicator.
const ORDER_THREADS: &str = "give each thread a communicator of its own, or let the threads take turns in the same order on all ranks";

/// A reason: the parts of a [`Verdict`] other than the evidence.
struct Reason {
    kind: Kind,
    verdict: String,
    culprits: Vec<Culprit>,
    cycle: Vec<ProcessIndex>,
    next: String,
    /// Whether it follows from the observations and not from how long they have lasted.
    certain: bool,
    /// The processes concerned, where reasons must be distinguished.
    about: Vec<ProcessIndex>,
}

impl Reason {
    fn new(kind: Kind, verdict: String, next: &str) -> Self {
        Self {
            kind,
            verdict,
            culprits: Vec::new(),
            cycle: Vec::new(),
            next: next.to_owned(),
            certain: false,
            about: Vec::new(),
        }
    }

    fn blaming(mut self, culprit: Culprit) -> Self {
        self.culprits.push(culprit);
        self
    }
}

/// The data that reasons are searched in.
struct Case<'a> {
    words: Words<'a>,
    snapshot: &'a Snapshot,
    acts: &'a [bool],
    /// Expensive for large jobs, so created on demand.
    pairs: OnceCell<Pairs<'a>>,
    completed: u64,
    seconds: f64,
}

/// Advice if the launcher belongs to another library.
pub const RIGHT_LAUNCHER: &str = "use the launcher that belongs to the MPI library of the program";

/// See [`verdict`](super::verdict()).
pub fn verdict(first: &Snapshot, second: &Snapshot, seconds: f64) -> Verdict {
    let second = &*progress::still_polling(first, second);
    let acts = progress::acts(first, second);
    let completed = progress::completed(first, second);
    let matched = matching::matched(second, &acts, completed);
    let second = matched.as_ref().map_or(second, |matched| &matched.snapshot);
    let mut found = blocked_in(second, &acts, false, &mismatch::endless(second, &acts));
    let case = Case {
        words: Words::new(second).with_busy(progress::busy(first, second)),
        snapshot: second,
        acts: &acts,
        pairs: OnceCell::new(),
        completed,
        seconds,
    };
    let mut certain = case.certain(&found).into_iter();
    let reason =
        certain.next().map(|reason| case.with_skipped(proven(reason, matched.as_ref()))).or_else(|| {
            let polling = blocked(second, &acts, true);
            let reason = case.polling(&polling, &found.live);
            if reason.as_ref().is_some_and(|reason| reason.kind == Kind::POLLING) {
                found = polling;
            }
            reason
        });
    let reason = reason.or_else(|| {
        let (reason, stuck) = case.overwritten()?;
        found = stuck;
        Some(reason)
    });
    let reason = reason.unwrap_or_else(|| case.going_on().advised(second));
    let ranks_of = |cycle: Vec<ProcessIndex>| cycle.iter().map(|one| case.words.rank(*one)).collect();
    let also = certain.map(|reason| Problem {
        verdict: reason.verdict,
        kind: reason.kind,
        culprits: reason.culprits,
        cycle: ranks_of(reason.cycle),
        next: reason.next,
    });
    let mut seen = evidence(second, &found);
    seen.extend(bounded(case.taken_elsewhere(&found), "messages that went to another receive"));
    seen.extend(leftover(&case.words, case.pairs(), &found, &reason.verdict));
    seen.extend(cancelled(&case.words, case.pairs(), &found));
    seen.extend(failed(&case.words, second, &found));
    let next = match first_look(second, &found).filter(|_| reason.kind.is_problem()) {
        Some(first) => format!("{first}; {}", reason.next),
        None => reason.next,
    };
    Verdict {
        schema: SCHEMA,
        verdict: reason.verdict,
        kind: reason.kind,
        problem: reason.kind.is_problem(),
        certain: reason.certain,
        culprits: reason.culprits,
        cycle: ranks_of(reason.cycle),
        also: also.collect(),
        stuck: case.words.members(found.stuck()),
        evidence: seen,
        unseen: case.all(|process| matches!(process.condition, Condition::Unseen(_))),
        not_seen: not_seen(&case.words, second),
        partial: false,
        looked_s: seconds,
        next,
    }
}

impl Reason {
    /// Threads that disturb each other explain why a job is slow better than anything that a profiler shows.
    fn advised(self, snapshot: &Snapshot) -> Self {
        let mut all = snapshot.processes.iter().flat_map(|process| &process.failed);
        match self.kind == Kind::SLOW && all.any(Failed::is_at_once) {
            true => Self { next: ORDER_THREADS.to_owned(), ..self },
            false => self,
        }
    }
}

/// Returns a reason that follows from the model, which may itself follow from how long nothing has moved.
fn proven(reason: Reason, matched: Option<&Matched>) -> Reason {
    let Some(matched) = matched else { return Reason { certain: true, ..reason } };
    let verdict = format!(
        "{}; which message went to a receive from any rank follows from the fact that nothing has moved for {}",
        reason.verdict,
        duration(matched.still_s)
    );
    Reason { verdict, certain: false, ..reason }
}

/// Returns what the verdict could not take into account.
pub fn not_seen(words: &Words<'_>, snapshot: &Snapshot) -> Vec<String> {
    let mut said = Vec::new();
    let unseen = |process: &Process| match &process.condition {
        Condition::Unseen(why) => Some(why.clone()),
        _ => None,
    };
    let mut reasons: Vec<(std::sync::Arc<str>, Vec<ProcessIndex>)> = Vec::new();
    for (index, process) in (0..).zip(&snapshot.processes) {
        let Some(why) = unseen(process) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ranks)) => ranks.push(index),
            None => reasons.push((why, vec![index])),
        }
    }
    said.extend(reasons.into_iter().map(|(why, of)| format!("{}: {why}", words.ranks(of))));
    let lost = (0..).zip(&snapshot.processes).filter(|(_, process)| process.lost).map(|(index, _)| index);
    let lost = words.members(lost);
    if !lost.is_empty() {
        said.push(format!(
            "messages of {}: some of their records were overwritten, or the library did not say which were received",
            ranks(&lost)
        ));
    }
    said.extend(snapshot.losses.iter().map(Lost::to_string));
    said
}

impl<'a> Case<'a> {
    fn pairs(&self) -> &Pairs<'a> {
        self.pairs.get_or_init(|| Pairs::of(self.snapshot))
    }

    fn process(&self, index: ProcessIndex) -> Option<&Process> {
        self.snapshot.processes.get(index as usize)
    }

    /// All processes for which a condition holds.
    fn all(&self, is: impl Fn(&Process) -> bool) -> Members {
        let all = (0..).zip(&self.snapshot.processes).filter(|(_, process)| is(process));
        self.words.members(all.map(|(index, _)| index))
    }

    fn culprit(&self, index: ProcessIndex) -> Culprit {
        let call = self.process(index).and_then(|process| process.calls().next());
        Culprit {
            ranks: self.words.members([index]),
            what: self.words.activity(index),
            place: call.and_then(|call| call.place.as_deref().map(str::to_owned)),
        }
    }

    /// The first of the processes that hold up the others, with the rest combined into one entry.
    fn culprits(&self, of: impl IntoIterator<Item = ProcessIndex>) -> Vec<Culprit> {
        let mut of = of.into_iter();
        let mut first: Vec<Culprit> = of.by_ref().take(MOST_LINKS).map(|one| self.culprit(one)).collect();
        let mut rest: Vec<ProcessIndex> = of.collect();
        rest.sort_unstable();
        rest.dedup();
        if let [one] = rest.as_slice() {
            first.push(self.culprit(*one));
        } else if !rest.is_empty() {
            let what = format!("and {} more", rest.len());
            first.push(Culprit { ranks: self.words.members(rest), what, place: None });
        }
        first
    }

    fn singletons(&self) -> Option<Reason> {
        self.words.singletons().map(|verdict| Reason::new(Kind::NOT_ONE_JOB, verdict, RIGHT_LAUNCHER))
    }
}
