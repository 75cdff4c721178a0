//! The user's line for a call that a library makes for the program.
//!
//! A program may call MPI by way of a library: PETSc, HDF5, one of its own. Then the place of the call is one in the library, and
//! what the user looks for is the line that called the library. The frames between lie on the stack where the *gate* saw it; they
//! are followed ([`stack_frames`](crate::record::stack_frames)) up to the first one of the user's code: in the executable, or in a
//! library that is not in the same directory as the one that calls MPI (of what is installed together, one part is no user of the
//! other). Both places become one: see [`mpiscope_image::call_path`].
//!
//! Where calls come from Python, its line is the user's; where they come from Python's binding of MPI, that line alone is the
//! place. Frames of Fortran bindings are the library's of MPI, and passed over.
//!
//! What was found once is found again by comparing the words that it depends on ([`memo`]).
//!
//! The gate asks in processes with such a library alone ([`exist`]); all others pay nothing. A library that is loaded after the
//! first call of MPI into a process without one is not followed.
#![allow(unsafe_code)]

pub mod memo;
mod pairs;

use crate::interpose::exports;
use crate::interpose::tls::Tls;
use crate::record::local;
use crate::record::stack_frames::frame::Registers;
use crate::record::stack_frames::owner::Owner;
use crate::record::stack_frames::{bounds, kept};
use crate::record::{fortran_call_site, modules, python_call_site};
use memo::{Followed, Start};
use mpi_abi::binding;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Frames that are followed.
const MOST_FRAMES: usize = 64;

/// Whether a library of the program calls MPI.
static LIBRARIES: AtomicBool = AtomicBool::new(false);
/// Beginning and end of the executable's code.
static PROGRAM: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Looks for libraries that call MPI. Called when the MPI library was found.
pub fn start() {
    let mut is_first = true;
    modules::visit(&mut |_, code, _| {
        if is_first {
            PROGRAM[0].store(code.start, Ordering::Relaxed);
            PROGRAM[1].store(code.end, Ordering::Relaxed);
        }
        is_first = false;
    });
    let calls = exports::callers(|path| {
        let path = path.to_string_lossy();
        !binding::is_fortran(&path) && !binding::is_of_the_system(&path)
    });
    LIBRARIES.store(calls, Ordering::Relaxed);
}

/// Whether calls may come from a library or a binding that is to be looked through.
pub fn exist() -> bool {
    LIBRARIES.load(Ordering::Relaxed) || python_call_site::exists()
}

/// What stands for where a call was made that returns to `from`, the frame pointer being `pointer`: `from` itself for a call of the
/// program.
pub fn of(tls: &Tls, from: u64, pointer: u64) -> u64 {
    let [start, end] = &PROGRAM;
    if (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&from) {
        return from;
    }
    if python_call_site::exists() {
        let is_binding = python_call_site::bindings_hold(from);
        match python_call_site::of(tls) {
            Some(line) if is_binding => return line,
            Some(line) => return pairs::address(from, line),
            None if is_binding => return from,
            // A program that can run Python, and does not do so now.
            None => {}
        }
    }
    let start =
        Start { site: from, registers: Registers { stack: tls.stack_pointer.get(), pointer: Some(pointer) } };
    let memo = local::of(tls).map(|local| &local.walks);
    memo.and_then(|memo| memo.get()?.find(&start)).unwrap_or_else(|| {
        let followed = follow(tls, &start);
        let found = match followed.caller {
            Some(caller) => pairs::address(followed.site, caller),
            None => followed.site,
        };
        if let Some(memo) = memo {
            memo.get_or_init(Box::default).keep(&start, &followed, found);
        }
        found
    })
}

#[cold]
fn follow(tls: &Tls, start: &Start) -> Followed {
    let mut followed = Followed { site: start.site, ..Followed::default() };
    let (mut address, mut at) = (start.site, start.registers);
    let Some(limit) = bounds::end(tls, at.stack) else { return followed };
    let mut library: Option<Owner> = None;
    for _ in 0..MOST_FRAMES {
        let known = kept::of(address);
        match library {
            None if fortran_call_site::bindings::hold(address) => {}
            None => {
                followed.site = address;
                library = Some(known.owner);
                if known.owner == Owner::PROGRAM {
                    break;
                }
            }
            Some(library) if known.owner.is_user_of(library) => {
                followed.caller = Some(address);
                break;
            }
            Some(_) => {}
        }
        // SAFETY: this thread's stack, from the pointer at the call to its end.
        let above = known.frame.and_then(|frame| Some((frame, unsafe { frame.up(at, limit) }?)));
        let Some((frame, (caller, registers))) = above.filter(|(_, (_, above))| above.stack > at.stack)
        else {
            break;
        };
        followed.read.step(start, frame, at, registers, caller);
        (address, at) = (caller, registers);
    }
    followed
}
