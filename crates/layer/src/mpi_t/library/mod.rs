//! The library's own variables, events, enumerations and categories, appended after ours as they appear.
//!
//! The library's interface is initialized at most once, by the first tool, and never finalized: that crashes
//! one library or another in most orders. It is not initialized after `MPI_Finalize`. On Open MPI the
//! requested level is the program's own, because the call would change it; elsewhere it is
//! `MPI_THREAD_MULTIPLE`, so that the library protects its tables.
#![allow(unsafe_code)]

mod categories;
mod cvar;
mod enumeration;
mod events;
mod gone;
mod measured;
mod native;
mod pvar;
mod pvar_handle;

pub use gone::pvars_usable;

use super::program;
use crate::interpose::real;
use crate::mpi_t::codes::codes;
use mpi_abi::{Abi, AbiKind, Mpich, OpenMpi, Standard};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Our index for each of the library's indices, if it has been appended.
#[derive(Default)]
struct Known {
    tried: bool,
    seen: Counts,
    cvars: Vec<Option<usize>>,
    pvars: Vec<Option<usize>>,
    sources: Vec<Option<usize>>,
    events: Vec<Option<usize>>,
    categories: categories::Known,
    enumerations: enumeration::Known,
}

/// Numbers that change when the library offers more.
#[derive(Default, PartialEq, Clone, Copy)]
struct Counts {
    cvars: c_int,
    pvars: c_int,
    sources: c_int,
    events: c_int,
    categories: c_int,
    update: c_int,
    initialized: bool,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
/// Whether the library's interface can be called.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Called when a tool has initialized the interface.
pub fn started() {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    // A tool's polling loop may run until the program ends: do not start after `MPI_Finalize`.
    if !known.tried && !over() {
        known.tried = true;
        let level = level();
        let mut provided = 0;
        // SAFETY: a level, and memory for the result.
        OPEN.store(unsafe { native::init_thread(level, &mut provided) }.is_ok(), Ordering::Release);
    }
    append(known);
}

fn level() -> c_int {
    let multiple = codes().threads.len() - 1;
    let level = match crate::interpose::resolver::abi() {
        Some(AbiKind::OPENMPI) => program::level().unwrap_or(0),
        _ => multiple,
    };
    codes().threads.get(level).map_or(0, |level| *level as c_int)
}

/// Appends what the library has added. Takes a few calls of the library if nothing was added.
pub fn refresh() {
    if !OPEN.load(Ordering::Acquire) {
        return;
    }
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        append(known);
    }
}

/// Finds an entry by its name; if there is none, tries again after appending the library's new entries.
pub fn find(look: impl Fn() -> mpit::Result<usize>) -> mpit::Result<usize> {
    look().or_else(|_| {
        refresh();
        look()
    })
}

fn append(known: &mut Known) {
    if !OPEN.load(Ordering::Acquire) {
        return;
    }
    let now = Counts {
        cvars: native::number(native::cvar_get_num),
        pvars: native::number(native::pvar_get_num),
        sources: native::number(native::source_get_num),
        events: native::number(native::event_get_num),
        categories: native::number(native::category_get_num),
        update: native::number(native::category_changed),
        initialized: program::is_up(),
    };
    if now == known.seen {
        return;
    }
    known.seen = now;
    let Known { cvars, pvars, sources, events, categories, enumerations, .. } = known;
    add_missing(cvars, now.cvars, |index| cvar::append(index, enumerations));
    add_missing(pvars, now.pvars, |index| pvar::append(index, enumerations));
    add_missing(sources, now.sources, events::append_source);
    add_missing(events, now.events, |index| events::append(index, enumerations));
    categories.append(now.categories, cvars, pvars, events);
}

/// Tries all missing indices: one that is not available, like that of a closed component, may appear later.
fn add_missing(known: &mut Vec<Option<usize>>, count: c_int, mut add: impl FnMut(c_int) -> Option<usize>) {
    known.resize(known.len().max(usize::try_from(count).unwrap_or(0)), None);
    for (index, entry) in (0..count).zip(known.iter_mut()) {
        if entry.is_none() {
            *entry = add(index);
        }
    }
}

/// Whether `MPI_Finalize` has returned.
fn over() -> bool {
    fn finalized<A: Abi>() -> bool {
        let mut flag = 0;
        real::finalized::<A>(&mut flag) == Some(A::SUCCESS) && flag != 0
    }
    match crate::interpose::resolver::abi() {
        Some(AbiKind::MPICH) => finalized::<Mpich>(),
        Some(AbiKind::OPENMPI) => finalized::<OpenMpi>(),
        _ => finalized::<Standard>(),
    }
}
