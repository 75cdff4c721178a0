//! Nobody is stuck for certain: who is waited for, and what for.

use super::{Case, MOST_LINKS, Reason};
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Condition, Need, Process, ProcessIndex};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};

impl Case<'_> {
    /// Nobody is stuck for certain.
    pub(super) fn going_on(&self) -> Reason {
        if !self.snapshot.processes.is_empty() && self.snapshot.processes.iter().all(Process::is_gone) {
            let verdict = "finished: no rank is in MPI any more".to_owned();
            return Reason::new(Kind::FINISHED, verdict, "nothing to do");
        }
        self.waited_for().or_else(|| self.outside()).unwrap_or_else(|| {
            let members = self.words.members((0..).zip(&self.snapshot.processes).map(|(index, _)| index));
            let verdict = format!(
                "running: {} completed {} MPI calls in {:.1} s",
                ranks(&members),
                self.completed,
                self.seconds
            );
            Reason::new(Kind::RUNNING, verdict, "mpiscope ps shows what each rank does")
        })
    }

    /// Processes that completed no call and wait, for one that is free to act.
    fn waited_for(&self) -> Option<Reason> {
        let idle = |index: &ProcessIndex| {
            let acts = self.acts.get(*index as usize).copied().unwrap_or(false);
            !acts && self.process(*index).is_some_and(is_waiting)
        };
        let waiting: Vec<ProcessIndex> =
            (0..).zip(&self.snapshot.processes).map(|(index, _)| index).filter(idle).collect();
        let mut culprits = cycle::could_help(self.snapshot, waiting.iter().copied());
        culprits.retain(|peer| self.process(*peer).is_some_and(|process| !is_waiting(process)));
        let first = *culprits.first()?;
        let waiting = self.words.members(waiting);
        let held = self.words.members(culprits.iter().copied());
        let doing = |rank: ProcessIndex| {
            let process = self.process(rank);
            process
                .into_iter()
                .flat_map(|p| &p.threads)
                .any(|thread| thread.idle.doing.starts_with("stopped"))
        };
        let kind = if doing(first) { Kind::RANK_STOPPED } else { Kind::SLOW };
        let verdict = format!(
            "{} {} for {}: {}",
            ranks(&waiting),
            verb(&waiting, "waits", "wait"),
            ranks(&held),
            self.words.activity(first)
        );
        let next = if kind == Kind::RANK_STOPPED {
            "let it continue (kill -CONT, or in the debugger that stopped it)"
        } else {
            "look at what that rank does: mpiscope attach PID --batch bt, a profiler"
        };
        let mut reason = Reason::new(kind, verdict, next);
        reason.culprits.extend(culprits.into_iter().take(MOST_LINKS).map(|rank| self.culprit(rank)));
        Some(reason)
    }

    /// Somebody waits for something whose other side is not known: a window's other members, another job. A rank outside of
    /// MPI may be who is waited for; if there is none, the job alone cannot go on.
    fn outside(&self) -> Option<Reason> {
        let all = || (0..).zip(&self.snapshot.processes);
        let still = |index: ProcessIndex| !self.acts.get(index as usize).copied().unwrap_or(true);
        let (index, kind, what) = all().filter(|(index, _)| still(*index)).find_map(|(index, process)| {
            process.calls().flat_map(|call| call.wait.needs()).find_map(|need| match need {
                Need::Outside { kind, what } => Some((index, *kind, what)),
                _ => None,
            })
        })?;
        let verdict = format!("rank {} waits for {what}", self.words.rank(index));
        let free: Vec<ProcessIndex> = all()
            .filter(|(_, process)| !process.is_gone() && !is_waiting(process))
            .map(|(index, _)| index)
            .collect();
        let Some(first) = free.first().copied().filter(|_| kind != Kind::FILE) else {
            return Some(Reason::new(kind, verdict, "see the line of the call").blaming(self.culprit(index)));
        };
        let others = self.words.members(free.iter().copied());
        let verdict = format!("{verdict}; {}: {}", ranks(&others), self.words.activity(first));
        let mut reason =
            Reason::new(Kind::SLOW, verdict, "look at what those ranks do: mpiscope attach PID --batch bt");
        reason.culprits.extend(free.into_iter().take(MOST_LINKS).map(|rank| self.culprit(rank)));
        Some(reason)
    }
}

/// All its threads wait.
fn is_waiting(process: &Process) -> bool {
    let mut threads = process.threads.iter().filter(|thread| !thread.ended).peekable();
    threads.peek().is_some()
        && matches!(process.condition, Condition::Running | Condition::Starting)
        && threads.all(|thread| {
            thread.call.as_ref().is_some_and(|call| !call.wait.needs().is_empty() && !call.polling)
        })
}
