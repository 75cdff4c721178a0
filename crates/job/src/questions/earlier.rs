//! A process as recorded in the evidence file it was saved in.

use crate::jobs::evidence::About;
use crate::model::process::Process;
use crate::observation::Context;

/// What is stored for a thread that alternates polling and pausing.
pub(super) const PAUSES: &str = "sleeping in the system call clock_nanosleep";

/// What a host's kernel reported about a process when it was saved.
pub struct Earlier<'a> {
    pub about: &'a About,
    pub process: &'a Process,
    pub ended: Option<String>,
}

impl Context for Earlier<'_> {
    fn doing(&self, tid: u32) -> String {
        self.about.doing.get(&tid).cloned().unwrap_or_default()
    }

    fn at(&self, tid: u32) -> Option<String> {
        self.about.at.get(&tid).cloned()
    }

    fn pauses(&self, tid: u32) -> bool {
        self.about.doing.get(&tid).is_some_and(|doing| doing == PAUSES)
    }

    fn others(&self) -> Vec<u32> {
        self.about.doing.keys().copied().filter(|tid| !has(self.process, *tid)).collect()
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }
}

/// Returns whether a thread has called MPI.
pub(in crate::questions) fn has(process: &Process, tid: u32) -> bool {
    process.threads.iter().any(|thread| thread.tid == tid)
}
