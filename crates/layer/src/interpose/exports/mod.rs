//! Controls which of our symbols the rest of the process can find: exactly those that its MPI library has.
//!
//! This one file exports the functions of every MPI library. A program that checks whether a function exists
//! (a weak reference, `dlsym`, a module's undefined symbol) would find all of them. So the library edits its
//! own symbol table in memory: a symbol that the MPI library lacks gets the visibility *hidden*, which makes
//! the dynamic linker continue its search as if the symbol did not exist. That changes one byte per symbol,
//! so a look-up in another thread either sees the symbol or does not. Without an MPI library all symbols are
//! hidden, and the process behaves as if we were not loaded.
//!
//! # When
//!
//! The dynamic linker maps everything, then relocates, and only then runs constructors. That is too late,
//! since weak references are resolved during relocation. There are two earlier opportunities, and we use
//! both:
//!
//! | moment | how our code gets to run | what is known |
//! | --- | --- | --- |
//! | the program starts | an `IRELATIVE` relocation of our own ([`at_relocation`]) | everything the program is linked with |
//! | `dlopen` | every shared object has a weak reference to `__gmon_start__`, from the C library's start-up code. No library ever defines it. We do, as an *indirect function*: to resolve it, the dynamic linker calls [`on_load`] | everything that is being loaded, before any of it is relocated |
//!
//! At start-up, objects are relocated from last to first, libraries before their users. Objects after us are
//! already bound by then, some of them to symbols that are now hidden. [`rebind`] goes through them and binds
//! those references again, as if we were not loaded. Objects before us, above all the executable, see the
//! edited table.
//!
//! When `dlopen` loads an MPI library (in Python, privately, as a dependency of a module), that library is
//! relocated before its users. Its own reference to `__gmon_start__` therefore calls us in time. This goes on
//! until the first MPI call.
//!
//! [`own_references`] also uses the first moment: it binds our own calls to the C library's functions, even
//! in a program that defines functions with the same names.
//!
//! # Which symbols are visible
//!
//! A symbol is visible if it is defined by the MPI library or by another object that was loaded at the start
//! after us: a program may bring a substitute for a function that its library lacks. The MPI library is the
//! first object with `PMPI_Init` that is not a library of this project, or the program itself if there is no
//! other: if an MPI library was linked in and its `MPI_*` were made local, the program takes these from us
//! and has `PMPI_*`. `MPI_T_*` are an exception: they are implemented here and are visible with every MPI
//! library.
//!
//! # Restrictions
//!
//! [`at_relocation`] runs before most of the process exists. Objects before us, which may define `malloc` or
//! `memcpy`, are not relocated yet. So nothing here allocates, panics, takes a lock or calls the C library;
//! memory is walked by pointer, and the only system call is made directly.
#![allow(unsafe_code)]

mod elf;
mod own;
mod own_references;
mod pages;
mod rebind;
mod versions;

use crate::interpose::arch;
use elf::{Name, Object};
use own_references::Moment;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The function that identifies an MPI library.
const MARK: &[u8] = b"PMPI_Init\0";

/// A function that every library of this project has, in any installation, and that no MPI library has.
const OURS: &[u8] = b"mpiscope_pin\0";

/// The last object loaded at the start: objects up to this one are in the global scope.
static LAST_AT_START: AtomicPtr<elf::LinkMap> = AtomicPtr::new(ptr::null_mut());
/// The MPI library for which the symbol table was edited.
static LIBRARY: AtomicPtr<elf::LinkMap> = AtomicPtr::new(ptr::null_mut());
/// Set at the first MPI call: the library is chosen, and nothing changes any more.
static FINAL: AtomicBool = AtomicBool::new(false);

arch::export_at_relocation!(at_relocation);

/// Called at program start, when this library is being relocated. The result is not used.
pub unsafe extern "C" fn at_relocation() -> usize {
    if let Some(own) = own::Own::find() {
        own_references::bind(&own, Moment::Relocation);
        LAST_AT_START.store(elf::last().cast_mut(), Ordering::Relaxed);
        let library = library_of(&own);
        LIBRARY.store(library.map_or(ptr::null_mut(), |l| l.map.cast_mut()), Ordering::Relaxed);
        own.change(|symbols| {
            symbols.show(|name| is_there(&own, library.as_ref(), name));
            symbols.watch(library.is_none(), on_load);
        });
        rebind::all(&own);
    }
    at_relocation as *const () as usize
}

/// Called when an object is being loaded and its reference to `__gmon_start__`, which nothing else defines,
/// is resolved.
unsafe extern "C" fn on_load() -> usize {
    if !FINAL.load(Ordering::Acquire)
        && let Some(own) = own::Own::find()
    {
        let library = library_of(&own);
        let map = library.as_ref().map_or(ptr::null_mut(), |l| l.map.cast_mut());
        if LIBRARY.swap(map, Ordering::AcqRel) != map {
            own.change(|symbols| symbols.show(|name| is_there(&own, library.as_ref(), name)));
        }
    }
    0
}

/// Returns the path of the MPI library, for the first MPI call; nothing changes after that. `None` if there
/// is no library.
pub fn library() -> Option<CString> {
    let mut found: Option<CString> = None;
    while_nothing_is_loaded(&mut || {
        let Some(own) = own::Own::find() else { return };
        own_references::bind(&own, Moment::FirstCall);
        let library = library_of(&own);
        found = library.map(|library| library.path().to_owned());
    });
    if found.is_some() {
        FINAL.store(true, Ordering::Release);
    }
    found
}

/// Whether a library other than the MPI library calls MPI, in C or Fortran. Only libraries for whose path
/// `counts` returns true are considered.
pub fn callers(counts: impl Fn(&CStr) -> bool) -> bool {
    let mut found = false;
    while_nothing_is_loaded(&mut || {
        let mark = Name::new(MARK.as_ptr());
        let own = own::Own::find();
        let is_own = |object: &Object| own.as_ref().is_some_and(|own| own.map() == object.map);
        let mut users = elf::objects().filter(|object| !object.is_program() && !is_own(object));
        found =
            users.any(|object| object.define(&mark).is_none() && counts(object.path()) && calls_mpi(&object));
    });
    found
}

fn calls_mpi(object: &Object) -> bool {
    let relocations = object.relocations().filter(|relocation| relocation.symbol() != 0);
    let mut names = relocations.map(|relocation| object.name(relocation.symbol()));
    names.any(|name| name.starts_with(b"MPI_") || name.starts_with(b"mpi_"))
}

/// Runs `what` in a callback of the dynamic linker, which holds the lock of its object list.
fn while_nothing_is_loaded(mut what: &mut dyn FnMut()) {
    unsafe extern "C" fn once(_: *mut libc::dl_phdr_info, _: usize, what: *mut c_void) -> c_int {
        // SAFETY: the variable of the enclosing function.
        unsafe { (*what.cast::<&mut dyn FnMut()>())() };
        1
    }
    // SAFETY: `once` has the right type and receives the variable that it expects.
    unsafe { libc::dl_iterate_phdr(Some(once), (&raw mut what).cast()) };
}

/// Whether another library of this project precedes this one: a program linked with one was started with that
/// of another installation. The one in front sees all calls.
pub fn another_is_in_front() -> bool {
    let mut found = false;
    while_nothing_is_loaded(&mut || {
        let Some(own) = own::Own::find() else { return };
        found = elf::objects().take_while(|object| object.map != own.map()).any(|object| is_ours(&object));
    });
    found
}

/// Whether an address is in a library of this project.
pub fn is_in_one_of_ours(address: usize) -> bool {
    let mut found = false;
    while_nothing_is_loaded(&mut || {
        found = elf::objects().any(|object| object.has(address) && is_ours(&object));
    });
    found
}

fn is_ours(object: &Object) -> bool {
    object.define(&Name::new(OURS.as_ptr())).is_some()
}

/// Finds the first object that has an MPI library's functions and is not ours; the executable only if there
/// is no other.
fn library_of(own: &own::Own) -> Option<Object> {
    let mark = Name::new(MARK.as_ptr());
    let others = elf::objects().filter(|object| object.map != own.map() && !is_ours(object));
    others.chain(elf::program()).find(|object| object.define(&mark).is_some())
}

/// Whether the process would have a function of this name without us.
fn is_there(own: &own::Own, library: Option<&Object>, name: &Name) -> bool {
    let Some(library) = library else { return false };
    name.starts_with(b"MPI_T_")
        || name.starts_with(b"PMPI_T_")
        || library.define(name).is_some()
        || (library.is_program() && library.define(&name.profiled()).is_some())
        || behind(own).any(|object| object.define(name).is_some())
}

/// The objects after us that were loaded at the start.
fn behind(own: &own::Own) -> impl Iterator<Item = Object> {
    let last = LAST_AT_START.load(Ordering::Relaxed).cast_const();
    elf::from(own.next(), last)
}
