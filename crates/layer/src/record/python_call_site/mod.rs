//! The line of the Python program for a call that Python's binding of MPI makes for it.
//!
//! All calls of a Python program return into one library, mpi4py's, so that its own lines are what tells them apart. They are on
//! no stack of the machine: the interpreter has frames of its own. The thread that makes the call is the one whose frames are
//! looked at ([`mpiscope_python_frames`]), and while it is in the call it cannot change them; nothing of Python is called, since
//! the binding has given up the interpreter's lock before it calls MPI.
//!
//! | module | has |
//! | --- | --- |
//! | [`interpreter`] | whether there is an interpreter that is known, and its state of this thread |
//! | [`memory`] | how they are read |
//! | [`sources`] | the address that stands for a line: see [`mpiscope_image::layout::source_line`] |
//!
//! The *gate* asks in processes with an interpreter alone; all others pay nothing. What is learned of an instruction is kept, so
//! that the usual call costs a few loads. Everything that is read for the first time is read through the kernel: an interpreter
//! that is built otherwise than it says costs its lines, never the program.
#![allow(unsafe_code)]

mod interpreter;
mod memory;
mod sources;

pub use interpreter::{bindings_hold, exists, start};

use crate::interpose::tls::Tls;
use memory::OwnMemory;
use mpiscope_python_frames::Frames;
use sources::Known;

/// Frames that are looked at.
const MOST_FRAMES: usize = 64;

/// What stands for the line of this thread's Python program that is being run; nothing if the thread runs no Python.
pub fn of(tls: &Tls) -> Option<u64> {
    // SAFETY: the C library's errno belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    let line = interpreter::of_thread(tls).and_then(|(memory, frames)| users_line(&memory, frames));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    line
}

/// The line of the innermost frame of the user's code; of the innermost frame at all if every one is of a library.
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
