//! Sessions. Memory: a record and an index entry.

use super::table::Object;
use super::{Site, arena, errhandlers, facts, free, infos, new_handle, output, succeeded};
use crate::interpose::frame::Call;
use crate::record::objects::tables::SESSIONS;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Head, Session};
use std::ffi::c_int;

impl Object for Session {
    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.hints);
    }
}

/// Returns any open session.
pub fn any<A: Abi>() -> Option<A::Handle> {
    let mut found = None;
    SESSIONS.for_each(|handle, _| found = Some(A::Handle::from_raw(handle)));
    found
}

/// Whether any session is open.
pub fn is_one_open() -> bool {
    let mut open = false;
    SESSIONS.for_each(|_, _| open = true);
    open
}

/// `MPI_Session_init`.
pub fn init<A: Abi>(
    call: &Call<A>,
    result: c_int,
    info: A::Handle,
    errhandler: A::Handle,
    session: *mut A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::SESSION, session) else { return };
    super::predefined::enter::<A>(writer);
    let record = SESSIONS.insert(writer, raw, Site::of(call), |record| {
        infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
        record.errhandler.set(errhandler.raw());
        record.errhandler_uid.set(errhandlers::uid(errhandler.raw()));
    });
    if let Some(record) = record {
        facts::created(SectionKind::SESSIONS, &record.head);
    }
}

/// `MPI_Session_finalize`.
pub fn before_finalize<A: Abi>(call: &Call<A>, session: &mut *mut A::Handle) {
    free::before(call, &SESSIONS, output(*session));
}

/// `MPI_Session_finalize`.
pub fn after_finalize<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::SESSION, place), &SESSIONS, |_, _| {});
}
