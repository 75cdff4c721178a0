//! Names for processes and their calls: waits are remembered by name, since indexes change from pass to pass.

use super::alike::{Alike, Of, Who};
use super::calls::Calls;
use super::{Kind, Wait};
use crate::questions::why::{Joined, ProcessIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A wait with names instead of indexes.
#[derive(Debug, Clone)]
pub struct NamedWait {
    #[allow(missing_docs)]
    pub key: Alike,
    #[allow(missing_docs)]
    pub who: Who,
    /// When it began.
    pub from_ns: u64,
    #[allow(missing_docs)]
    pub ns: u64,
    /// The work of the process waited for after its last call, even if it was in a call most of the time.
    pub working: String,
    /// Whether the process waited for had several threads in MPI: its waits say nothing about this one.
    pub threads: bool,
}

impl NamedWait {
    /// A receive waiting for a late sender while other messages had already arrived waited in the wrong
    /// order.
    pub fn in_order(mut self, right: bool) -> Self {
        if !right && self.key.kind == Kind::LATE_SENDER {
            self.key.kind = Kind::WRONG_ORDER;
        }
        self
    }
}

/// The names used in one pass.
pub struct Names<'a> {
    calls: &'a Calls,
    processes: HashMap<ProcessIndex, Who>,
}

impl<'a> Names<'a> {
    /// Collects the names of all observed processes.
    pub fn of(joined: &Joined<'_>, calls: &'a Calls) -> Self {
        let mut worlds: HashMap<&str, Arc<str>> = HashMap::new();
        let mut processes = HashMap::new();
        for (me, _, rank, seen) in joined.processes() {
            let world = worlds.entry(&seen.world).or_insert_with(|| seen.world.as_str().into());
            processes.insert(me, (Arc::clone(world), rank));
        }
        Self { calls, processes }
    }

    /// Returns the name of a process.
    pub fn name(&self, who: ProcessIndex) -> Who {
        self.processes.get(&who).cloned().unwrap_or_else(|| ("".into(), None))
    }

    /// Returns a wait with names.
    pub fn named(&self, wait: &Wait) -> NamedWait {
        let (meanwhile, working) = self.calls.meanwhile(wait.culprit, wait.who, wait.span);
        let key = Alike {
            kind: wait.kind,
            function: wait.call.function.clone(),
            line: wait.call.place.clone(),
            culprit: self.name(wait.culprit),
            meanwhile,
            of: wait.message.map(|(comm, end)| Of::Messages(comm, end)),
        };
        let who = self.name(wait.who);
        let threads = self.calls.has_several_threads(wait.culprit, wait.span);
        NamedWait { key, who, from_ns: wait.span.from, ns: wait.span.ns(), working, threads }
    }
}
