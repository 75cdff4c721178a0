//! Datatypes: the constructor and its arguments, from which a reader builds the type map.
//!
//! # What is stored when
//!
//! At creation: constructor, arguments and old types. For a structure also lower bound and extent, since
//! libraries pad differently. At commit: lower bound and extent as reported by the library. The size: when a
//! call first needs it.
//!
//! An old type's record is held as long as there is a record of a type made from it, so that a type map can
//! be built after the old type was freed.
//!
//! # Memory
//!
//! A record and an index entry. Constructors with arrays take a block of [`super::arena`]: 8 bytes
//! per length and displacement, and for a structure 24 more per type.

pub mod built_in;
mod constructors;
mod contents;
mod signature;

pub use constructors::*;
pub use contents::*;
pub use signature::{is_gapless, signed};

use super::table::Object;
use super::{Site, arena, ask, attributes, facts, free, output, succeeded};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, DATATYPES};
use crate::record::size_cache;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{BOUND_UNKNOWN, Combiner, Datatype, Flag, Head, Life, SIZE_UNKNOWN};
use mpiscope_image::{W32, Writer};
use std::ffi::{c_char, c_int};

impl Object for Datatype {
    fn head(&self) -> &Head {
        &self.head
    }

    /// [`fill`] writes every field.
    fn clear(&self) {}

    fn scrap(&'static self, writer: &'static Writer, release: &mut dyn FnMut(&'static Self)) {
        drop_user(writer, self.old_at.get(), release);
        if self.combiner.get() == Combiner::STRUCT.0 {
            let [n, ..] = &self.args;
            let array = arena::get(writer, &self.array);
            for old in array.iter().skip(4 * n.get() as usize) {
                drop_user(writer, old.get(), release);
            }
        }
        arena::release_words(writer, &self.array);
        arena::release_text(writer, &self.name);
    }

    fn handles(&self) -> Option<&W32> {
        Some(&self.handles)
    }

    fn held(&self) -> bool {
        self.users.get() != 0
    }
}

/// Drops the hold on the type at this offset by a record made from it. Runs under the table's lock.
fn drop_user(writer: &'static Writer, at: u64, release: &mut dyn FnMut(&'static Datatype)) {
    let Some(old) = writer.at_offset::<Datatype>(at) else { return };
    old.users.set(old.users.get().saturating_sub(1));
    if old.users.get() == 0 && old.head.life.get() == Life::FREED.0 {
        release(old);
    }
}

/// Returns the size in bytes of a datatype that has a record; the library is queried only once.
#[inline(always)]
pub fn size_of<A: Abi>(datatype: A::Handle) -> Option<u64> {
    let record = tables::datatype::<A>(datatype)?;
    let size = record.size.get();
    if size == SIZE_UNKNOWN { ask_size::<A>(datatype, record) } else { Some(size) }
}

/// Returns the size in bytes of a datatype that is built in or has a record.
pub fn known_size<A: Abi>(datatype: A::Handle) -> Option<u64> {
    let raw = datatype.raw();
    let built_in = built_in::size::<A>(raw, || ask::size::<A>(datatype).unwrap_or(0));
    built_in.map_or_else(|| size_of::<A>(datatype), |size| Some(size).filter(|size| *size != 0))
}

/// Returns an identifier of a datatype for a record that may outlive it. Zero for one that is known to be
/// built in: its handle never means anything else.
#[inline(always)]
pub fn uid<A: Abi>(datatype: u64) -> u64 {
    if built_in::is_built_in::<A>(datatype) {
        return 0;
    }
    DATATYPES.find(datatype).map_or(0, |record| record.head.uid.get())
}

#[cold]
fn ask_size<A: Abi>(datatype: A::Handle, record: &Datatype) -> Option<u64> {
    let size = ask::size::<A>(datatype)?;
    record.size.set(size);
    Some(size)
}

/// Initializes the fields common to all new datatypes.
#[inline(always)]
fn fill(record: &Datatype, combiner: Combiner, args: [u64; 4]) {
    record.combiner.set(combiner.0);
    record.users.set(0);
    record.old.set(0);
    record.old_at.set(0);
    for (to, from) in record.args.iter().zip(args) {
        to.set(from);
    }
    record.array.offset.set(0);
    record.array.len.set(0);
    record.size.set(SIZE_UNKNOWN);
    record.lb.set(BOUND_UNKNOWN);
    record.extent.set(0);
    record.name.offset.set(0);
    record.name.len.set(0);
    record.handles.set(1);
    record.attributes.set(0);
    for word in &record.mixture {
        word.set(0);
    }
    record.elements.set(0);
    record.true_extent.set(0);
    record.signature.set(0);
}

/// Stores the single old type of a new datatype. Runs under the table's lock.
#[inline(always)]
fn made_from(writer: &'static Writer, record: &Datatype, handle: u64, old: Option<&'static Datatype>) {
    record.old.set(handle);
    if let Some(old) = old {
        record.head.parent.set(old.head.uid.get());
        record.old_at.set(writer.offset_of(old));
        old.users.set(old.users.get() + 1);
    }
}

/// Enters a predefined datatype, with its `size` if known.
pub fn predefined(writer: &'static Writer, raw: u64, name: &str, size: Option<u64>) {
    if DATATYPES.find(raw).is_some() {
        return;
    }
    let record = DATATYPES.insert(writer, raw, Site::NONE, |record| {
        fill(record, Combiner::NAMED, [0; 4]);
        record.head.flags.set(Flag::PREDEFINED.0 | Flag::COMMITTED.0);
        record.size.set(size.unwrap_or(SIZE_UNKNOWN));
        arena::put_text(writer, &record.name, name.as_bytes());
        signature::sign_predefined(record, name);
    });
    if let Some(record) = record {
        facts::created(SectionKind::DATATYPES, &record.head);
    }
}

fn bounds<A: Abi>(record: &Datatype, handle: A::Handle) {
    let (mut lb, mut extent) = (0, 0);
    if ask::type_extent::<A>(handle, &mut lb, &mut extent) == Some(A::SUCCESS) {
        record.extent.set(extent as u64);
        record.lb.set(lb as u64);
    }
}

/// `MPI_Type_commit`.
pub fn commit<A: Abi>(_: &Call<A>, result: c_int, datatype: *mut A::Handle) {
    if succeeded::<A>(result).is_none() {
        return;
    }
    let Some(raw) = output(datatype) else { return };
    let Some(record) = DATATYPES.find(raw) else { return };
    let head = &record.head;
    if head.flags.get() & Flag::COMMITTED.0 != 0 {
        return;
    }
    head.seq.write(|| {
        if record.lb.get() == BOUND_UNKNOWN {
            bounds::<A>(record, A::Handle::from_raw(raw));
        }
        head.flags.set(head.flags.get() | Flag::COMMITTED.0);
    });
    facts::committed(head);
}

/// `MPI_Type_free`.
#[inline(always)]
pub fn before_free<A: Abi>(call: &Call<A>, datatype: &mut *mut A::Handle) {
    free::before(call, &DATATYPES, output(*datatype));
    if call.stash.get() == 0 {
        // The size of a datatype without a record is cached by its handle.
        size_cache::forget();
    }
}

/// `MPI_Type_free`.
#[inline(always)]
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(
        call,
        free::gone::<A, _>(result, ObjectKind::DATATYPE, place),
        &DATATYPES,
        |writer, record| {
            attributes::drop_all(writer, &record.attributes, Site::of(call));
        },
    );
}

/// `MPI_Type_set_name`.
pub fn set_name<A: Abi>(_: &Call<A>, result: c_int, datatype: A::Handle, name: *const c_char) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::datatype::<A>(datatype) else { return };
    let name = c_string::text(name, 128);
    record.head.seq.write(|| {
        arena::release_text(writer, &record.name);
        arena::put_text(writer, &record.name, name.as_bytes());
    });
    facts::named(SectionKind::DATATYPES, &record.head);
}
