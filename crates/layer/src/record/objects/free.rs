//! Common part of the hooks on functions that free an object through a pointer to its handle.
//!
//! Such a call may take long (it may be collective), and the library may give the handle to another thread
//! before it returns. So the object is marked before the call and becomes a tombstone after it.
#![allow(unsafe_code)]

use super::table::{Object, Table};
use super::{Site, facts, freed, is_null_or_unknown, output, recorder};
use crate::interpose::frame::Call;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::objects::{Flag, kind_of};
use std::ffi::c_int;

/// Lowest bit of the stash: one of several handles is released, and the object stays.
const SHARED: u64 = 1;
/// The stash if the handle is that of an object that was freed before.
pub const AGAIN: u64 = 2;

/// Before the call: marks the object.
#[inline(always)]
pub fn before<A: Abi, T: Object>(call: &Call<A>, table: &'static Table<T>, handle: Option<u64>) {
    if recorder().is_none() {
        return;
    }
    let Some(record) = handle.and_then(|handle| table.find(handle)) else {
        if handle.is_some_and(|handle| freed::is_freed(table, handle)) {
            call.stash.set(AGAIN);
        }
        return;
    };
    if record.head().flags.get() & Flag::PREDEFINED.0 != 0 {
        return;
    }
    let last = table.mark(record);
    call.stash.set(std::ptr::from_ref(record).addr() as u64 | if last { 0 } else { SHARED });
}

/// Whether a freeing call has freed the handle, which it shows by setting the program's handle to null. The
/// result alone is not enough: MPICH 5 returns success from a failed call after a user's error handler has
/// returned.
#[inline(always)]
pub fn gone<A: Abi, H: Handle>(result: c_int, kind: ObjectKind, place: *const H) -> bool {
    result == A::SUCCESS && output(place).is_none_or(|raw| is_null_or_unknown(kind, raw))
}

/// After the call, which has freed the handle if `gone`. `last` cleans up when the object itself is freed.
#[inline(always)]
pub fn after<A: Abi, T: Object>(
    call: &Call<A>,
    gone: bool,
    table: &'static Table<T>,
    last: impl FnOnce(&'static Writer, &'static T),
) {
    let stashed = call.stash.get();
    if stashed == AGAIN {
        return;
    }
    let place = (stashed & !SHARED) as usize as *const T;
    // SAFETY: null, or a record that `before` found; records stay mapped.
    let (Some(record), Some(writer)) = (unsafe { place.as_ref() }, recorder()) else { return };
    if !gone {
        table.unmark(record);
    } else if stashed & SHARED == 0 {
        facts::freed(kind_of(record.head().uid.get()), record.head());
        last(writer, record);
        table.retire(writer, record, Site::of(call));
    }
}
