//! What the threads of a core file were doing outside MPI: the registers show whether a thread was in a
//! system call and the stack where in user code it was, as the kernel does for live threads.

use super::{Dead, ProcessFile};
use crate::model::process::Process;
use crate::model::python;
use crate::observation::Context;
use crate::questions::earlier::has;
use crate::questions::stacks::asleep::{self, Asleep, Asleeps};
use crate::questions::stacks::frames::innermost;
use crate::questions::stacks::locked;
use crate::sources::core::walk;
use mpiscope_target::{Symbolizer, Target, Thread};

/// A process known from a file, and symbols for its frames.
pub struct AtDeath<'a> {
    /// The process.
    pub file: &'a ProcessFile,
    /// Resolves addresses.
    pub words: &'a Symbolizer,
}

impl AtDeath<'_> {
    fn thread(&self, tid: u32) -> Option<(&Dead, &Thread)> {
        let dead = self.file.dead.as_ref()?;
        let (at, thread) = dead.core.threads().iter().enumerate().find(|(_, thread)| thread.tid == tid)?;
        // The first thread is the one that died. Where its own fault struck says nothing about what it was
        // waiting for; a signal from outside finds every thread where it was.
        (at > 0 || !dead.end.own()).then_some((dead, thread))
    }

    /// Nothing can arrive any more, not even signals.
    fn only_mpi_could_wake(&self, dead: &Dead, asleep: &Asleep) -> bool {
        let threads = dead.core.threads().iter();
        let threads = threads.map(|thread| (thread.tid, Asleep::at_death(thread))).collect();
        let serves_mpi = |tid, asleep: &Asleep| {
            let thread = dead.core.threads().iter().find(|thread| thread.tid == tid);
            thread.is_some_and(|thread| serves_mpi(dead, asleep, thread))
        };
        Asleeps { threads, signals: false }.only_mpi_could_wake(&self.file.process, asleep, serves_mpi)
    }
}

/// Whether a thread serves MPI's connections without having been asked to by the program.
fn serves_mpi(dead: &Dead, asleep: &Asleep, thread: &Thread) -> bool {
    let of_mpi = || asleep::serves_mpi(&walk(&dead.core, &dead.modules, thread).frames, &dead.modules);
    asleep.serves() && of_mpi()
}

/// The process no longer changes, and the kernel cannot be asked.
impl Context for AtDeath<'_> {
    fn doing(&self, tid: u32) -> String {
        let Some((dead, thread)) = self.thread(tid) else { return String::new() };
        match Asleep::at_death(thread) {
            Some(asleep) => asleep.said(
                |asleep| locked::by_mpi(|| Some(&dead.core), &self.file.process, asleep),
                |asleep| self.only_mpi_could_wake(dead, asleep),
            ),
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

    fn others(&self) -> Vec<u32> {
        let Some(dead) = &self.file.dead else { return Vec::new() };
        let numbers: Vec<u32> = dead.core.threads().iter().map(|thread| thread.tid).collect();
        let strange = dead.core.threads().iter().filter(|thread| !has(&self.file.process, thread.tid));
        // A thread caught outside a system call is not known to have been able to do anything.
        let could_act = |thread: &&Thread| {
            Asleep::at_death(thread).is_some_and(|asleep| {
                !asleep.waits_for_a_thread(&numbers) && !serves_mpi(dead, &asleep, thread)
                    || locked::by_mpi(|| Some(&dead.core), &self.file.process, &asleep)
            }) || Asleep::computed(thread)
        };
        strange.filter(could_act).map(|thread| thread.tid).collect()
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
