//! Functions that a tool inside the process calls to keep the objects it shows.
//!
//! A debugger should rather write [`pinned`](mpiscope_image::objects::Head::pinned) in the record itself: not
//! every debugger can call functions on every architecture.
#![allow(unsafe_code)]

use crate::base::image;
use crate::record::objects::tables;
use mpiscope_image::layout::SectionKind;
use std::ffi::c_int;

/// Pins the object that a handle refers to, or else the last one that it referred to, so that its record is
/// kept after it is freed.
///
/// `kind` is the number of a section of the image (16 communicators, 17 groups, 18 datatypes, 21 operations,
/// 22 error handlers, 23 infos, 24 files, 25 windows, 26 sessions, 27 keyvals, 28 attributes), `handle` the
/// handle in C, zero-extended. Returns 0 on success, 1 if there is no such object, 2 if there is no such kind
/// or no image, 3 if a stopped thread is changing the table: try again later.
#[unsafe(no_mangle)]
pub extern "C" fn mpiscope_pin(kind: c_int, handle: u64) -> c_int {
    change(kind, handle, true)
}

/// Reverses [`mpiscope_pin`]: the record may be reused once its object is freed.
#[unsafe(no_mangle)]
pub extern "C" fn mpiscope_release(kind: c_int, handle: u64) -> c_int {
    change(kind, handle, false)
}

fn change(kind: c_int, handle: u64, pinned: bool) -> c_int {
    let Some(writer) = image::writer() else { return 2 };
    let done = match SectionKind(kind.unsigned_abs()) {
        SectionKind::COMMS => tables::COMMS.pin(writer, handle, pinned),
        SectionKind::GROUPS => tables::GROUPS.pin(writer, handle, pinned),
        SectionKind::DATATYPES => tables::DATATYPES.pin(writer, handle, pinned),
        SectionKind::OPS => tables::OPS.pin(writer, handle, pinned),
        SectionKind::ERRHANDLERS => tables::ERRHANDLERS.pin(writer, handle, pinned),
        SectionKind::INFOS => tables::INFOS.pin(writer, handle, pinned),
        SectionKind::FILES => tables::FILES.pin(writer, handle, pinned),
        SectionKind::WINDOWS => tables::WINDOWS.pin(writer, handle, pinned),
        SectionKind::SESSIONS => tables::SESSIONS.pin(writer, handle, pinned),
        SectionKind::KEYVALS => tables::KEYVALS.pin(writer, handle, pinned),
        SectionKind::ATTRIBUTES => tables::ATTRIBUTES.pin(writer, handle, pinned),
        _ => return 2,
    };
    match done {
        Some(true) => 0,
        Some(false) => 1,
        None => 3,
    }
}
