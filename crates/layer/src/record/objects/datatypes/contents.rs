//! `MPI_Type_get_contents` and `MPI_File_get_view` return handles of types that exist, each of which the program must
//! free.
#![allow(unsafe_code)]

use super::{fill, made_from};
use crate::interpose::frame::Call;
use crate::record::counts::Count;
use crate::record::objects::ask;
use crate::record::objects::tables::{self, DATATYPES};
use crate::record::objects::{Site, arena, facts, output, succeeded};
use mpi_abi::{Abi, Handle};
use mpiscope_image::Writer;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Combiner, Datatype, Flag};
use std::ffi::c_int;

/// `MPI_Type_get_contents`.
pub fn get_contents<A: Abi>(
    call: &Call<A>,
    result: c_int,
    datatype: A::Handle,
    room: impl Count,
    types: *const A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::datatype::<A>(datatype) else { return };
    let olds = old_types(writer, record);
    if types.is_null() || room.count() < olds.len() as i64 {
        return;
    }
    for (place, old) in olds.into_iter().enumerate() {
        // SAFETY: the call succeeded, so it stored as many handles as the datatype has old types.
        let handle = unsafe { types.add(place).read() };
        let raw = handle.raw();
        if DATATYPES.find(raw).is_none() && ask::is_predefined_type::<A>(handle) {
            continue;
        }
        if let Some(old) = writer.at_offset::<Datatype>(old) {
            got(writer, Site::of(call), old, raw);
        }
    }
}

/// `MPI_File_get_view`.
pub fn get_view<A: Abi>(
    call: &Call<A>,
    result: c_int,
    file: usize,
    etype: *const A::Handle,
    filetype: *const A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(view) = tables::file(file) else { return };
    let both = [(etype, &view.etype, &view.etype_uid), (filetype, &view.filetype, &view.filetype_uid)];
    for (returned, handle, uid) in both {
        let Some(raw) = output(returned) else { continue };
        let of_view = handle.get();
        // The program may have freed it, and another type may have got its handle.
        match DATATYPES.find(of_view).filter(|old| old.head.uid.get() == uid.get()) {
            Some(old) => got(writer, Site::of(call), old, raw),
            None if DATATYPES.find(raw).is_none() => copied(writer, Site::of(call), raw, (of_view, None)),
            None => {}
        }
    }
}

/// The program got a handle of an old type: the original one (MPICH), or that of a copy (Open MPI).
fn got(writer: &'static Writer, site: Site, old: &'static Datatype, raw: u64) {
    let predefined = |record: &Datatype| record.head.flags.get() & Flag::PREDEFINED.0 != 0;
    if predefined(old) || DATATYPES.find(raw).is_some_and(predefined) {
        return;
    }
    if old.head.handle.get() == raw {
        // The program may already have freed its own handle of it.
        if !DATATYPES.revive(writer, old, site) {
            DATATYPES.share(raw);
        }
        return;
    }
    copied(writer, site, raw, (old.head.handle.get(), Some(old)));
}

fn copied(writer: &'static Writer, site: Site, raw: u64, (handle, old): (u64, Option<&'static Datatype>)) {
    let record = DATATYPES.insert(writer, raw, site, |record| {
        fill(record, Combiner::DUP, [0; 4]);
        made_from(writer, record, handle, old);
        let committed = old.map_or(Flag::COMMITTED.0, |old| old.head.flags.get() & Flag::COMMITTED.0);
        record.head.flags.set(committed);
    });
    if let Some(record) = record {
        facts::created(SectionKind::DATATYPES, &record.head);
    }
}

/// Returns the offsets of the records of the old types, in order.
fn old_types(writer: &'static Writer, record: &Datatype) -> Vec<u64> {
    if record.combiner.get() == Combiner::STRUCT.0 {
        let [n, ..] = &record.args;
        let words = arena::get(writer, &record.array);
        return words.iter().skip(4 * n.get() as usize).map(mpiscope_image::W64::get).collect();
    }
    if record.old.get() != 0 { vec![record.old_at.get()] } else { Vec::new() }
}
