//! Locates threads in a Python program, from the memory of the process or a core file, without stopping
//! anything.
//!
//! A running thread changes its frames while they are read. The result is then a frame that it had earlier,
//! or nothing.

use crate::model::process::ThreadFacts;
use mpiscope_python_frames::{Frames, Layout, Memory, Place};
use mpiscope_target::Target;
use std::path::Path;

/// Maximum number of frames shown.
const MOST_FRAMES: usize = 256;
/// Maximum length of a text or table.
const LONGEST: u64 = 1 << 20;

struct Words<'a>(&'a dyn Target);

impl Memory for Words<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        self.0.read_u64(address).ok()
    }

    fn bytes(&self, address: u64, len: u64) -> Option<Vec<u8>> {
        self.0.read_bytes(address, len, LONGEST).ok()
    }
}

/// Returns the Python frames of a thread, innermost first; empty if it has none or the Python version is
/// unknown.
#[must_use]
pub fn frames(target: &dyn Target, thread: &ThreadFacts) -> Vec<Place> {
    let (state, minor) = thread.interpreter;
    let (words, layout) = (Words(target), Layout::of(minor).filter(|_| state != 0));
    let Some(layout) = layout else { return Vec::new() };
    let walked = Frames { layout, state }.walk(&words).take(MOST_FRAMES);
    walked.map_while(|frame| frame.place(&words)).collect()
}

/// Describes the innermost frame of the user's code, otherwise the innermost of any code.
#[must_use]
pub fn innermost(target: &dyn Target, thread: &ThreadFacts) -> Option<String> {
    let frames = frames(target, thread);
    frames.iter().find(|place| !place.is_of_a_library()).or_else(|| frames.first()).map(said)
}

/// Formats a frame as `function at file:line`.
#[must_use]
pub fn said(place: &Place) -> String {
    let file = String::from_utf8_lossy(&place.file);
    let name = Path::new(&*file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy());
    format!("{} at {name}:{}", String::from_utf8_lossy(&place.function), place.line)
}
