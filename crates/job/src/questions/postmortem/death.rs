//! A single core file: which process it was, what terminated it, where, and in which MPI call.

use super::communication::{self, LastMessage, PendingRequest};
use crate::Error;
use crate::jobs::evidence::is_evidence;
use crate::model::locate::Locate;
use crate::model::objects::{SharedNames, quoted};
use crate::model::rank_status::RankStatus;
use crate::observation::{Observation, observe};
use crate::questions::process_file::{AtDeath, ProcessFile};
use crate::sources::core::{End, Frame, Stack};
use mpiscope_image::layout::State;
use mpiscope_target::{Module, Symbolizer};
use serde::Serialize;
use std::path::Path;

/// Maximum number of frames shown.
const SHOWN_FRAMES: usize = 64;

/// A process that left a core file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Death {
    /// The core file.
    pub file: String,
    /// Name of the job.
    pub job: String,
    /// The command that was started.
    pub command: String,
    /// The MPI library's description of itself.
    pub library: String,
    /// The process and what its threads were doing; ages are as of the time of death.
    #[serde(flatten)]
    pub now: RankStatus,
    /// What terminated it.
    #[serde(flatten)]
    pub end: End,
    /// The thread that received the signal.
    pub tid: Option<u32>,
    /// That thread's stack, innermost frame first, starting at the fault.
    pub stack: Vec<FrameText>,
    /// The innermost frame in the program itself.
    pub place: Option<FrameText>,
    /// When it died, in seconds since 1970, according to the core file's times.
    pub died_s: Option<f64>,
    /// Number of completed MPI calls.
    pub calls: u64,
    /// Number of bytes missing at the end of the core file.
    pub missing_bytes: Option<u64>,
    /// What could not be seen.
    pub notes: Vec<String>,
    /// Requests that were started and not complete, oldest first.
    pub pending: Vec<PendingRequest>,
    /// The most recent messages, newest first; only if messages were recorded.
    pub messages: Vec<LastMessage>,
    /// The observation the verdict on the job is derived from.
    #[serde(skip)]
    pub observation: Observation,
}

/// A resolved stack frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameText {
    /// The function, if known.
    pub function: Option<String>,
    /// `file:line`, `function+0xoffset in module` or `module+0xoffset`.
    pub place: String,
    /// The program or library.
    pub module: String,
}

impl Death {
    /// Returns the number of its world and its rank there, if known.
    #[must_use]
    pub fn rank(&self) -> Option<(usize, Option<u32>)> {
        self.now.rank.map(|rank| (self.now.world_number, Some(rank)))
    }

    /// Gives shared objects these names.
    pub(super) fn call_by(&mut self, names: &SharedNames) {
        let requests = self.pending.iter_mut().filter_map(|pending| pending.request.object.as_mut());
        requests.for_each(|object| names.give(object));
        for message in &mut self.messages {
            if let (Some(label), Some(name)) = (&mut message.comm, names.of(message.identity)) {
                *label = quoted(name);
            }
        }
    }

    /// Reads a core file.
    ///
    /// # Errors
    /// If it is not a core file, is damaged, or contains no image.
    pub fn open(path: &Path, symbols: &dyn Locate, symbolizer: &Symbolizer) -> Result<Self, Error> {
        if is_evidence(path) {
            let file = path.display();
            return Err(Error::NotFound(format!(
                "{file}: an evidence file, not a core file; name it alone to get its verdict"
            )));
        }
        let kept = ProcessFile::open_core(path)?;
        let Some(dead) = &kept.dead else {
            return Err(Error::NotFound(format!("{}: not a core file", path.display())));
        };
        let process = &kept.process;
        let mut now = kept.status(symbols, false);
        now.problem = dead.end.signal.is_some() || process.state == State::ABORTED;
        if dead.end.signal.is_none() {
            now.state = format!("{:?}", process.state);
        }
        let show = Show { modules: &dead.modules, symbolizer, off: dead.stale.is_some() };
        let mut notes = process.notes.clone();
        notes.extend(dead.stale.clone());
        let (observation, pending, messages) = kept.look(symbols, |rank| {
            (
                observe(rank, &AtDeath { file: &kept, words: symbolizer }),
                communication::pending(rank, dead, &mut notes),
                communication::last(rank, &mut notes),
            )
        });
        Ok(Self {
            file: path.display().to_string(),
            job: process.job.clone(),
            command: process.command.clone(),
            library: process.library.clone(),
            tid: dead.core.threads().first().map(|thread| thread.tid),
            place: show.own(&dead.stack),
            stack: show.frames(&dead.stack),
            died_s: dead.died_s,
            calls: process.threads.iter().fold(0, |sum, t| sum.saturating_add(t.calls)),
            missing_bytes: dead.core.missing(),
            end: dead.end.clone(),
            notes,
            pending,
            messages,
            observation,
            now,
        })
    }
}

/// Resolves frames.
struct Show<'a> {
    modules: &'a [Module],
    symbolizer: &'a Symbolizer,
    off: bool,
}

impl Show<'_> {
    fn frames(&self, stack: &Stack) -> Vec<FrameText> {
        let frames = stack.frames.iter().skip(stack.fault_frame).take(SHOWN_FRAMES);
        frames.map(|frame| self.frame(frame)).collect()
    }

    /// Returns the innermost frame of the program itself.
    fn own(&self, stack: &Stack) -> Option<FrameText> {
        let program = self.modules.first()?;
        let inside = |f: &&Frame| program.contains(f.pc.saturating_sub(u64::from(f.returns)));
        stack.frames.iter().skip(stack.fault_frame).find(inside).map(|frame| self.frame(frame))
    }

    fn frame(&self, frame: &Frame) -> FrameText {
        let at = frame.pc.saturating_sub(u64::from(frame.returns));
        let Some(module) = self.modules.iter().find(|module| module.contains(at)) else {
            return FrameText { function: None, place: format!("{:#x}", frame.pc), module: String::new() };
        };
        let offset = module.address_in_file(frame.pc);
        let name = module.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = FrameText { function: None, place: format!("{name}+{offset:#x}"), module: name };
        if self.off && self.modules.first() == Some(module) {
            return plain;
        }
        let found = match frame.returns {
            true => self.symbolizer.locate_return(&module.path, offset),
            false => self.symbolizer.locate(&module.path, offset),
        };
        FrameText { place: found.to_string(), function: found.function, ..plain }
    }
}
