//! What processes and their calls are called at one look: waits are remembered by names, since positions change from look to look.

use super::alike::{Alike, Who};
use super::calls::Calls;
use super::{Kind, Wait};
use crate::questions::why::{Joined, ProcessIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A wait with its names.
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
    /// What the one who was waited for did in the end, if it was in a call most of the time.
    pub working: String,
}

impl NamedWait {
    /// A receive for a late sender that was asked for before others that were there already waited in the wrong order.
    pub fn in_order(mut self, right: bool) -> Self {
        if !right && self.key.kind == Kind::LATE_SENDER {
            self.key.kind = Kind::WRONG_ORDER;
        }
        self
    }
}

/// Names at one look.
pub struct Names<'a> {
    calls: &'a Calls,
    processes: HashMap<ProcessIndex, Who>,
}

impl<'a> Names<'a> {
    /// Of all processes that were seen.
    pub fn of(joined: &Joined<'_>, calls: &'a Calls) -> Self {
        let mut worlds: HashMap<&str, Arc<str>> = HashMap::new();
        let mut processes = HashMap::new();
        for (me, _, rank, seen) in joined.processes() {
            let world = worlds.entry(&seen.world).or_insert_with(|| seen.world.as_str().into());
            processes.insert(me, (Arc::clone(world), rank));
        }
        Self { calls, processes }
    }

    /// Of a process.
    pub fn name(&self, who: ProcessIndex) -> Who {
        self.processes.get(&who).cloned().unwrap_or_else(|| ("".into(), None))
    }

    /// Of a wait.
    pub fn named(&self, wait: &Wait) -> NamedWait {
        let (meanwhile, working) = self.calls.meanwhile(wait.culprit, wait.span);
        let key = Alike {
            kind: wait.kind,
            function: wait.call.function.clone(),
            line: wait.call.place.clone(),
            culprit: self.name(wait.culprit),
            meanwhile,
        };
        NamedWait { key, who: self.name(wait.who), from_ns: wait.span.from, ns: wait.span.ns(), working }
    }
}
