//! The user's line for a call that a library makes on behalf of the program.
//!
//! A program may call MPI through a library: PETSc, HDF5, or one of its own. The call site is then inside the
//! library, but the user is looking for the line that called the library. The frames in between are on the
//! stack when the *gate* is entered; they are walked ([`stack_frames`](crate::record::stack_frames)) up to
//! the first one in the user's code: in the executable, or in a library outside the directory of the one that
//! calls MPI (libraries installed together are not each other's users). Both addresses are recorded as one
//! pair: see [`mpiscope_image::call_path`].
//!
//! For calls from Python the user's line is the Python line; for calls from a Python binding of MPI that line
//! alone is the call site. Frames of Fortran bindings belong to the MPI library and are skipped.
//!
//! A walk that was made before is recognized by comparing the words that it depends on ([`memo`]).
//!
//! The gate calls this only in processes with such a library ([`exist`]); others pay nothing. A library that
//! is loaded after the first MPI call, into a process that had none, is not followed.
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

/// Maximum number of frames that are followed.
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

/// Whether calls may come from a library or binding that should be looked through.
pub fn exist() -> bool {
    LIBRARIES.load(Ordering::Relaxed) || python_call_site::exists()
}

/// Returns the address that represents the site of a call returning to `from`, with frame pointer `pointer`.
/// For a call made by the program itself this is `from`.
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
            // The program embeds Python but is not running it now.
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
        // SAFETY: this thread's stack, from the stack pointer at the call to its end.
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
