//! What the threads of a core file were doing outside of MPI: the registers say whether a thread was in a system call, and the stack
//! where the user's code was, as the kernel says of living ones.

use super::{Dead, ProcessFile};
use crate::model::process::Process;
use crate::model::python;
use crate::observation::Context;
use crate::questions::stacks::asleep::{Asleep, Asleeps};
use crate::questions::stacks::frames::innermost;
use crate::sources::core::walk;
use mpiscope_target::{Symbolizer, Target, Thread};

/// A process of which a file is left, and words for its frames.
pub struct AtDeath<'a> {
    /// The process.
    pub file: &'a ProcessFile,
    /// Gives words for addresses.
    pub words: &'a Symbolizer,
}

impl AtDeath<'_> {
    fn thread(&self, tid: u32) -> Option<(&Dead, &Thread)> {
        let dead = self.file.dead.as_ref()?;
        let thread = dead.core.threads().iter().find(|thread| thread.tid == tid)?;
        // Where a signal struck says nothing of what the thread was waiting for.
        (thread.signal == 0 || dead.end.signal.is_none()).then_some((dead, thread))
    }

    /// Nothing can come any more, signals neither.
    fn only_mpi_could_wake(&self, dead: &Dead, asleep: &Asleep) -> bool {
        let threads = dead.core.threads().iter();
        let threads = threads.map(|thread| (thread.tid, Asleep::at_death(thread))).collect();
        Asleeps { threads, signals: false }.only_mpi_could_wake(&self.file.process, asleep)
    }
}

/// Nothing moves any more, and the kernel cannot be asked.
impl Context for AtDeath<'_> {
    fn doing(&self, tid: u32) -> String {
        let Some((dead, thread)) = self.thread(tid) else { return String::new() };
        match Asleep::at_death(thread) {
            Some(asleep) => asleep.said(|asleep| self.only_mpi_could_wake(dead, asleep)),
            None if Asleep::computed(thread) => "computing".to_owned(),
            None => String::new(),
        }
    }

    fn at(&self, tid: u32) -> Option<String> {
        let (dead, thread) = self.thread(tid)?;
        if dead.stale.is_some() {
            return None;
        }
        let facts = self.file.process.threads.iter().find(|facts| facts.tid == tid);
        if let Some(place) = facts.and_then(|facts| python::innermost(&dead.core, facts)) {
            return Some(place);
        }
        let walked = walk(&dead.core, &dead.modules, thread);
        let program = dead.core.executable();
        innermost(&walked.frames, &dead.modules, self.words, &self.file.process, program.as_deref())
    }

    fn pauses(&self, tid: u32) -> bool {
        self.thread(tid)
            .and_then(|(_, thread)| Asleep::at_death(thread))
            .is_some_and(|asleep| asleep.pauses())
    }

    fn ended(&self) -> Option<String> {
        self.file.dead.as_ref()?.end.failure()
    }

    fn age(&self, process: &Process, since: u64) -> Option<f64> {
        match &self.file.dead {
            Some(dead) => dead.age(process, since),
            None => Some(process.clock.end_ns().saturating_sub(process.clock.ns_at(since)) as f64 / 1e9),
        }
    }
}
