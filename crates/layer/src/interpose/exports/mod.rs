//! Which of our names the rest of the process finds: exactly those that its MPI library has.
//!
//! This one file exports the functions of every MPI library. A program that asks whether a function exists (a weak
//! reference, `dlsym`, a module's undefined symbol) would find all of them. So the library edits its own symbol table in
//! memory: a name that the MPI library lacks gets the visibility *hidden*, which makes the dynamic linker go on looking as
//! if the name were not there. That is one byte for each symbol: a look-up in another thread sees it there or not,
//! never something between. Without an MPI library all names are hidden, and the process is as it would be without us.
//!
//! # When
//!
//! The dynamic linker maps everything, then relocates, and only then runs constructors: too late, since relocating is where
//! weak references are answered. There are two earlier moments, and both are ours:
//!
//! | moment | how we come to run | what is known |
//! | --- | --- | --- |
//! | the program starts | an `IRELATIVE` relocation of our own ([`at_relocation`]) | all that the program is linked with |
//! | `dlopen` | every shared object has a weak reference to `__gmon_start__`, from the start-up code of the C library. No library ever defines it. We do, as an *indirect function*: to answer, the dynamic linker calls [`on_load`] | all that is being loaded, before any of it is relocated |
//!
//! At start-up objects are relocated from the last to the first, libraries before what needs them: those behind us are
//! bound already, some to names that are now hidden. [`rebind`] looks through them and binds those places again, as if
//! we were not there. What comes after us, the executable above all, finds the edited table.
//!
//! When `dlopen` brings an MPI library (Python: privately, as what a module needs), it is relocated before whatever needs it.
//! Its own reference to `__gmon_start__` therefore calls us in time. This goes on until the first MPI call.
//!
//! [`own_references`] uses the first moment for one thing more: what we ourselves call is bound to the C library's functions, also in a
//! program that has some of the same names.
//!
//! # What is there
//!
//! A name is there if the MPI library, or another object that was there at the start behind us, defines it: a
//! program may bring a stand-in for what its library lacks. The MPI library is the first object with `PMPI_Init` that is no library
//! of this project, the program itself if there is no other: with an MPI library linked in whose `MPI_*` were made local, it takes
//! these from us and has `PMPI_*`. `MPI_T_*` are the exception: they are implemented here, and are there with every MPI library.
//!
//! # What may be done here
//!
//! [`at_relocation`] runs before most of the process exists. Objects before us, which may define `malloc` or `memcpy`, are not
//! relocated. So nothing here allocates, panics, takes a lock or calls the C library; memory is walked by pointer, and the one
//! system call is made directly.
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

/// The function by which an MPI library is known.
const MARK: &[u8] = b"PMPI_Init\0";

/// A function that every library of this project has, of whichever installation, and no MPI library.
const OURS: &[u8] = b"mpiscope_pin\0";

/// The last object that was there at the start: up to it, all can be found by everybody.
static LAST_AT_START: AtomicPtr<elf::LinkMap> = AtomicPtr::new(ptr::null_mut());
/// The MPI library that the symbol table was edited for.
static LIBRARY: AtomicPtr<elf::LinkMap> = AtomicPtr::new(ptr::null_mut());
/// Set at the first MPI call: the library is chosen, and nothing changes any more.
static FINAL: AtomicBool = AtomicBool::new(false);

arch::export_at_relocation!(at_relocation);

/// The program starts; this library is being relocated. The answer is not used.
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

/// Something is being loaded and asks for `__gmon_start__`, which nobody has.
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

/// Path of the MPI library, for the first MPI call: from now on nothing changes. `None` if there is none.
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

/// Whether a library that calls MPI is there, in C or Fortran, apart from the MPI library; `counts` says by its path whether it is
/// meant.
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

/// Does something within a function of the dynamic linker that holds the lock of its list of objects.
fn while_nothing_is_loaded(mut what: &mut dyn FnMut()) {
    unsafe extern "C" fn once(_: *mut libc::dl_phdr_info, _: usize, what: *mut c_void) -> c_int {
        // SAFETY: the variable of the function around.
        unsafe { (*what.cast::<&mut dyn FnMut()>())() };
        1
    }
    // SAFETY: `once` has the right type and gets the variable that it expects.
    unsafe { libc::dl_iterate_phdr(Some(once), (&raw mut what).cast()) };
}

/// Whether the process has another library of this project in front of this one: a program that is linked with one was started with
/// that of another installation. What is in front sees all calls.
pub fn another_is_in_front() -> bool {
    let mut found = false;
    while_nothing_is_loaded(&mut || {
        let Some(own) = own::Own::find() else { return };
        found = elf::objects().take_while(|object| object.map != own.map()).any(|object| is_ours(&object));
    });
    found
}

/// Whether an address lies in a library of this project.
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

/// The first object that has an MPI library's functions and is none of ours; the executable only if there is no other.
fn library_of(own: &own::Own) -> Option<Object> {
    let mark = Name::new(MARK.as_ptr());
    let others = elf::objects().filter(|object| object.map != own.map() && !is_ours(object));
    others.chain(elf::program()).find(|object| object.define(&mark).is_some())
}

/// Whether the process has a function of this name without us.
fn is_there(own: &own::Own, library: Option<&Object>, name: &Name) -> bool {
    let Some(library) = library else { return false };
    name.starts_with(b"MPI_T_")
        || name.starts_with(b"PMPI_T_")
        || library.define(name).is_some()
        || (library.is_program() && library.define(&name.profiled()).is_some())
        || behind(own).any(|object| object.define(name).is_some())
}

/// The objects behind us that were there at the start.
fn behind(own: &own::Own) -> impl Iterator<Item = Object> {
    let last = LAST_AT_START.load(Ordering::Relaxed).cast_const();
    elf::from(own.next(), last)
}
