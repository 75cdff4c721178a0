//! The stacks of the threads that call MPI: of running processes, of evidence files and of core files, merged over all ranks.
//!
//! ```text
//! running process ──► a short stop (stop) ─┐
//! core file ──► registers in the file ─────┼─► frames, by the unwind tables ──► words ──► one tree with rank sets (tree)
//! evidence file: words of the time when it was saved ───────────────────────────┘
//! ```
//!
//! Shown are the frames of the user: from `main` (or where a thread begins) to the call of MPI, without what the MPI library does
//! inside. Where a process may not be traced, the address that its open call returns to is all that is known, and the answer says so.

pub mod asleep;
mod restarted;
mod stop;
mod tree;

/// Gives words for addresses.
pub use mpiscope_target::Symbolizer;

pub use tree::{Node, Stacks, merge};

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
use crate::sources::core::{Frame, walk_from};
use mpi_abi::binding;
use mpiscope_python_frames::Place;
use mpiscope_target::{Live, Location, Module, Result as TargetResult, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The stacks of a process.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Name of its world.
    pub world: String,
    /// Its rank, if it knows it.
    pub rank: Option<u32>,
    /// Of its threads that have called MPI and live.
    pub threads: Vec<ThreadStack>,
}

/// The stacks of all processes of a job on this host, or of those that an evidence file has kept. Running ones are stopped for a
/// moment, one thread at a time.
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
    let taken =
        |(process, threads): (Process, _)| Taken { world: process.world, rank: process.rank, threads };
    processes.into_iter().zip(stacks).map(taken).collect()
}

/// The stacks of one running process.
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
    let stopped = stop::threads(&live, &tids);
    let stack = |(thread, stopped): (&&ThreadFacts, std::io::Result<stop::Stopped>)| match stopped {
        Ok(stopped) => {
            let target = Copied { live: &live, stopped: &stopped };
            let walked = walk_from(&target, vdso, &modules, stopped.pc, &stopped.registers);
            let show = Show { modules: &modules, words: &places.words, process };
            ThreadStack {
                tid: thread.tid,
                frames: show.frames(&walked.frames, thread, &python::frames(&target, thread)),
                doing: doing(thread),
                part: None,
            }
        }
        Err(why) => known(process, thread, symbols, doing(thread), &refusal(pid, &why)),
    };
    threads.iter().zip(stopped).map(stack).collect()
}

/// The stack of the thread of a core file that died or was written first.
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
            return known(process, thread, symbols, doing, "there is no core file of it with its stack");
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
    Taken { world: process.world.clone(), rank: process.rank, threads }
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

/// What the image alone knows: where the open call returns to.
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

/// Why a thread could not be stopped, for people.
fn refusal(pid: u32, why: &std::io::Error) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map(str::trim);
    match (why.kind(), tracer) {
        (_, Some(tracer)) if tracer != "0" => {
            format!("process {tracer} traces it already, as a debugger does")
        }
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

/// Where the kernel's own library lies.
fn vdso(pid: u32) -> Option<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    u64::from_str_radix(line.split('-').next()?, 16).ok()
}

/// A running process with the stack that a thread had when it was stopped.
struct Copied<'a> {
    live: &'a Live,
    stopped: &'a stop::Stopped,
}

impl Target for Copied<'_> {
    fn read(&self, address: u64, buf: &mut [u8]) -> TargetResult<()> {
        let inside = address.checked_sub(self.stopped.stack_at).and_then(|at| {
            let at = usize::try_from(at).ok()?;
            self.stopped.stack.get(at..at.checked_add(buf.len())?)
        });
        match inside {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.live.read(address, buf),
        }
    }

    fn width(&self) -> usize {
        self.live.width()
    }

    fn byte_order(&self) -> mpiscope_target::ByteOrder {
        self.live.byte_order()
    }

    fn modules(&self) -> TargetResult<Vec<Module>> {
        self.live.modules()
    }

    fn symbol(&self, name: &str) -> TargetResult<Option<u64>> {
        self.live.symbol(name)
    }

    fn pid(&self) -> Option<u32> {
        self.live.pid()
    }

    fn executable(&self) -> Option<PathBuf> {
        self.live.executable()
    }
}

/// The innermost frame of the user's code: `function at file:line`.
pub(crate) fn innermost(
    frames: &[Frame],
    modules: &[Module],
    words: &Symbolizer,
    process: &Process,
    program: Option<&Path>,
) -> Option<String> {
    Show { modules, words, process }.innermost(frames, program)
}

/// The file of the layer.
const LAYER: &str = "libmpiscope.so";

/// Frames in words.
struct Show<'a> {
    modules: &'a [Module],
    words: &'a Symbolizer,
    process: &'a Process,
}

/// Where programs and threads begin, in the C library: of no interest to users.
const BEGINNINGS: [&str; 7] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "start_thread",
    "clone",
    "clone3",
];

/// Whether frames of this program say nothing of the user's code.
fn is_an_interpreter(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("python") || name.starts_with("libpython")
}

impl Show<'_> {
    /// Those of the user, outermost first.
    fn frames(&self, frames: &[Frame], thread: &ThreadFacts, python: &[Place]) -> Vec<String> {
        let inside =
            if thread.call.is_some() { self.inside(frames, thread) } else { self.within_layer(frames) };
        let natives = frames.iter().skip(inside);
        let outside = |frame: &&Frame| !self.is_of_an_interpreter(frame);
        match python {
            [] => self.of_the_user(natives).collect(),
            // The innermost ones are what Python has called; those below its first are how it was started.
            _ => {
                let called = self.of_the_user(natives.take_while(outside));
                python.iter().rev().map(python::said).chain(called).collect()
            }
        }
    }

    /// Whether a frame says nothing of the user's code, since it is the interpreter's or its binding's.
    fn is_of_an_interpreter(&self, frame: &Frame) -> bool {
        self.module(frame).is_some_and(|module| {
            is_an_interpreter(&module.path) || binding::is_python(&module.path.to_string_lossy())
        })
    }

    /// Without those that are below `main`, or where threads begin.
    fn of_the_user<'f>(&self, frames: impl Iterator<Item = &'f Frame>) -> impl Iterator<Item = String> {
        let mut shown: Vec<(Option<String>, String)> =
            frames.flat_map(|frame| self.functions(frame)).collect();
        if let Some(main) = shown.iter().position(|(function, _)| function.as_deref() == Some("main")) {
            shown.truncate(main + 1);
        }
        let begins =
            |function: &Option<String>| function.as_deref().is_some_and(|name| BEGINNINGS.contains(&name));
        shown.into_iter().filter(move |(function, _)| !begins(function)).map(|(_, text)| text).rev()
    }

    /// The innermost one of the user's code: that has a source line, or else is in the program and has a name there.
    fn innermost(&self, frames: &[Frame], program: Option<&Path>) -> Option<String> {
        let users = |frame: &&Frame| {
            self.module(frame)
                .is_some_and(|module| !binding::is_of_the_system(&module.path.to_string_lossy()))
        };
        let first = |frame| self.locations(frame).into_iter().next();
        let of_users: Vec<(&Frame, Location)> =
            frames.iter().filter(users).filter_map(|frame| Some((frame, first(frame)?))).collect();
        let in_program = |(frame, found): &&(&Frame, Location)| {
            let here = self.module(frame).is_some_and(|module| Some(module.path.as_path()) == program);
            here && found.function.is_some() && !program.is_some_and(is_an_interpreter)
        };
        let with_line = of_users.iter().find(|(_, found)| found.line.is_some());
        with_line.or_else(|| of_users.iter().find(in_program)).map(|(_, found)| in_words(found))
    }

    /// How many of the innermost frames are the layer's, of a thread that is about to enter a call or has just left one.
    fn within_layer(&self, frames: &[Frame]) -> usize {
        let of_layer = |frame: &Frame| self.module(frame).is_some_and(|module| module.path.ends_with(LAYER));
        frames.iter().rposition(of_layer).map_or(0, |last| last + 1)
    }

    /// How many of the innermost frames are inside of the open call.
    fn inside(&self, frames: &[Frame], thread: &ThreadFacts) -> usize {
        let call = self.process.modules.code(thread.return_address);
        let calls = |frame: &Frame| frame.returns && frame.pc == call;
        if let Some(caller) = frames.iter().position(calls) {
            return caller;
        }
        let of_mpi = |frame: &Frame| {
            let module = self.module(frame);
            module.is_some_and(|module| {
                module.path == Path::new(&self.process.library_path) || module.path.ends_with(LAYER)
            })
        };
        frames.iter().rposition(of_mpi).map_or(0, |last| last + 1)
    }

    fn module(&self, frame: &Frame) -> Option<&Module> {
        let at = frame.pc.saturating_sub(u64::from(frame.returns));
        self.modules.iter().find(|module| module.contains(at))
    }

    /// The functions that a frame is of, the innermost first: that in which the call or the instruction is, and those that it was
    /// inlined into.
    fn locations(&self, frame: &Frame) -> Vec<Location> {
        let Some(module) = self.module(frame) else { return Vec::new() };
        let offset = module.address_in_file(frame.pc);
        match frame.returns {
            true => self.words.locate_return_inlined(&module.path, offset),
            false => self.words.locate_inlined(&module.path, offset),
        }
    }

    /// Their names and words for them; the address alone for a frame of no module.
    fn functions(&self, frame: &Frame) -> Vec<(Option<String>, String)> {
        match self.locations(frame) {
            none if none.is_empty() => vec![(None, format!("{:#x}", frame.pc))],
            found => found.into_iter().map(|found| (found.function.clone(), in_words(&found))).collect(),
        }
    }
}

/// `function at file:line`, or what is known instead.
fn in_words(found: &Location) -> String {
    match &found.function {
        Some(function) if found.line.is_some() => format!("{function} at {found}"),
        _ => found.to_string(),
    }
}
