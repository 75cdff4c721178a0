//! The stacks of threads that call MPI, from running processes, evidence files and core files, merged across
//! all ranks.
//!
//! ```text
//! running process ──► a short stop (stop) ─┐
//! core file ──► registers in the file ─────┼─► frames, by the unwind tables ──► text ──► one tree with rank sets (tree)
//! evidence file: text stored when it was saved ──────────────────────────────────┘
//! ```
//!
//! Only the user's frames are shown: from `main` (or the start of a thread) to the MPI call, without the MPI
//! library's internals. If a process may not be traced, only the return address of its open call is known,
//! and the answer says so.

pub mod asleep;
mod copied;
pub(crate) mod frames;
pub mod locked;
mod restarted;
mod stop;
mod tree;
mod vdso;

/// Resolves addresses.
pub use mpiscope_target::Symbolizer;
pub use tree::{Node, Stacks, merge};

use self::copied::Copied;
use self::frames::Show;
use self::vdso::vdso;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::live_process;
use crate::jobs::worlds;
use crate::model::locate::Locate;
use crate::model::objects::ProcessContext;
use crate::model::process::{Process, ThreadFacts};
use crate::model::python;
use crate::model::rank::SymbolContext;
use crate::model::thread_stack::ThreadStack;
use crate::observation::Context;
use crate::questions::live::{self, Places};
use crate::questions::process_file::{AtDeath, ProcessFile};
use crate::sources::core::walk_from;
use mpiscope_target::procfs;
use mpiscope_target::{Live, Target};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The stacks of a process.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Name of its world.
    pub world: String,
    /// Its rank, if known.
    pub rank: Option<u32>,
    /// When it started, by its host's clock.
    pub begin_ns: u64,
    /// Stacks of its live threads that have called MPI.
    pub threads: Vec<ThreadStack>,
}

/// Returns the stacks of all processes of a job on this host, or of those stored in an evidence file. Running
/// processes are stopped for a moment, one thread at a time.
#[must_use]
pub fn of_job(job: &Job, symbols: &dyn Locate) -> Vec<Taken> {
    let (reader, places) = (live_process::Reader::default(), Places::default());
    let of = |found: &JobImage| {
        let living = reader.read(found).ok().flatten()?;
        let process = &living.process;
        let threads = match found.about() {
            Some(about) => kept(process, &about.stacks, symbols),
            None if living.alive => of_process(found, process, &places, symbols),
            None => Vec::new(),
        };
        Some((living.process, threads))
    };
    let (mut processes, stacks): (Vec<_>, Vec<_>) = job.images.iter().filter_map(of).unzip();
    worlds::settle(&mut processes.iter_mut().collect::<Vec<_>>());
    let taken = |(process, threads): (Process, _)| {
        let Process { world, rank, begin_ns, .. } = process;
        Taken { world, rank, begin_ns, threads }
    };
    processes.into_iter().zip(stacks).map(taken).collect()
}

/// Returns the stacks of one running process.
#[must_use]
pub fn of_process(
    found: &JobImage,
    process: &Process,
    places: &Places,
    symbols: &dyn Locate,
) -> Vec<ThreadStack> {
    let pid = found.outer_pid(process.pid).unwrap_or(process.pid);
    let threads: Vec<&ThreadFacts> = process.threads.iter().filter(|thread| thread.tid != 0).collect();
    let tids: Vec<u32> = threads.iter().map(|thread| thread.tid).collect();
    let doing = |thread: &ThreadFacts| match &thread.call {
        Some(call) => format!("in {}", process.called(call)),
        None => live::doing(found, process, places, thread.tid),
    };
    let live = match Live::open_among(pid, Arc::clone(&places.files)) {
        Ok(live) => live,
        Err(why) => {
            let part =
                |thread: &&ThreadFacts| known(process, thread, symbols, doing(thread), &why.to_string());
            return threads.iter().map(part).collect();
        }
    };
    let (modules, vdso) = (live.modules().unwrap_or_default(), vdso(pid));
    // Stopping wakes sleeping threads.
    let doings: Vec<String> = threads.iter().map(|thread| doing(thread)).collect();
    let stopped = stop::threads(&live, &tids);
    let stack =
        |((thread, doing), stopped): ((&&ThreadFacts, String), std::io::Result<stop::Stopped>)| match stopped
        {
            Ok(stopped) => {
                let target = Copied { live: &live, stopped: &stopped };
                let walked = walk_from(&target, vdso, &modules, stopped.pc, &stopped.registers);
                let show = Show { modules: &modules, words: &places.words, process };
                ThreadStack {
                    tid: thread.tid,
                    frames: show.frames(&walked.frames, thread, &python::frames(&target, thread)),
                    doing,
                    part: None,
                }
            }
            Err(why) => known(process, thread, symbols, doing, &refusal(pid, &why)),
        };
    threads.iter().zip(doings).zip(stopped).map(stack).collect()
}

/// Returns the stacks from a core file or a saved image.
#[must_use]
pub fn of_file(file: &ProcessFile, words: &Symbolizer, symbols: &dyn Locate) -> Taken {
    let process = &file.process;
    let at_death = AtDeath { file, words };
    let thread = |thread: &ThreadFacts| {
        let doing = match &thread.call {
            Some(call) => format!("in {}", process.called(call)),
            None => Some(at_death.doing(thread.tid))
                .filter(|doing| !doing.is_empty())
                .unwrap_or_else(|| "outside of MPI".to_owned()),
        };
        let dead = file.dead.as_ref().filter(|dead| dead.stale.is_none());
        let core =
            dead.and_then(|dead| Some((dead, dead.core.threads().iter().find(|t| t.tid == thread.tid)?)));
        let Some((dead, seen)) = core else {
            return known(process, thread, symbols, doing, "no core file with its stack was given");
        };
        let stack = crate::sources::core::walk(&dead.core, &dead.modules, seen);
        let show = Show { modules: &dead.modules, words, process };
        ThreadStack {
            tid: thread.tid,
            frames: show.frames(&stack.frames, thread, &python::frames(&dead.core, thread)),
            doing,
            part: None,
        }
    };
    let threads = process.threads.iter().filter(|facts| facts.tid != 0).map(thread).collect();
    let begin_ns = process.begin_ns;
    Taken { world: process.world.clone(), rank: process.rank, begin_ns, threads }
}

fn kept(process: &Process, stacks: &BTreeMap<u32, ThreadStack>, symbols: &dyn Locate) -> Vec<ThreadStack> {
    let threads = process.threads.iter().filter(|thread| thread.tid != 0);
    let stack = |thread: &ThreadFacts| match stacks.get(&thread.tid) {
        Some(stack) => stack.clone(),
        None => {
            let doing =
                thread.call.as_ref().map_or_else(String::new, |call| format!("in {}", process.called(call)));
            known(process, thread, symbols, doing, "stacks were not saved (`mpiscope save --stacks`)")
        }
    };
    threads.map(stack).collect()
}

/// What the image alone reveals: the return address of the open call.
fn known(
    process: &Process,
    thread: &ThreadFacts,
    symbols: &dyn Locate,
    doing: String,
    why: &str,
) -> ThreadStack {
    let context = SymbolContext::new(process, symbols);
    let place = (thread.return_address != 0).then(|| context.place(thread.return_address)).flatten();
    let part = Some(format!("only the line of the last call is known: {why}"));
    ThreadStack { tid: thread.tid, frames: place.into_iter().collect(), doing, part }
}

/// Describes why a thread could not be stopped, as text for users.
fn refusal(pid: u32, why: &std::io::Error) -> String {
    let tracer = procfs::status_lines(pid).ok().and_then(|status| status.tracer());
    match (why.kind(), tracer) {
        (_, Some(tracer)) => format!("process {tracer} is already tracing it, as a debugger does"),
        (std::io::ErrorKind::PermissionDenied, _) => match live_process::may_read(pid) {
            Err(why) => why.to_string(),
            Ok(()) => "the system does not allow it to be traced".to_owned(),
        },
        (std::io::ErrorKind::TimedOut, _) => {
            "it did not stop: it waits for a device or file system".to_owned()
        }
        _ => why.to_string(),
    }
}
