//! One core file: who it was, what killed it, where, and in which call of MPI.

use super::communication::{self, LastMessage, PendingRequest};
use super::signal::Signal;
use super::stack::{self, Frame, Stack};
use super::waiting::{self, Waiting};
use crate::clock::Moment;
use crate::names::Locate;
use crate::process::{ModuleFacts, Process};
use crate::rank::{Rank, SymbolContext};
use crate::rank_status::RankStatus;
use crate::{Error, core};
use mpiscope_image::layout::State;
use mpiscope_target::{Core, Module, Symbolizer, Target};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The times of files come from a clock that moves in steps, of at most this many seconds.
const FILE_CLOCK_S: f64 = 0.02;
/// Frames that are shown.
const SHOWN_FRAMES: usize = 64;

/// A process that left a core file.
#[derive(Debug, Serialize)]
pub struct Death {
    /// The core file.
    pub file: String,
    /// Name of the job.
    pub job: String,
    /// What was started.
    pub command: String,
    /// What the MPI library says about itself.
    pub library: String,
    /// Who it was and what its threads were doing; ages are those at the time of death.
    #[serde(flatten)]
    pub now: RankStatus,
    /// What killed it; `None` for a core file of a process that lived on.
    pub signal: Option<Signal>,
    /// The fault that a signal handler answered by raising `signal`, if that was so.
    pub cause: Option<Signal>,
    /// The thread that received the signal.
    pub tid: Option<u32>,
    /// Where that thread was, innermost frame first, from the place of the fault on.
    pub stack: Vec<Place>,
    /// The innermost frame in the program itself.
    pub place: Option<Place>,
    /// Error code given to `MPI_Abort`.
    pub abort_code: Option<i32>,
    /// When it died: seconds since 1970, by the times of the core file.
    pub died_s: Option<f64>,
    /// Completed calls of MPI.
    pub calls: u64,
    /// Bytes that are missing at the end of the core file.
    pub missing_bytes: Option<u64>,
    /// What could not be seen.
    pub notes: Vec<String>,
    /// Requests that were started and not complete, oldest first.
    pub pending: Vec<PendingRequest>,
    /// The newest messages, newest first; only if messages were recorded.
    pub messages: Vec<LastMessage>,
    /// Whom its open calls waited for.
    pub waits: Vec<Waiting>,
    /// How many collectives it had entered, by communicator.
    #[serde(skip)]
    pub entered: HashMap<String, u64>,
}

/// A frame in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The function, if its name is known.
    pub function: Option<String>,
    /// `file:line`, `function+0xoffset in module` or `module+0xoffset`.
    pub place: String,
    /// The program or library.
    pub module: String,
}

impl Death {
    /// Whether the cause of its death lies in the process itself.
    pub fn own(&self) -> bool {
        self.cause.is_some() || self.signal.as_ref().is_some_and(|s| s.own) || self.abort_code.is_some()
    }

    /// What killed it, the fault before the signal that was raised for it.
    pub fn killer(&self) -> Option<&Signal> {
        self.cause.as_ref().or(self.signal.as_ref())
    }

    /// Reads a core file.
    ///
    /// # Errors
    /// When it is no core file, damaged, or holds no image.
    pub fn open(path: &Path, symbols: &dyn Locate, symbolizer: &Symbolizer) -> Result<Self, Error> {
        let core = Arc::new(Core::open(path).map_err(|e| Error::NotFound(not_a_core(path, &e)))?);
        let image = core::image(&core).map_err(|e| cut_off(&core, e))?;
        let damaged = |why| Error::Image { what: path.display().to_string(), why };
        let mut process = Process::read(&image, Some(Moment::now())).map_err(damaged)?;
        process.see_through_bindings(&image, &core);
        let mut notes = process.notes.clone();
        let modules = core.modules().unwrap_or_default();
        let stale = modules.first().and_then(|program| replaced(&core, program));
        let lines = Lines { inner: symbols, off: stale.is_some() };
        let context = SymbolContext::new(&process, &lines);
        let rank = Rank::new(&image, &process, &context);
        let mut now = RankStatus::new(&rank, false);
        let stack =
            core.threads().first().map(|thread| stack::walk(&core, &modules, thread)).unwrap_or_default();
        let overflow = |signal: Signal| match (signal.fault_address, stack.pointer) {
            (Some(fault), Some(pointer)) if stack::is_overflow(&core, pointer, fault) => signal.of_overflow(),
            (None, Some(pointer)) if signal.own && signal.number == libc::SIGSEGV => {
                match stack::at_the_end_of(&core, pointer) {
                    Some(bytes) => signal.at_the_end_of_a_stack(bytes),
                    None => signal,
                }
            }
            _ => signal,
        };
        let cause = stack.fault.as_ref().map(|fault| overflow(Signal::new(fault, process.pid)));
        let signal = core.crash().map(|crash| Signal::new(crash, process.pid));
        let signal = if cause.is_some() { signal } else { signal.map(overflow) };
        now.problem = signal.is_some() || process.state == State::ABORTED;
        if signal.is_none() {
            now.state = format!("{:?}", process.state);
        }
        let died_s = time_of(path);
        let thread = core.threads().first();
        ages(&mut now, &process, died_s);
        let show = Show { modules: &modules, symbolizer, off: lines.off };
        let places = show.places(&stack);
        let place = show.own(&stack);
        notes.extend(stale);
        let mut pending = communication::pending(&rank);
        for request in &mut pending {
            request.age_s = age(&process, died_s, request.since);
        }
        Ok(Self {
            file: path.display().to_string(),
            job: process.job.clone(),
            command: process.command.clone(),
            library: process.library.clone(),
            cause,
            tid: thread.map(|thread| thread.tid),
            place,
            stack: places,
            abort_code: process.abort_code,
            died_s,
            calls: process.threads.iter().fold(0, |sum, t| sum.saturating_add(t.calls)),
            missing_bytes: core.missing(),
            notes,
            entered: waiting::entered(&rank),
            waits: waiting::waits(&rank, &pending),
            messages: communication::last(&rank),
            pending,
            signal,
            now,
        })
    }
}

/// A core file that was compressed is the usual one that is not understood.
fn not_a_core(path: &Path, error: &mpiscope_target::Error) -> String {
    let mut head = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut head));
    let tool = match (read.is_ok(), head) {
        (true, [0x28, 0xb5, 0x2f, 0xfd]) => "zstd -d",
        (true, [0x04, 0x22, 0x4d, 0x18]) => "lz4 -d",
        (true, [0xfd, b'7', b'z', b'X']) => "xz -dk",
        (true, [0x1f, 0x8b, ..]) => "gunzip -k",
        _ => return error.to_string(),
    };
    format!("{}: compressed; unpack it first: {tool} {}", path.display(), path.display())
}

/// An image that is not found in a file that was cut off is probably behind its end.
fn cut_off(core: &Core, error: Error) -> Error {
    match (core.missing(), error) {
        (Some(missing), error @ (Error::NoImageInCore { .. } | Error::Image { .. })) => {
            Error::NotFound(format!(
                "{error}. The file is cut off: {missing} bytes are missing at its end; raise `ulimit -c`, free the disk"
            ))
        }
        (_, error) => error,
    }
}

/// A program that was rebuilt since has other lines at the same addresses.
fn replaced(core: &Core, program: &Module) -> Option<String> {
    let code = program.executable.start;
    let gone = core.read_bytes(code, 8, 8).is_err() && !program.executable.is_empty();
    gone.then(|| {
        format!("{} was rebuilt or removed since; source lines are not shown", program.path.display())
    })
}

/// The kernel writes the file when the process dies. A copy has a later time of birth and may keep the time of change.
pub(crate) fn time_of(path: &Path) -> Option<f64> {
    let data = std::fs::metadata(path).ok()?;
    let time = data.created().into_iter().chain(data.modified()).min()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
}

/// Puts the ages into the status of a process whose core file was read that it had when the file was written.
pub fn as_of_core(now: &mut RankStatus, process: &Process, file: &Path) {
    ages(now, process, time_of(file));
}

/// How long the threads had been where they were when the process died.
fn ages(now: &mut RankStatus, process: &Process, died_s: Option<f64>) {
    for thread in &mut now.threads {
        let since = process.threads.iter().find(|t| t.index == thread.thread).map_or(0, |t| t.since);
        thread.age_s = age(process, died_s, since);
    }
}

/// Seconds from a moment in ticks to the death of the process.
pub(crate) fn age(process: &Process, died_s: Option<f64>, since: u64) -> Option<f64> {
    let clock = &process.clock;
    let died_ns = died_s.map(|died| died * 1e9 - clock.start_unix_ns() as f64 + clock.start_ns() as f64);
    let age = died_ns.map(|died| (died - clock.ns_at(since) as f64) / 1e9);
    age.filter(|age| since != 0 && *age >= -FILE_CLOCK_S).map(|age| age.max(0.0))
}

/// Leaves out lines and functions that would be wrong.
struct Lines<'a> {
    inner: &'a dyn Locate,
    off: bool,
}

impl Locate for Lines<'_> {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        if self.off { None } else { self.inner.call(module, return_address) }
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        self.inner.exports(module, each);
    }

    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        self.inner.symbol(module, address)
    }
}

/// Frames in words.
struct Show<'a> {
    modules: &'a [Module],
    symbolizer: &'a Symbolizer,
    off: bool,
}

impl Show<'_> {
    fn places(&self, stack: &Stack) -> Vec<Place> {
        let frames = stack.frames.iter().skip(stack.fault_frame).take(SHOWN_FRAMES);
        frames.map(|frame| self.place(frame)).collect()
    }

    /// The innermost frame of the program itself.
    fn own(&self, stack: &Stack) -> Option<Place> {
        let program = self.modules.first()?;
        let inside = |f: &&Frame| program.contains(f.pc.saturating_sub(u64::from(f.returns)));
        stack.frames.iter().skip(stack.fault_frame).find(inside).map(|frame| self.place(frame))
    }

    fn place(&self, frame: &Frame) -> Place {
        let at = frame.pc.saturating_sub(u64::from(frame.returns));
        let Some(module) = self.modules.iter().find(|module| module.contains(at)) else {
            return Place { function: None, place: format!("{:#x}", frame.pc), module: String::new() };
        };
        let offset = module.address_in_file(frame.pc);
        let name = module.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = Place { function: None, place: format!("{name}+{offset:#x}"), module: name };
        if self.off && self.modules.first() == Some(module) {
            return plain;
        }
        let found = match frame.returns {
            true => self.symbolizer.locate_return(&module.path, offset),
            false => self.symbolizer.locate(&module.path, offset),
        };
        Place { place: found.to_string(), function: found.function, ..plain }
    }
}
