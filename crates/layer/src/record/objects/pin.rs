//! Functions that a tool inside the process calls to keep what it shows.
//!
//! A debugger had better write [`pinned`](mpiscope_image::objects::Head::pinned) of the record itself: not every debugger can
//! call a function on every processor.
#![allow(unsafe_code)]

use super::{attributes, comms, datatypes, errhandlers, files, groups, infos, ops, sessions, windows};
use crate::base::image;
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
        SectionKind::COMMS => comms::COMMS.pin(writer, handle, pinned),
        SectionKind::GROUPS => groups::GROUPS.pin(writer, handle, pinned),
        SectionKind::DATATYPES => datatypes::DATATYPES.pin(writer, handle, pinned),
        SectionKind::OPS => ops::OPS.pin(writer, handle, pinned),
        SectionKind::ERRHANDLERS => errhandlers::ERRHANDLERS.pin(writer, handle, pinned),
        SectionKind::INFOS => infos::INFOS.pin(writer, handle, pinned),
        SectionKind::FILES => files::FILES.pin(writer, handle, pinned),
        SectionKind::WINDOWS => windows::WINDOWS.pin(writer, handle, pinned),
        SectionKind::SESSIONS => sessions::SESSIONS.pin(writer, handle, pinned),
        SectionKind::KEYVALS => attributes::KEYVALS.pin(writer, handle, pinned),
        SectionKind::ATTRIBUTES => attributes::ATTRIBUTES.pin(writer, handle, pinned),
        _ => return 2,
    };
    match done {
        Some(true) => 0,
        Some(false) => 1,
        None => 3,
    }
}
