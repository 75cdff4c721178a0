//! Whether the process has a supported Python interpreter, and its state for a thread.
#![allow(unsafe_code)]

use super::memory::OwnMemory;
use crate::base::{clock, image};
use crate::interpose::tls::Tls;
use crate::record::local;
use crate::record::modules;
use mpi_abi::binding;
use mpiscope_python_frames::layout::Identity;
use mpiscope_python_frames::{Frames, Layout, Memory, minor};
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is known about the interpreter.
struct Interpreter {
    layout: &'static Layout,
    /// The minor version.
    minor: u32,
    /// `PyGILState_GetThisThreadState`: may be called with or without the interpreter's lock.
    state: unsafe extern "C" fn() -> *const c_void,
    /// `&PyCode_Type`.
    code_type: u64,
}

static INTERPRETER: OnceLock<Option<Interpreter>> = OnceLock::new();
/// Set when the interpreter's structures turned out to differ from those of its version.
static FOREIGN: AtomicBool = AtomicBool::new(false);

/// Maximum number of bindings: mpi4py has one, and comes with several of which one is loaded.
const MOST: usize = 4;
/// Beginning and end of the code of each.
static BINDINGS: [[AtomicU64; 2]; MOST] = [const { [const { AtomicU64::new(0) }; 2] }; MOST];

/// Looks for an interpreter and bindings. Called when the MPI library is found, and whenever more may have
/// been loaded.
pub fn start() {
    if INTERPRETER.get_or_init(find).is_some() {
        modules::visit(&mut |_, code, path| {
            if binding::is_python(&String::from_utf8_lossy(path)) {
                remember(code.start, code.end);
            }
        });
    }
}

/// Whether there is an interpreter whose line numbers are available.
pub fn exists() -> bool {
    matches!(INTERPRETER.get(), Some(Some(_)))
}

fn remember(start: u64, end: u64) {
    for [first, last] in &BINDINGS {
        match first.load(Ordering::Relaxed) {
            0 => {
                last.store(end, Ordering::Relaxed);
                return first.store(start, Ordering::Release);
            }
            known if known == start => return,
            _ => {}
        }
    }
}

/// Whether a return address is in a binding.
#[inline]
pub fn bindings_hold(address: u64) -> bool {
    let at = address.wrapping_sub(1);
    let ranges =
        BINDINGS.iter().map(|[begin, end]| begin.load(Ordering::Acquire)..end.load(Ordering::Relaxed));
    ranges.take_while(|range| range.start != 0).any(|range| range.contains(&at))
}

/// Returns the interpreter of this process, if its version is supported.
fn find() -> Option<Interpreter> {
    let state = exported(c"PyGILState_GetThisThreadState")?;
    let version = exported(c"Py_GetVersion")?;
    let code_type = exported(c"PyCode_Type")?;
    // SAFETY: the type of CPython's `Py_GetVersion`, which may be called at any time and returns static text.
    let text = unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(version);
        CStr::from_ptr(version())
    };
    let minor = minor(text.to_str().ok()?)?;
    let layout = Layout::of(minor)?;
    // SAFETY: the type of CPython's `PyGILState_GetThisThreadState`.
    let state = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_void>(state) };
    Some(Interpreter { layout, minor, state, code_type: code_type as u64 })
}

fn exported(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a look-up by name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Returns the frames of this thread, and how they may be read.
pub fn of_thread(tls: &Tls) -> Option<(OwnMemory, Frames)> {
    let interpreter = INTERPRETER.get()?.as_ref()?;
    if FOREIGN.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: the function of a loaded library that is never unloaded; it reads a value of this thread.
    let state = unsafe { (interpreter.state)() } as u64;
    if state == 0 {
        return None;
    }
    let frames = Frames { layout: interpreter.layout, state };
    let local = local::of(tls);
    if local.is_some_and(|local| local.python.get() == state) {
        return Some((OwnMemory { trusted: true }, frames));
    }
    let memory = OwnMemory { trusted: false };
    match interpreter.owns(memory, frames) {
        Some(true) => {
            local.iter().for_each(|local| local.python.set(state));
            // SAFETY: null, or a record that lives as long as the process.
            if let Some(thread) = unsafe { tls.thread.get().as_ref() } {
                thread.interpreter.set(state);
                thread.python.set(interpreter.minor);
            }
        }
        Some(false) => return give_up(),
        None => {}
    }
    Some((memory, frames))
}

impl Interpreter {
    /// Whether the state is this thread's, with frames of Python code; `None` while it has no frame.
    fn owns(&self, memory: OwnMemory, frames: Frames) -> Option<bool> {
        let whose = memory.word(frames.state.wrapping_add(self.layout.thread));
        let mine = match self.layout.identity {
            // SAFETY: no arguments; this call cannot fail.
            Identity::Kernel => whose == Some(unsafe { libc::syscall(libc::SYS_gettid) } as u64),
            // SAFETY: no arguments.
            Identity::Posix => whose == Some(unsafe { libc::pthread_self() }),
        };
        if !mine {
            return Some(false);
        }
        frames.walk(&memory).next().map(|frame| frame.is_of(&memory, self.code_type))
    }
}

#[cold]
fn give_up<T>() -> Option<T> {
    FOREIGN.store(true, Ordering::Relaxed);
    if let Some(writer) = image::writer() {
        const WHY: &str =
            "lines of Python are not known: its structures are not those of its version's usual build";
        writer.note(clock::now(), WHY);
    }
    None
}
