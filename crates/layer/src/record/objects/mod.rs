//! MPI objects as the layer tracks them: one table per kind, filled by hooks on the functions that make,
//! change and free objects.
//!
//! | module | contents |
//! | --- | --- |
//! | [`table`], [`index`] | mapping of handles to records, life of a record, tombstones |
//! | [`tables`] | the table of each kind |
//! | [`arena`] | arrays and names that records refer to |
//! | [`facts`] | the single place that every change of an object passes through |
//! | [`comms`] … | the hooks of each kind |
//!
//! The hooks run at depth 0 only, so objects that the library makes and frees inside a call of the program
//! are not seen. An object is entered when the call that made it has succeeded and returned a handle that is
//! not null.
#![allow(unsafe_code)]

pub mod access;
pub mod arena;
pub mod ask;
pub mod attributes;
pub mod collectives;
pub mod comms;
pub mod datatypes;
pub mod errhandlers;
pub mod facts;
pub mod files;
pub mod free;
pub mod freed;
pub mod groups;
pub mod handle_changes;
pub mod hash;
pub mod index;
pub mod infos;
pub mod language;
pub mod live;
pub mod lock;
pub mod ops;
pub mod pin;
pub mod place;
pub mod predefined;
pub mod sessions;
pub mod table;
pub mod tables;
pub mod windows;

use crate::base::{image, settings};
use crate::interpose::frame::{Call, handle_word};
use crate::interpose::real;
use crate::record::fortran_call_site;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::layout::Recording;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where and when the program did something to an object.
#[derive(Clone, Copy)]
pub struct Site {
    /// Function number plus one.
    pub function: u32,
    /// The time in ticks.
    pub at: u64,
    /// Return address of the program's call to the function, or to the Fortran binding that called it.
    pub from: u64,
}

impl Site {
    /// Returns the site of the current call.
    #[inline(always)]
    pub fn of<A: Abi>(call: &Call<A>) -> Self {
        let from = fortran_call_site::here(call);
        Self { function: u32::from(call.function().0) + 1, at: call.since, from }
    }

    /// No call: the library had the object from the beginning.
    pub const NONE: Self = Self { function: 0, at: 0, from: 0 };
}

/// The null handle of each kind, indexed by [`ObjectKind`]; all bits set if unknown.
static NULLS: [AtomicU64; 12] = [const { AtomicU64::new(u64::MAX) }; 12];

/// Whether a handle is the null handle of its kind.
#[inline(always)]
pub fn is_null(kind: ObjectKind, raw: u64) -> bool {
    NULLS.get(usize::from(kind.0)).is_some_and(|null| null.load(Ordering::Relaxed) == raw)
}

/// Like [`is_null`]; also true if the kind's null handle is unknown.
#[inline(always)]
pub fn is_null_or_unknown(kind: ObjectKind, raw: u64) -> bool {
    NULLS
        .get(usize::from(kind.0))
        .is_none_or(|null| matches!(null.load(Ordering::Relaxed), n if n == raw || n == u64::MAX))
}

/// Whether a handle is `MPI_DATATYPE_NULL`.
pub fn is_null_datatype(raw: u64) -> bool {
    is_null(ObjectKind::DATATYPE, raw)
}

/// Returns the image's writer, if objects are recorded.
#[inline(always)]
pub fn recorder() -> Option<&'static Writer> {
    if settings::records(Recording::OBJECTS) { image::writer() } else { None }
}

/// Returns the image's writer, if the call succeeded and objects are recorded.
#[inline(always)]
pub fn succeeded<A: Abi>(result: c_int) -> Option<&'static Writer> {
    if result == A::SUCCESS { recorder() } else { None }
}

/// Returns the handle stored in an output parameter.
#[inline(always)]
pub fn output<H: Handle>(place: *const H) -> Option<u64> {
    // SAFETY: the call succeeded, so the program passed a place for a handle; null is checked.
    unsafe { place.as_ref() }.map(|handle| handle_word(*handle))
}

/// Returns the handle of the new object stored in an output parameter; `None` for a null handle, which some
/// libraries store when a call fails without reporting it.
#[inline(always)]
pub fn new_handle<H: Handle>(kind: ObjectKind, place: *const H) -> Option<u64> {
    output(place).filter(|raw| !is_null(kind, *raw))
}

/// Learns the null handles from the library. Called when it was found.
pub fn learn_null_handles<A: Abi>() {
    let names = ObjectKind::ALL.iter().filter_map(|kind| Some((*kind, kind.null()?)));
    for (kind, name) in names {
        if let (Some(null), Some(raw)) = (NULLS.get(usize::from(kind.0)), real::predefined_raw::<A>(name)) {
            null.store(raw, Ordering::Relaxed);
        }
    }
}
