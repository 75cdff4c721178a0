//! Windows: memory, epochs, one-sided operations.
//!
//! Memory: a record, an index entry, 8 bytes per lock held, 4 kB from the first lock on, and 4 kB from the
//! first collective call on; with operations, 8 bytes per rank for windows of up to 4096 ranks. While messages
//! are recorded, a ring of the newest operations and synchronizing calls of the process.

mod create;
mod ends;
mod locks;
mod moment;
mod operations;
mod recorded;
mod sync;

pub use create::*;
pub use ends::*;
pub use operations::*;
pub use recorded::{flush_local, flush_local_all};
pub use sync::*;

use super::table::Object;
use super::{Site, arena, attributes, facts, free, infos, output, succeeded};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, WINDOWS};
use crate::record::traffic::rings;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::derive::epochs::Use;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Head, Window};
use std::ffi::{c_char, c_int};

impl Object for Window {
    const HAS_SITES: bool = true;

    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.name);
        arena::release_text(writer, &self.hints);
        let own = [&self.start_members, &self.post_members, &self.locks, &self.attached, &self.targets];
        rings::give_back(&self.history);
        for words in own.into_iter().chain([&self.lock_epochs]) {
            arena::release_words(writer, words);
        }
    }
}

/// `MPI_Win_set_name`.
pub fn set_name<A: Abi>(_: &Call<A>, result: c_int, win: A::Handle, name: *const c_char) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return };
    let name = c_string::text(name, 128);
    record.head.seq.write(|| {
        arena::release_text(writer, &record.name);
        arena::put_text(writer, &record.name, name.as_bytes());
    });
    facts::named(SectionKind::WINDOWS, &record.head);
}

/// `MPI_Win_set_info`.
pub fn set_info<A: Abi>(_: &Call<A>, result: c_int, win: A::Handle, info: A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return };
    record.head.seq.write(|| {
        infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
    });
    facts::attached(SectionKind::WINDOWS, &record.head);
}

/// `MPI_Win_free`.
pub fn before_free<A: Abi>(call: &Call<A>, win: &mut *mut A::Handle) {
    free::before(call, &WINDOWS, output(*win));
}

/// `MPI_Win_free`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::WIN, place), &WINDOWS, |writer, record| {
        moment::check(call, record, Use::Free, -1, moment::open(writer, record, -1));
        attributes::drop_all(writer, &record.attributes, Site::of(call));
    });
}
