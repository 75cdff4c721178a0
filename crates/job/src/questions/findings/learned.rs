//! What processes learned from others through messages and collectives, and when.

use crate::base::waiting_functions::is_collective_that_waits;
use crate::observation::ledger::Line;
use crate::observation::{Collective, Observation};
use mpi_abi::{Class, FunctionId};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{HashMap, HashSet};

/// When the last members entered each collective, by communicator and number: what happened to the others later, a member
/// cannot have learned in it. Known if all members are, and have one clock.
pub(super) struct LastEntries(HashMap<(u64, u64), Entries>);

/// When the members of a collective entered it.
#[derive(Default)]
struct Entries {
    count: u32,
    /// The process that entered last, and when.
    last: Option<(*const Observation, u64)>,
    /// When the last of the others did.
    before_ns: u64,
}

impl Entries {
    fn add(&mut self, member: &Observation, at_ns: u64) {
        self.count += 1;
        let last_ns = self.last.map_or(0, |(_, last_ns)| last_ns);
        if at_ns >= last_ns {
            self.before_ns = last_ns;
            self.last = Some((member, at_ns));
        } else {
            self.before_ns = self.before_ns.max(at_ns);
        }
    }

    /// When the last member other than this one entered.
    fn of_others(&self, member: &Observation) -> u64 {
        let others_last = self.last.filter(|(last, _)| !std::ptr::eq(*last, member));
        others_last.map_or(self.before_ns, |(_, at_ns)| at_ns)
    }
}

impl LastEntries {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Observation> + Clone) -> Self {
        let hosts: HashSet<&str> = all.clone().map(|seen| seen.host.as_str()).collect();
        let mut members: HashMap<u64, u32> = HashMap::new();
        let mut entered: HashMap<(u64, u64), Entries> = HashMap::new();
        for seen in all.filter(|_| hosts.len() == 1) {
            for comm in &seen.communicators {
                members.insert(comm.identity, comm.processes());
            }
            for history in &seen.history {
                let entries = history.entries.iter().zip(&history.times).filter(|(_, (from, _))| *from != 0);
                for ((number, _), (from, _)) in entries {
                    entered.entry((history.comm, *number)).or_default().add(seen, *from);
                }
            }
        }
        entered.retain(|(comm, _), entries| members.get(comm) == Some(&entries.count));
        Self(entered)
    }
}

/// When a process learned anything from others through MPI.
pub(super) struct Incoming {
    /// What it learned before is not known, in nanoseconds.
    known_from_ns: u64,
    /// What calls taught that received a message, sent one synchronously or waited in a collective; sorted.
    lessons: Vec<Lesson>,
}

/// What a process learned in a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lesson {
    /// When the call returned.
    at_ns: u64,
    /// Until when what it learned can have happened.
    news_ns: u64,
}

impl Incoming {
    /// Reads the records of a process; `None` if they are not complete, or if it may have learned something in
    /// another way: through a window or a file.
    pub(super) fn of(seen: &Observation, entries: &LastEntries) -> Option<Self> {
        Self::unless(seen, entries, &[Class::ONE_SIDED, Class::IO])
    }

    /// The same for a process with windows: what it learned through their memory, or from locks and epochs, is
    /// left out.
    pub(super) fn beside_windows(seen: &Observation, entries: &LastEntries) -> Option<Self> {
        Self::unless(seen, entries, &[Class::IO])
    }

    /// `None` if it made collective calls of these classes.
    fn unless(seen: &Observation, entries: &LastEntries, classes: &[Class]) -> Option<Self> {
        let ledger = seen.ledger.as_ref()?;
        if ledger.received.lines.len() as u64 != ledger.received.written || ledger.sent.wrapped {
            return None;
        }
        let received = ledger.received.lines.iter();
        let synchronous = ledger.sent.lines.iter().filter(|line| line.is(EntryFlag::SYNCHRONOUS));
        let calls = received.chain(synchronous).flat_map(Line::calls);
        let mut lessons: Vec<Lesson> =
            calls.map(|call| Lesson { at_ns: call.until_ns, news_ns: call.until_ns }).collect();
        let mut known_from_ns = 0;
        for history in &seen.history {
            let otherwise = |one: &Collective| class(one).is_some_and(|class| classes.contains(&class));
            if history.kinds.iter().any(otherwise) || history.times.len() != history.entries.len() {
                return None;
            }
            if let Some((from, _)) =
                history.times.first().filter(|_| history.newest > history.times.len() as u64)
            {
                known_from_ns = known_from_ns.max(*from);
            }
            for ((number, one), (_, until)) in history.iter().zip(&history.times) {
                let completed = || history.completed.iter().find(|done| done.number == number);
                let waits = is_collective_that_waits(&one.function) || class(one) == Some(Class::ONE_SIDED);
                let left = waits.then_some(*until);
                let at_ns = left.or_else(|| Some(completed()?.until_ns))?;
                let last = entries.0.get(&(history.comm, number)).map(|entries| entries.of_others(seen));
                lessons.push(Lesson { at_ns, news_ns: last.unwrap_or(at_ns) });
            }
        }
        lessons.sort_unstable();
        Some(Self { known_from_ns, lessons })
    }

    /// Whether it learned nothing between these times of what happened after the first of them.
    pub(super) fn nothing_between(&self, from_ns: u64, until_ns: u64) -> bool {
        let after = self.lessons.partition_point(|lesson| lesson.at_ns <= from_ns);
        let mut between = self.lessons.iter().skip(after).take_while(|lesson| lesson.at_ns <= until_ns);
        from_ns >= self.known_from_ns && !between.any(|lesson| lesson.news_ns > from_ns)
    }
}

fn class(of: &Collective) -> Option<Class> {
    FunctionId::from_name(&of.function).map(|function| function.properties().class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Communicator;
    use crate::observation::history::History;
    use crate::observation::ledger::Ledger;

    /// A rank of two that was in the second barrier between these times.
    fn rank(host: &str, entered: u64, left: u64) -> Observation {
        let barrier = Collective { function: "MPI_Barrier".into(), ..Collective::default() };
        let history = History {
            comm: 5,
            newest: 2,
            entries: vec![(1, 0), (2, 0)],
            kinds: vec![barrier],
            times: vec![(1, 2), (entered, left)],
            completed: Vec::new(),
        };
        let comm = Communicator { identity: 5, size: 2, ..Communicator::default() };
        Observation {
            host: host.into(),
            history: vec![history],
            communicators: vec![comm],
            ledger: Some(Box::<Ledger>::default()),
            ..Observation::default()
        }
    }

    fn learned_nothing(job: &[Observation; 2], from_ns: u64, until_ns: u64) -> Option<bool> {
        let entries = LastEntries::of(job.iter());
        Some(Incoming::of(&job[1], &entries)?.nothing_between(from_ns, until_ns))
    }

    #[test]
    fn nothing_that_happened_after_all_had_entered_a_collective_is_learned_in_it() {
        let job = [rank("a", 20, 21), rank("a", 10, 90)];
        assert_eq!(learned_nothing(&job, 15, 100), Some(false), "before the other one entered");
        assert_eq!(learned_nothing(&job, 30, 100), Some(true), "one left early");
        let late = [rank("a", 10, 21), rank("a", 20, 90)];
        assert_eq!(learned_nothing(&late, 15, 100), Some(true), "it was the last to enter");
        assert_eq!(learned_nothing(&late, 5, 100), Some(false));
        let apart = [rank("a", 10, 21), rank("b", 20, 90)];
        assert_eq!(learned_nothing(&apart, 30, 100), Some(false), "two clocks");
        let alone = [rank("a", 0, 0), rank("a", 20, 90)];
        assert_eq!(learned_nothing(&alone, 30, 100), Some(false), "a member is not known");
    }
}
