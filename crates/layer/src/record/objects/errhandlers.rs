//! Error handlers: what made them, and which one is attached to each object.
//!
//! Memory: a record and an index entry.
#![allow(unsafe_code)]

use super::table::Object;
use super::{Site, arena, facts, free, is_null, language, new_handle, output, recorder, succeeded};
use crate::interpose::callbacks::target;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, ERRHANDLERS};
use mpi_abi::{Abi, Handle, ObjectKind, f};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Errhandler, ErrhandlerKind, Flag, Head};
use mpiscope_image::{W32, W64, Writer};
use std::ffi::{c_int, c_void};

impl Object for Errhandler {
    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.name);
    }

    fn handles(&self) -> Option<&W32> {
        Some(&self.handles)
    }
}

/// Enters a predefined error handler.
pub fn predefined(writer: &'static Writer, raw: u64, name: &str) {
    if ERRHANDLERS.find(raw).is_some() {
        return;
    }
    let record = ERRHANDLERS.insert(writer, raw, Site::NONE, |record| {
        record.head.flags.set(Flag::PREDEFINED.0);
        record.kind.set(ErrhandlerKind::ANY.0);
        record.handles.set(1);
        arena::put_text(writer, &record.name, name.as_bytes());
    });
    if let Some(record) = record {
        facts::created(SectionKind::ERRHANDLERS, &record.head);
    }
}

/// Returns the uid of an error handler; zero if it is null or its creation was not seen.
pub fn uid(raw: u64) -> u64 {
    ERRHANDLERS.find(raw).map_or(0, |e| e.head.uid.get())
}

/// `MPI_Comm_create_errhandler`, `MPI_Errhandler_create` and the equivalents for other kinds.
pub fn create<A: Abi>(call: &Call<A>, result: c_int, function: *const c_void, errhandler: *mut A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::ERRHANDLER, errhandler) else { return };
    let kind = match call.function() {
        f::MPI_Win_create_errhandler => ErrhandlerKind::WINDOW,
        f::MPI_File_create_errhandler => ErrhandlerKind::FILE,
        f::MPI_Session_create_errhandler => ErrhandlerKind::SESSION,
        _ => ErrhandlerKind::COMM,
    };
    let fortran = language::is_fortran(call.return_address());
    enter(writer, raw, kind, (target(function.addr()) as u64, fortran), Site::of(call));
}

/// An error handler was made without a traced call: see
/// [`fortran_hooks::errhandlers`](crate::record::fortran_hooks::errhandlers).
pub fn made(raw: u64, kind: ErrhandlerKind, function: u64, fortran: bool, site: Site) {
    let Some(writer) = recorder() else { return };
    if raw != 0 && !is_null(ObjectKind::ERRHANDLER, raw) {
        enter(writer, raw, kind, (function, fortran), site);
    }
}

fn enter(
    writer: &'static Writer,
    raw: u64,
    kind: ErrhandlerKind,
    (function, fortran): (u64, bool),
    site: Site,
) {
    let record = ERRHANDLERS.insert(writer, raw, site, |record| {
        record.head.flags.set(if fortran { Flag::FORTRAN.0 } else { 0 });
        record.kind.set(kind.0);
        record.handles.set(1);
        record.function.set(function);
    });
    if let Some(record) = record {
        facts::created(SectionKind::ERRHANDLERS, &record.head);
    }
}

/// The program got a handle of an attached error handler, which it has to free.
fn got<A: Abi>(call: &Call<A>, result: c_int, place: *const A::Handle, uid: u64, kind: ErrhandlerKind) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::ERRHANDLER, place) else { return };
    let lives = || ERRHANDLERS.share(raw).is_some();
    let freed = || ERRHANDLERS.tombstone(writer, uid).filter(|e| e.head.handle.get() == raw);
    if lives() || freed().is_some_and(|record| ERRHANDLERS.revive(writer, record, Site::of(call))) {
        return;
    }
    // Created unseen: by the Fortran binding of a library that does not go through C.
    let record = ERRHANDLERS.insert(writer, raw, Site::of(call), |record| {
        record.kind.set(kind.0);
        record.handles.set(1);
    });
    if let Some(record) = record {
        facts::created(SectionKind::ERRHANDLERS, &record.head);
    }
}

/// `MPI_Comm_get_errhandler`, `MPI_Errhandler_get`.
pub fn comm_get<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, place: *mut A::Handle) {
    let uid = tables::comm::<A>(comm).map_or(0, |c| c.errhandler_uid.get());
    got(call, result, place, uid, ErrhandlerKind::COMM);
}

/// `MPI_Win_get_errhandler`.
pub fn win_get<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, place: *mut A::Handle) {
    let uid = tables::window::<A>(win).map_or(0, |w| w.errhandler_uid.get());
    got(call, result, place, uid, ErrhandlerKind::WINDOW);
}

/// `MPI_File_get_errhandler`.
pub fn file_get<A: Abi>(call: &Call<A>, result: c_int, file: usize, place: *mut A::Handle) {
    let uid = tables::file(file).map_or(0, |f| f.errhandler_uid.get());
    got(call, result, place, uid, ErrhandlerKind::FILE);
}

/// `MPI_Session_get_errhandler`.
pub fn session_get<A: Abi>(call: &Call<A>, result: c_int, session: A::Handle, place: *mut A::Handle) {
    let uid = tables::session::<A>(session).map_or(0, |s| s.errhandler_uid.get());
    got(call, result, place, uid, ErrhandlerKind::SESSION);
}

/// An error handler was attached to an object.
fn attached<A: Abi>(
    result: c_int,
    kind: SectionKind,
    record: Option<(&'static Head, &'static W64, &'static W64)>,
    errhandler: A::Handle,
) {
    if succeeded::<A>(result).is_none() {
        return;
    }
    let Some((head, handle, handle_uid)) = record else { return };
    head.seq.write(|| {
        handle.set(errhandler.raw());
        handle_uid.set(uid(errhandler.raw()));
    });
    facts::attached(kind, head);
}

/// `MPI_Comm_set_errhandler`, `MPI_Errhandler_set`.
pub fn comm_set<A: Abi>(_: &Call<A>, result: c_int, comm: A::Handle, errhandler: A::Handle) {
    let record = tables::comm::<A>(comm).map(|c| (&c.head, &c.errhandler, &c.errhandler_uid));
    attached::<A>(result, SectionKind::COMMS, record, errhandler);
}

/// `MPI_Win_set_errhandler`.
pub fn win_set<A: Abi>(_: &Call<A>, result: c_int, win: A::Handle, errhandler: A::Handle) {
    let record = tables::window::<A>(win).map(|w| (&w.head, &w.errhandler, &w.errhandler_uid));
    attached::<A>(result, SectionKind::WINDOWS, record, errhandler);
}

/// `MPI_File_set_errhandler`.
pub fn file_set<A: Abi>(_: &Call<A>, result: c_int, file: usize, errhandler: A::Handle) {
    let record = tables::file(file).map(|f| (&f.head, &f.errhandler, &f.errhandler_uid));
    attached::<A>(result, SectionKind::FILES, record, errhandler);
}

/// `MPI_Session_set_errhandler`.
pub fn session_set<A: Abi>(_: &Call<A>, result: c_int, session: A::Handle, errhandler: A::Handle) {
    let record = tables::session::<A>(session).map(|s| (&s.head, &s.errhandler, &s.errhandler_uid));
    attached::<A>(result, SectionKind::SESSIONS, record, errhandler);
}

/// `MPI_Errhandler_free`.
pub fn before_free<A: Abi>(call: &Call<A>, errhandler: &mut *mut A::Handle) {
    free::before(call, &ERRHANDLERS, output(*errhandler));
}

/// `MPI_Errhandler_free`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::ERRHANDLER, place), &ERRHANDLERS, |_, _| {});
}
