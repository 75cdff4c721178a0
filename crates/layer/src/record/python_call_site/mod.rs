//! The Python program's line for a call that a Python binding of MPI makes on its behalf.
//!
//! All calls of a Python program return into one library, mpi4py's, so only its own lines tell them apart.
//! They are not on the machine's stack: the interpreter has its own frames. The frames of the thread that
//! makes the call are walked ([`mpiscope_python_frames`]); it cannot change them while it is in the call. No
//! Python function is called, since the binding has released the interpreter's lock before it calls MPI.
//!
//! | module | contents |
//! | --- | --- |
//! | [`interpreter`] | whether there is a supported interpreter, and its state for this thread |
//! | [`memory`] | how its structures are read |
//! | [`sources`] | the address that represents a line: see [`mpiscope_image::layout::source_line`] |
//!
//! The *gate* calls this only in processes with an interpreter; others pay nothing. What is learned about an
//! instruction is kept, so the usual call costs a few loads. Everything that is read for the first time is
//! read through the kernel: an interpreter whose layout differs from that of its version costs the line
//! numbers, never the program.
#![allow(unsafe_code)]

mod interpreter;
mod memory;
mod sources;

pub use interpreter::{bindings_hold, exists, start};

use crate::interpose::tls::Tls;
use memory::OwnMemory;
use mpiscope_python_frames::Frames;
use sources::Known;

/// Maximum number of frames that are walked.
const MOST_FRAMES: usize = 64;

/// Returns the address that represents the Python line this thread is executing; `None` if the thread runs no
/// Python.
pub fn of(tls: &Tls) -> Option<u64> {
    // SAFETY: the C library's errno belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    let line = interpreter::of_thread(tls).and_then(|(memory, frames)| users_line(&memory, frames));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    line
}

/// Returns the line of the innermost frame of the user's code, or of the innermost frame if all are in
/// libraries.
fn users_line(memory: &OwnMemory, frames: Frames) -> Option<u64> {
    let mut innermost = None;
    for frame in frames.walk(memory).take(MOST_FRAMES) {
        let key = frame.key(memory)?;
        let known = sources::find(key)
            .or_else(|| sources::learn(key, &frame.place(&OwnMemory { trusted: false })?))?;
        match known {
            Known::Users(line) => return Some(line),
            Known::Library(line) => innermost = innermost.or(Some(line)),
        }
    }
    innermost
}
