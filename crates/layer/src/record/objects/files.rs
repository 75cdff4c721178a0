//! Files. Memory: a record, an index entry, the name, and 4 kB from the first collective call on.

use super::table::Object;
use super::{Site, arena, comms, facts, free, infos, new_handle, output, recorder, succeeded};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, FILES};
use crate::record::traffic::rings;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{File, Head};
use std::ffi::{c_char, c_int};

impl Object for File {
    const HAS_SITES: bool = true;

    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.name);
        arena::release_text(writer, &self.datarep);
        arena::release_text(writer, &self.hints);
        rings::give_back(&self.history);
    }
}

/// Records the number by which the library identifies a file in Fortran.
pub fn numbered(file: usize, number: c_int) {
    let Some(record) = recorder().and_then(|_| tables::file(file)) else { return };
    let number = number.cast_unsigned();
    if record.fortran_known.get() != 0 && record.fortran.get() == number {
        return;
    }
    FILES.locked(|| {
        record.head.seq.write(|| {
            record.fortran.set(number);
            record.fortran_known.set(1);
        });
    });
}

/// `MPI_File_open`.
pub fn open<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    name: *const c_char,
    amode: c_int,
    info: A::Handle,
    file: *mut usize,
) {
    let parent = tables::comm::<A>(comm);
    let identity = comms::next_name_on::<A>(parent, SectionKind::FILES, result);
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::FILE, file) else { return };
    let name = c_string::text(name, 4096);
    let record = FILES.insert(writer, raw, Site::of(call), |record| {
        record.head.parent.set(parent.map_or(0, |c| c.head.uid.get()));
        record.head.identity.set(identity);
        record.comm.set(comm.raw());
        record.amode.set(amode.cast_unsigned());
        arena::put_text(writer, &record.name, name.as_bytes());
        infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
    });
    if let Some(record) = record {
        facts::created(SectionKind::FILES, &record.head);
    }
}

/// `MPI_File_set_view`.
pub fn set_view<A: Abi>(
    _: &Call<A>,
    result: c_int,
    file: usize,
    disp: i64,
    (etype, filetype): (A::Handle, A::Handle),
    datarep: *const c_char,
    info: A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::file(file) else { return };
    let datarep = c_string::text(datarep, 256);
    let uid = |datatype| tables::datatype::<A>(datatype).map_or(0, |d| d.head.uid.get());
    record.head.seq.write(|| {
        record.disp.set(disp as u64);
        record.etype.set(etype.raw());
        record.etype_uid.set(uid(etype));
        record.filetype.set(filetype.raw());
        record.filetype_uid.set(uid(filetype));
        arena::release_text(writer, &record.datarep);
        arena::put_text(writer, &record.datarep, datarep.as_bytes());
        if infos::uid(info.raw()) != 0 {
            infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
        }
    });
    facts::attached(SectionKind::FILES, &record.head);
}

/// `MPI_File_set_info`.
pub fn set_info<A: Abi>(_: &Call<A>, result: c_int, file: usize, info: A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::file(file) else { return };
    record.head.seq.write(|| {
        infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
    });
    facts::attached(SectionKind::FILES, &record.head);
}

/// `MPI_File_set_atomicity`.
pub fn set_atomicity<A: Abi>(_: &Call<A>, result: c_int, file: usize, flag: c_int) {
    if succeeded::<A>(result).is_none() {
        return;
    }
    if let Some(record) = tables::file(file) {
        record.head.seq.write(|| record.atomicity.set(u32::from(flag != 0)));
        facts::attached(SectionKind::FILES, &record.head);
    }
}

/// `MPI_File_close`.
pub fn before_close<A: Abi>(call: &Call<A>, file: &mut *mut usize) {
    if recorder().is_some() {
        free::before(call, &FILES, output(*file));
    }
}

/// `MPI_File_close`.
pub fn after_close<A: Abi>(call: &Call<A>, result: c_int, place: *mut usize) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::FILE, place), &FILES, |_, _| {});
}
