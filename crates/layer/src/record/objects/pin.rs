//! Functions that a tool inside the process calls to keep what it shows.
//!
//! A debugger had better write [`pinned`](mpiscope_image::objects::Head::pinned) of the record itself: not every debugger can
//! call a function on every processor.
#![allow(unsafe_code)]

use crate::base::image;
use crate::record::objects::tables;
use mpiscope_image::layout::SectionKind;
use std::ffi::c_int;

/// Keeps the object that a handle stands for, or else the last one that it stood for, beyond its end.
///
/// `kind` is the number of a section of the image (16 communicators, 17 groups, 18 datatypes, 21 operations, 22 error
/// handlers, 23 infos, 24 files, 25 windows, 26 sessions, 27 keyvals, 28 attributes), `handle` the handle in C,
/// zero-extended. 0: done; 1: no such object; 2: no such kind or no image; 3: a thread that is stopped is changing the
/// table, try later.
#[unsafe(no_mangle)]
pub extern "C" fn mpiscope_pin(kind: c_int, handle: u64) -> c_int {
    change(kind, handle, true)
}

/// Ends what [`mpiscope_pin`] began: the record may be used again when its object is gone.
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
