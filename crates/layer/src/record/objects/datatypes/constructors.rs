//! The functions that make datatypes. A function and its `_c` variant share a hook.
#![allow(unsafe_code)]

use super::{bounds, fill, made_from};
use crate::interpose::frame::Call;
use crate::record::counts::{Count, Counts};
use crate::record::objects::tables::{self, DATATYPES};
use crate::record::objects::{Site, arena, ask, attributes, facts, new_handle, output, succeeded};
use mpi_abi::{Abi, Handle, ObjectKind};

use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Combiner, Datatype, Flag, SIZE_UNKNOWN};
use std::ffi::c_int;

/// Returns the words of an array of the program.
fn array(counts: impl Into<Counts>, len: i64) -> impl Iterator<Item = u64> + Clone {
    let counts = counts.into();
    let len = if counts.is_null() { 0 } else { usize::try_from(len).unwrap_or(0) };
    // SAFETY: the call succeeded with this array, so it has as many elements as the program specified.
    (0..len).map(move |at| unsafe { counts.get(at) }.cast_unsigned())
}

/// Enters a datatype made from one old type.
#[inline(always)]
fn made<A: Abi>(
    call: &Call<A>,
    result: c_int,
    old: A::Handle,
    new: *const A::Handle,
    combiner: Combiner,
    args: [i64; 4],
) -> Option<&'static Datatype> {
    let writer = succeeded::<A>(result)?;
    let raw = new_handle(ObjectKind::DATATYPE, new)?;
    let record_of_old = tables::datatype::<A>(old);
    let record = DATATYPES.insert(writer, raw, Site::of(call), |record| {
        fill(record, combiner, args.map(|a| a as u64));
        made_from(writer, record, old.raw(), record_of_old);
    })?;
    facts::created(SectionKind::DATATYPES, &record.head);
    Some(record)
}

/// Enters a datatype made from one old type and an array of arguments.
fn made_with<A: Abi>(
    call: &Call<A>,
    result: c_int,
    old: A::Handle,
    new: *const A::Handle,
    combiner: Combiner,
    args: [i64; 4],
    array: impl Iterator<Item = u64> + Clone,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::DATATYPE, new) else { return };
    let record_of_old = tables::datatype::<A>(old);
    let record = DATATYPES.insert(writer, raw, Site::of(call), |record| {
        fill(record, combiner, args.map(|a| a as u64));
        made_from(writer, record, old.raw(), record_of_old);
        arena::put(writer, &record.array, array.clone().count(), array);
    });
    if let Some(record) = record {
        facts::created(SectionKind::DATATYPES, &record.head);
    }
}

/// `MPI_Type_dup`.
pub fn dup<A: Abi>(call: &Call<A>, result: c_int, old: A::Handle, new: *mut A::Handle) {
    let Some(record) = made(call, result, old, new, Combiner::DUP, [0; 4]) else { return };
    let Some(parent) = tables::datatype::<A>(old) else { return };
    record.head.seq.write(|| {
        record.head.flags.set(parent.head.flags.get() & Flag::COMMITTED.0);
        record.lb.set(parent.lb.get());
        record.extent.set(parent.extent.get());
    });
    if let (Some(writer), Some(raw)) = (succeeded::<A>(result), output(new)) {
        attributes::copied::<A>(
            writer,
            SectionKind::DATATYPES,
            (&parent.attributes, &parent.head),
            (&record.attributes, &record.head),
            raw,
            Site::of(call),
        );
    }
}

/// `MPI_Type_contiguous`.
pub fn contiguous<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    old: A::Handle,
    new: *mut A::Handle,
) {
    made(call, result, old, new, Combiner::CONTIGUOUS, [count.count(), 0, 0, 0]);
}

/// `MPI_Type_vector`.
#[inline(always)]
pub fn vector<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    length: impl Count,
    stride: impl Count,
    old: A::Handle,
    new: *mut A::Handle,
) {
    made(call, result, old, new, Combiner::VECTOR, [count.count(), length.count(), stride.count(), 0]);
}

/// `MPI_Type_create_hvector`, `MPI_Type_hvector`.
pub fn hvector<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    length: impl Count,
    stride: i64,
    old: A::Handle,
    new: *mut A::Handle,
) {
    made(call, result, old, new, Combiner::HVECTOR, [count.count(), length.count(), stride, 0]);
}

/// `MPI_Type_indexed`.
pub fn indexed<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    lengths: impl Into<Counts>,
    displacements: impl Into<Counts>,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let n = count.count();
    let words = array(lengths, n).chain(array(displacements, n));
    made_with(call, result, old, new, Combiner::INDEXED, [n, 0, 0, 0], words);
}

/// `MPI_Type_create_hindexed`, `MPI_Type_hindexed`.
pub fn hindexed<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    lengths: impl Into<Counts>,
    displacements: *const i64,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let n = count.count();
    let words = array(lengths, n).chain(array(displacements, n));
    made_with(call, result, old, new, Combiner::HINDEXED, [n, 0, 0, 0], words);
}

/// `MPI_Type_create_indexed_block`.
pub fn indexed_block<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    length: impl Count,
    displacements: impl Into<Counts>,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let args = [count.count(), length.count(), 0, 0];
    made_with(call, result, old, new, Combiner::INDEXED_BLOCK, args, array(displacements, count.count()));
}

/// `MPI_Type_create_hindexed_block`.
pub fn hindexed_block<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    length: impl Count,
    displacements: *const i64,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let args = [count.count(), length.count(), 0, 0];
    made_with(call, result, old, new, Combiner::HINDEXED_BLOCK, args, array(displacements, count.count()));
}

/// `MPI_Type_create_struct`, `MPI_Type_struct`.
pub fn structure<A: Abi>(
    call: &Call<A>,
    result: c_int,
    count: impl Count,
    lengths: impl Into<Counts>,
    displacements: *const i64,
    types: *const A::Handle,
    new: *mut A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::DATATYPE, new) else { return };
    let n = count.count();
    let len = if types.is_null() { 0 } else { usize::try_from(n).unwrap_or(0) };
    // SAFETY: the call succeeded with this array, so it has as many elements as the program specified.
    let old = (0..len).map(|i| unsafe { types.add(i).read_unaligned() });
    let record = DATATYPES.insert(writer, raw, Site::of(call), |record| {
        fill(record, Combiner::STRUCT, [n as u64, 0, 0, 0]);
        let words = arena::reserve(writer, &record.array, 5 * len);
        let column = |number: usize| words.iter().skip(number * len);
        column(0).zip(array(lengths, n)).for_each(|(to, from)| to.set(from));
        column(1).zip(array(displacements, n)).for_each(|(to, from)| to.set(from));
        for (((old, handle), uid), at) in old.zip(column(2)).zip(column(3)).zip(column(4)) {
            handle.set(old.raw());
            let found = tables::datatype::<A>(old);
            uid.set(found.map_or(0, |f| f.head.uid.get()));
            at.set(found.map_or(0, |f| writer.offset_of(f)));
            if let Some(found) = found {
                found.users.set(found.users.get() + 1);
            }
        }
        bounds::<A>(record, A::Handle::from_raw(raw));
    });
    if let Some(record) = record {
        facts::created(SectionKind::DATATYPES, &record.head);
    }
}

/// `MPI_Type_create_subarray`.
pub fn subarray<A: Abi>(
    call: &Call<A>,
    result: c_int,
    ndims: c_int,
    (sizes, subsizes, starts): (impl Into<Counts>, impl Into<Counts>, impl Into<Counts>),
    order: c_int,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let n = i64::from(ndims);
    let words = array(sizes, n).chain(array(subsizes, n)).chain(array(starts, n));
    made_with(call, result, old, new, Combiner::SUBARRAY, [n, i64::from(order), 0, 0], words);
}

/// `MPI_Type_create_darray`.
pub fn darray<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (size, rank, ndims): (c_int, c_int, c_int),
    (sizes, distributions, arguments, grid): (impl Into<Counts>, *const c_int, *const c_int, *const c_int),
    order: c_int,
    old: A::Handle,
    new: *mut A::Handle,
) {
    let n = i64::from(ndims);
    let words =
        array(sizes, n).chain(array(distributions, n)).chain(array(arguments, n)).chain(array(grid, n));
    let args = [n, i64::from(order), i64::from(size), i64::from(rank)];
    made_with(call, result, old, new, Combiner::DARRAY, args, words);
}

/// `MPI_Type_create_resized`.
pub fn resized<A: Abi>(
    call: &Call<A>,
    result: c_int,
    old: A::Handle,
    lb: i64,
    extent: i64,
    new: *mut A::Handle,
) {
    made(call, result, old, new, Combiner::RESIZED, [lb, extent, 0, 0]);
}

/// Enters a predefined datatype without a name: the same arguments return the same handle, which is never
/// freed.
fn unnamed<A: Abi>(call: &Call<A>, result: c_int, new: *const A::Handle, combiner: Combiner, args: [u64; 4]) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::DATATYPE, new) else { return };
    if DATATYPES.find(raw).is_some() || crate::record::objects::is_null_datatype(raw) {
        return;
    }
    let record = DATATYPES.insert(writer, raw, Site::of(call), |record| {
        fill(record, combiner, args);
        record.head.flags.set(Flag::PREDEFINED.0 | Flag::COMMITTED.0);
        // The size cannot be derived from another datatype.
        record.size.set(ask::size::<A>(A::Handle::from_raw(raw)).unwrap_or(SIZE_UNKNOWN));
        bounds::<A>(record, A::Handle::from_raw(raw));
    });
    if let Some(record) = record {
        facts::created(SectionKind::DATATYPES, &record.head);
    }
}

fn int(value: c_int) -> u64 {
    i64::from(value) as u64
}

/// `MPI_Type_create_f90_real`.
pub fn f90_real<A: Abi>(call: &Call<A>, result: c_int, p: c_int, r: c_int, new: *mut A::Handle) {
    unnamed(call, result, new, Combiner::F90_REAL, [int(p), int(r), 0, 0]);
}

/// `MPI_Type_create_f90_complex`.
pub fn f90_complex<A: Abi>(call: &Call<A>, result: c_int, p: c_int, r: c_int, new: *mut A::Handle) {
    unnamed(call, result, new, Combiner::F90_COMPLEX, [int(p), int(r), 0, 0]);
}

/// `MPI_Type_create_f90_integer`.
pub fn f90_integer<A: Abi>(call: &Call<A>, result: c_int, r: c_int, new: *mut A::Handle) {
    unnamed(call, result, new, Combiner::F90_INTEGER, [int(r), 0, 0, 0]);
}

/// `MPI_Type_get_value_index`.
pub fn value_index<A: Abi>(
    call: &Call<A>,
    result: c_int,
    value: A::Handle,
    index: A::Handle,
    pair: *mut A::Handle,
) {
    unnamed(call, result, pair, Combiner::VALUE_INDEX, [value.raw(), index.raw(), 0, 0]);
}
