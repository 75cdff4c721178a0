//! No process is certainly stuck: which ones are waited for, and for what.

use super::{Case, Reason, WHY_GONE, WRONG_CALL};
use crate::base::quantity::duration;
use crate::model::process_end::first;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Call, Condition, Need, Process, ProcessIndex, Receive, Thread};
use crate::questions::why::verdict::{Culprit, Kind};
use crate::questions::why::words::{finalized_then, is_stopped, ranks, verb, wrong_with};
use std::collections::HashSet;
use std::sync::Arc;

/// A wait on another side that cannot be seen is no problem yet if it began less than this many seconds ago: a
/// busy machine may not have run the ranks in the meantime.
const RECENT_S: f64 = 1.0;

impl Case<'_> {
    /// The verdict if no process is certainly stuck.
    pub(super) fn going_on(&self) -> Reason {
        if !self.snapshot.processes.is_empty() && self.snapshot.processes.iter().all(Process::is_gone) {
            let finished = || {
                let verdict = "finished: no rank is in MPI any more".to_owned();
                Reason::new(Kind::FINISHED, verdict, "nothing to do")
            };
            return self.ended().unwrap_or_else(finished);
        }
        self.waited_for()
            .or_else(|| self.stopped())
            .or_else(|| self.outside())
            .or_else(|| self.ended())
            .or_else(|| self.still())
            .unwrap_or_else(|| self.running())
    }

    /// No process waits for them, but some ranks have ended that should not have.
    fn ended(&self) -> Option<Reason> {
        // A process that never knew its rank has not passed MPI_Init and may not have belonged to the job.
        let is_one = |process: &Process| {
            let ended = matches!(process.condition, Condition::Ended(_)) || finalized_then(process).is_some();
            ended && process.rank != u32::MAX
        };
        let all = || (0..).zip(&self.snapshot.processes);
        if let Some(first) = self.first_to_end() {
            return Some(first);
        }
        let ended: Vec<ProcessIndex> =
            all().filter(|(_, process)| is_one(process)).map(|(one, _)| one).collect();
        let one = *ended.first()?;
        let who = self.words.members(ended.iter().copied());
        let verdict = match ended.as_slice() {
            [_] => format!(
                "{} has ended: {}; no rank waits for it",
                ranks(&who),
                self.words.end(self.process(one)?)
            ),
            several => {
                format!("{} have ended ({}); no rank waits for them", ranks(&who), self.words.ends(several))
            }
        };
        let reason = Reason::new(Kind::RANK_GONE, verdict, self.why_gone(one));
        Some(reason.blaming(Culprit { ranks: who, ..self.culprit(one) }))
    }

    /// Several ranks have ended that should not have, and it is known which was first.
    fn first_to_end(&self) -> Option<Reason> {
        let named = || (0..).zip(&self.snapshot.processes).filter(|(_, process)| process.rank != u32::MAX);
        let ended = || named().filter_map(|(one, process)| Some((one, process, process.bad_end?)));
        let hosts: HashSet<&str> = ended().map(|(_, process, _)| &*process.host).collect();
        // Each host has its own clock.
        let known = first(ended().map(|(one, _, end)| (one, end))).filter(|_| hosts.len() == 1)?;
        let others = ended().map(|(one, ..)| one).filter(|one| *one != known.who);
        let how = Some(self.words.end(self.process(known.who)?)).filter(|how| !how.is_empty())?;
        let before = known.before_ns.map_or_else(String::new, |ns| format!("{} ", duration(ns as f64 / 1e9)));
        let verdict = format!(
            "rank {} was the first to end: {how}; {before}before {}",
            self.words.rank(known.who),
            self.words.ranks(others)
        );
        let reason = Reason::new(Kind::RANK_GONE, verdict, self.why_gone(known.who));
        Some(reason.blaming(self.culprit(known.who)))
    }

    /// What to look at after the end of a process.
    fn why_gone(&self, one: ProcessIndex) -> &'static str {
        let is_known = |process: &Process| process.calls().any(|call| !wrong_with(process, call).is_empty());
        if self.process(one).is_some_and(is_known) { WRONG_CALL } else { WHY_GONE }
    }

    /// Processes are in calls and none has returned; what they need has arrived or is unknown, or one of
    /// their own threads may provide it.
    fn still(&self) -> Option<Reason> {
        let inside = |process: &Process| process.calls().any(|call| !call.polling);
        let rest = |process: &&Process| !process.is_gone();
        let still = self.seconds > 0.0
            && self.completed == 0
            && self.acts.iter().all(|acts| !acts)
            && self.snapshot.processes.iter().filter(rest).any(inside);
        let all = || (0..).zip(&self.snapshot.processes);
        let (one, _) = all().find(|(_, process)| still && inside(process))?;
        // A thread that is free to act may be what the others wait for.
        let free = |process: &Process| process.threads.iter().any(Thread::is_free);
        if let Some((one, _)) = all().find(|(_, process)| rest(process) && free(process)) {
            let verdict = format!(
                "{} completed no MPI call in {}; rank {} is {}",
                ranks(&self.all(|process| !process.is_gone())),
                duration(self.seconds),
                self.words.rank(one),
                self.words.activity(one)
            );
            let next = format!("see what its threads are doing: {}", self.attach(one));
            return Some(Reason::new(Kind::SLOW, verdict, &next).blaming(self.culprit(one)));
        }
        let (one, known) = match all().find(|(one, process)| rest(process) && self.has_come(*one, process)) {
            Some((one, _)) => {
                let rank = self.words.rank(one);
                (one, format!("what rank {rank} waits for has been sent, but the rank has not received it"))
            }
            None => (one, "what they wait for is unknown".to_owned()),
        };
        let verdict = format!(
            "{} completed no MPI call in {}, and {known}; rank {} is {}",
            ranks(&self.all(|process| !process.is_gone())),
            duration(self.seconds),
            self.words.rank(one),
            self.words.activity(one)
        );
        let next = "mpiscope ps --stacks shows where in the library they are";
        Some(Reason::new(Kind::SLOW, verdict, next))
    }

    /// Whether a call of a process waits for messages all of which have been sent.
    fn has_come(&self, one: ProcessIndex, process: &Process) -> bool {
        let sent = |receive: &Receive| {
            let mut posted = self.pairs().posted_by(one).iter();
            posted.any(|((_, known), sent)| {
                sent.is_some() && (known.matches, known.order) == (receive.matches, receive.order)
            })
        };
        process.calls().any(|call| {
            let needs = call.wait.needs();
            let come = |need: &Need| matches!(need, Need::Message(receive) if sent(receive));
            !call.polling && !needs.is_empty() && needs.iter().all(come)
        })
    }

    fn running(&self) -> Reason {
        let members = self.all(|_| true);
        let who = ranks(&members);
        let verdict = if self.seconds > 0.0 {
            let calls = match self.completed {
                0 => "no MPI call".to_owned(),
                1 => "1 MPI call".to_owned(),
                several => format!("{several} MPI calls"),
            };
            format!("running: {who} completed {calls} in {}", duration(self.seconds))
        } else {
            // There was only one look: nothing is known about progress.
            format!("{who} {} for no other rank", verb(&members, "waits", "wait"))
        };
        Reason::new(Kind::RUNNING, verdict, "mpiscope ps shows what each rank is doing")
    }

    /// Processes that completed no call and wait for one that is free to act.
    fn waited_for(&self) -> Option<Reason> {
        let (waiting, culprits) = self.waiting_and_awaited();
        // If all of those are waiting just now, the culprits are those that have completed calls in the
        // meantime.
        let (culprits, meanwhile) = match culprits.is_empty() {
            true => {
                let mut all = cycle::could_help(self.snapshot, waiting.iter().copied());
                all.retain(|index| self.acts(*index));
                (all, ", and completed calls in the meantime")
            }
            false => (culprits, ""),
        };
        let by_doing = self.words.doings(&culprits);
        let first = *by_doing.first()?.first()?;
        let waiting = self.words.members(waiting);
        let kind = match self.process(first).is_some_and(is_stopped) {
            true => Kind::RANK_STOPPED,
            false => Kind::SLOW,
        };
        let verdict = format!(
            "{} {} for {}{meanwhile}",
            ranks(&waiting),
            verb(&waiting, "waits", "wait"),
            self.words.doing(&by_doing)
        );
        let mut reason = Reason::new(kind, verdict, &self.how_to_see(first, kind));
        let culprits = by_doing.into_iter().flatten();
        reason.culprits.extend(self.culprits(culprits));
        Some(reason)
    }

    /// Returns the processes that wait and have completed no call, and those that they wait for and that do not
    /// wait.
    fn waiting_and_awaited(&self) -> (Vec<ProcessIndex>, Vec<ProcessIndex>) {
        let is = |index: &ProcessIndex, what: fn(&Process) -> bool| self.process(*index).is_some_and(what);
        let idle = |index: &ProcessIndex| !self.acts(*index) && is(index, is_waiting);
        let all = || (0..).zip(&self.snapshot.processes).map(|(index, _)| index);
        // One that makes many calls does not wait, whichever of them it is in just now.
        let goes_on = |peer: ProcessIndex| self.acts(peer) && self.words.is_busy(peer);
        let awaited = |waiting: &[ProcessIndex], waits: &dyn Fn(&Process) -> bool| {
            let mut awaited = cycle::could_help(self.snapshot, waiting.iter().copied());
            awaited
                .retain(|peer| goes_on(*peer) || self.process(*peer).is_some_and(|process| !waits(process)));
            awaited
        };
        let waiting: Vec<ProcessIndex> = all().filter(idle).collect();
        let culprits = awaited(&waiting, &is_waiting);
        // A process that only polls waits too: the process it polls for holds up all of them, or is all there
        // is to report.
        let only_asks = |index: &ProcessIndex| !self.acts(*index) && is(index, is_asking);
        let asks = |index: &ProcessIndex| idle(index) || is(index, is_asking) && !goes_on(*index);
        let (asking, also) = match waiting.is_empty() {
            true => (all().filter(only_asks).collect::<Vec<_>>(), true),
            false => (all().filter(asks).collect(), culprits.iter().any(asks)),
        };
        let further = awaited(&asking, &|process| is_waiting(process) || is_asking(process));
        if also && !further.is_empty() { (asking, further) } else { (waiting, culprits) }
    }

    /// Whether the process has completed calls between the two looks.
    fn acts(&self, index: ProcessIndex) -> bool {
        self.acts.get(index as usize).copied().unwrap_or(false)
    }

    /// Returns the next thing to try about a process that others wait for.
    fn how_to_see(&self, awaited: ProcessIndex, kind: Kind) -> String {
        let unseen = self.process(awaited).is_some_and(|p| matches!(p.condition, Condition::Unseen(_)));
        match kind {
            Kind::RANK_STOPPED => "resume it (kill -CONT, or in the debugger that stopped it)".to_owned(),
            _ if unseen => "find out what that rank is doing: it could not be seen".to_owned(),
            _ if self.seconds > 0.0 => {
                format!("see what that rank is doing: {}, or use a profiler", self.attach(awaited))
            }
            _ => "look at the stack of that rank: mpiscope why --stacks, with the same files".to_owned(),
        }
    }

    /// Returns the command that shows the stack of a rank, to be run on its host.
    fn attach(&self, rank: ProcessIndex) -> String {
        match self.process(rank).filter(|process| process.pid != 0) {
            Some(Process { pid, rank, host, .. }) => {
                format!("mpiscope attach {pid} --ranks {rank} --batch bt (on {host})")
            }
            None => "mpiscope attach PID --batch bt".to_owned(),
        }
    }

    /// Processes were stopped inside calls. Whatever these wait for, they do not return; and others may wait for
    /// what the library does in them.
    fn stopped(&self) -> Option<Reason> {
        let inside = |process: &Process| is_stopped(process) && process.calls().next().is_some();
        let all = (0..).zip(&self.snapshot.processes).filter(|(_, process)| inside(process));
        let stopped: Vec<ProcessIndex> =
            all.map(|(index, _)| index).filter(|index| !self.acts(*index)).collect();
        let by_doing = self.words.doings(&stopped);
        let first = *by_doing.first()?.first()?;
        let verdict = self.words.each_doing(&by_doing);
        let mut reason =
            Reason::new(Kind::RANK_STOPPED, verdict, &self.how_to_see(first, Kind::RANK_STOPPED));
        reason.culprits.extend(self.culprits(stopped));
        Some(reason)
    }

    /// A process waits for something whose other side is unknown: other members of a window, another job. A
    /// rank outside MPI may be the one waited for; if there is none, the job cannot go on by itself.
    fn outside(&self) -> Option<Reason> {
        let all = || (0..).zip(&self.snapshot.processes);
        let still = |index: ProcessIndex| !self.acts.get(index as usize).copied().unwrap_or(true);
        let outside = |call: &Call| {
            call.wait.needs().iter().find_map(|need| match need {
                Need::Outside { kind, what } => Some((call.age_s, *kind, Arc::clone(what))),
                _ => None,
            })
        };
        let (index, (age_s, kind, what)) = all()
            .filter(|(index, _)| still(*index))
            .find_map(|(index, process)| Some((index, process.calls().find_map(outside)?)))?;
        let recent = age_s.filter(|age| *age < RECENT_S);
        let kind =
            if kind == Kind::RUNNING || recent.is_some() && kind != Kind::FILE { Kind::SLOW } else { kind };
        let verdict = format!("rank {} waits for {what}", self.words.rank(index));
        let free: Vec<ProcessIndex> = all()
            .filter(|(_, process)| !process.is_gone() && !is_waiting(process))
            .map(|(index, _)| index)
            .collect();
        let free = self.words.doings(&free);
        let first = free.iter().flatten().next();
        let Some(first) = first.copied().filter(|_| kind != Kind::FILE) else {
            let next = match recent {
                Some(age) => &format!("look again: it has waited for only {}", duration(age)),
                None => "see the line of the call",
            };
            return Some(Reason::new(kind, verdict, next).blaming(self.culprit(index)));
        };
        let verdict = format!("{verdict}; {}", self.words.doing(&free));
        let next = format!("see what those ranks are doing: {}", self.attach(first));
        let mut reason = Reason::new(Kind::SLOW, verdict, &next);
        reason.culprits.extend(self.culprits(free.into_iter().flatten()));
        Some(reason)
    }
}

/// Whether all its threads wait or poll, and what they poll for has not arrived.
fn is_asking(process: &Process) -> bool {
    let mut threads = process.threads.iter().filter(|thread| !thread.ended).peekable();
    threads.peek().is_some()
        && !is_stopped(process)
        && process.condition == Condition::Running
        && threads.all(|thread| thread.call.as_ref().is_some_and(|call| !call.wait.needs().is_empty()))
}

/// Whether all its threads wait. One that was stopped does not: it must first be resumed.
fn is_waiting(process: &Process) -> bool {
    let mut threads = process.threads.iter().filter(|thread| !thread.ended).peekable();
    threads.peek().is_some()
        && !is_stopped(process)
        && matches!(process.condition, Condition::Running | Condition::Starting)
        && threads.all(|thread| {
            thread.call.as_ref().is_some_and(|call| !call.wait.needs().is_empty() && !call.polling)
        })
}
