//! The user's frames of a stack, as text.

use crate::model::process::{Process, ThreadFacts};
use crate::model::python;
use crate::sources::core::Frame;
use mpi_abi::binding;
use mpiscope_python_frames::Place;
use mpiscope_target::{Location, Module, Symbolizer};
use std::path::Path;

/// Returns the innermost frame of user code: `function at file:line`.
pub fn innermost(
    frames: &[Frame],
    modules: &[Module],
    words: &Symbolizer,
    process: &Process,
    program: Option<&Path>,
) -> Option<String> {
    Show { modules, words, process }.innermost(frames, program)
}

/// File name of the layer.
const LAYER: &str = "libmpiscope.so";

/// Formats frames.
pub struct Show<'a> {
    pub modules: &'a [Module],
    pub words: &'a Symbolizer,
    pub process: &'a Process,
}

/// C library functions that start programs and threads, which are of no interest to users.
const BEGINNINGS: [&str; 7] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "start_thread",
    "clone",
    "clone3",
];

/// Whether frames of this program reveal nothing about user code.
fn is_an_interpreter(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("python") || name.starts_with("libpython")
}

impl Show<'_> {
    /// Returns the user's frames, outermost first.
    pub fn frames(&self, frames: &[Frame], thread: &ThreadFacts, python: &[Place]) -> Vec<String> {
        let inside =
            if thread.call.is_some() { self.inside(frames, thread) } else { self.within_layer(frames) };
        let natives = frames.iter().skip(inside);
        let outside = |frame: &&Frame| !self.is_of_an_interpreter(frame);
        match python {
            [] => self.of_the_user(natives).collect(),
            // The innermost ones were called by Python; those outside the interpreter's first frame are how
            // it was started.
            _ => {
                let called = self.of_the_user(natives.take_while(outside));
                python.iter().rev().map(python::said).chain(called).collect()
            }
        }
    }

    /// Whether a frame belongs to the interpreter or its binding and so reveals nothing about user code.
    fn is_of_an_interpreter(&self, frame: &Frame) -> bool {
        self.module(frame).is_some_and(|module| {
            is_an_interpreter(&module.path) || binding::is_python(&module.path.to_string_lossy())
        })
    }

    /// Drops the frames outside `main`, or outside the start of a thread.
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

    /// Returns the innermost frame of user code: one with a source line or else a named one in the program.
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

    /// Returns how many of the innermost frames are the layer's, for a thread about to enter a call or just
    /// returning from one.
    fn within_layer(&self, frames: &[Frame]) -> usize {
        let of_layer = |frame: &Frame| self.module(frame).is_some_and(|module| module.path.ends_with(LAYER));
        frames.iter().rposition(of_layer).map_or(0, |last| last + 1)
    }

    /// Returns how many of the innermost frames are inside the open call.
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

    /// Returns the functions a frame belongs to, innermost first: the one containing the call or instruction,
    /// and those it was inlined into.
    fn locations(&self, frame: &Frame) -> Vec<Location> {
        let Some(module) = self.module(frame) else { return Vec::new() };
        let offset = module.address_in_file(frame.pc);
        match frame.returns {
            true => self.words.locate_return_inlined(&module.path, offset),
            false => self.words.locate_inlined(&module.path, offset),
        }
    }

    /// Returns their names and descriptions; only the address for a frame outside all modules.
    fn functions(&self, frame: &Frame) -> Vec<(Option<String>, String)> {
        match self.locations(frame) {
            none if none.is_empty() => vec![(None, format!("{:#x}", frame.pc))],
            found => found.into_iter().map(|found| (found.function.clone(), in_words(&found))).collect(),
        }
    }
}

/// Formats as `function at file:line`, or whatever is known instead.
fn in_words(found: &Location) -> String {
    match &found.function {
        Some(function) if found.line.is_some() => format!("{function} at {found}"),
        _ => found.to_string(),
    }
}
