//! What processes learned from others through messages and collectives, and when.

use crate::base::waiting_functions::is_collective_that_waits;
use crate::observation::ledger::Line;
use crate::observation::{Collective, Observation};
use mpi_abi::{Class, FunctionId};
use mpiscope_image::traffic::EntryFlag;

/// When a process learned anything from others through MPI.
pub(super) struct Incoming {
    /// What it learned before is not known, in nanoseconds.
    known_from_ns: u64,
    /// When calls returned that received a message, sent one synchronously or waited in a collective; sorted.
    at_ns: Vec<u64>,
}

impl Incoming {
    /// Reads the records of a process; `None` if they are not complete, or if it may have learned something in
    /// another way: through a window or a file.
    pub(super) fn of(seen: &Observation) -> Option<Self> {
        Self::unless(seen, &[Class::ONE_SIDED, Class::IO])
    }

    /// The same for a process with windows: what it learned through their memory, or from locks and epochs, is
    /// left out.
    pub(super) fn beside_windows(seen: &Observation) -> Option<Self> {
        Self::unless(seen, &[Class::IO])
    }

    /// `None` if it made collective calls of these classes.
    fn unless(seen: &Observation, classes: &[Class]) -> Option<Self> {
        let ledger = seen.ledger.as_ref()?;
        if ledger.received.lines.len() as u64 != ledger.received.written || ledger.sent.wrapped {
            return None;
        }
        let received = ledger.received.lines.iter();
        let synchronous = ledger.sent.lines.iter().filter(|line| line.is(EntryFlag::SYNCHRONOUS));
        let calls = received.chain(synchronous).flat_map(Line::calls);
        let mut at_ns: Vec<u64> = calls.map(|call| call.until_ns).collect();
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
                at_ns.push(left.or_else(|| Some(completed()?.until_ns))?);
            }
        }
        at_ns.sort_unstable();
        Some(Self { known_from_ns, at_ns })
    }

    /// Whether it learned nothing between these times.
    pub(super) fn nothing_between(&self, from_ns: u64, until_ns: u64) -> bool {
        let next = self.at_ns.get(self.at_ns.partition_point(|at| *at <= from_ns));
        from_ns >= self.known_from_ns && next.is_none_or(|at| *at > until_ns)
    }
}

fn class(of: &Collective) -> Option<Class> {
    FunctionId::from_name(&of.function).map(|function| function.properties().class)
}
