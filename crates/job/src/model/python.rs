//! Where threads are in a Python program: read from the memory of the process or of a core file, without stopping anything.
//!
//! A running thread changes its frames while they are read. What is read then is a frame that it had, or nothing.

use crate::model::process::ThreadFacts;
use mpiscope_python_frames::{Frames, Layout, Memory, Place};
use mpiscope_target::Target;
use std::path::Path;

/// Frames that are shown.
const MOST_FRAMES: usize = 256;
/// Longest text or table that is read.
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

/// The Python frames of a thread, innermost first; none of a thread that has none, or of a version that is not known.
#[must_use]
pub fn frames(target: &dyn Target, thread: &ThreadFacts) -> Vec<Place> {
    let (state, minor) = thread.interpreter;
    let (words, layout) = (Words(target), Layout::of(minor).filter(|_| state != 0));
    let Some(layout) = layout else { return Vec::new() };
    let walked = Frames { layout, state }.walk(&words).take(MOST_FRAMES);
    walked.map_while(|frame| frame.place(&words)).collect()
}

/// The innermost frame of the user's code, in words; of any code if there is no other.
#[must_use]
pub fn innermost(target: &dyn Target, thread: &ThreadFacts) -> Option<String> {
    let frames = frames(target, thread);
    frames.iter().find(|place| !place.is_of_a_library()).or_else(|| frames.first()).map(said)
}

/// `function at file:line`.
#[must_use]
pub fn said(place: &Place) -> String {
    let file = String::from_utf8_lossy(&place.file);
    let name = Path::new(&*file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy());
    format!("{} at {name}:{}", String::from_utf8_lossy(&place.function), place.line)
}
