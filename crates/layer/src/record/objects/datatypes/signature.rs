//! The type signature of a datatype, computed when a call first needs it.
//!
//! A type made from one old type repeats its elements, whatever the layout; the constructor's arguments or
//! the sizes say how often. Only a structure lists its types.

use super::{Datatype, size_of};
use crate::base::settings;
use crate::record::objects::tables::DATATYPES;
use crate::record::objects::{arena, ask};
use mpi_abi::{Abi, Element, Handle, PREDEFINED};
use mpiscope_image::layout::Recording;
use mpiscope_image::objects::Combiner;
use mpiscope_image::signature::Signature;
use mpiscope_image::{W64, Writer};

/// Maximum nesting depth of types that is followed.
const DEEPEST: u32 = 64;

/// Returns the record of a datatype, with its signature computed; `None` if there is no record.
#[inline(always)]
pub fn signed<A: Abi>(raw: u64) -> Option<&'static Datatype> {
    let record = DATATYPES.find(raw)?;
    if record.signature.get() == 0 {
        sign::<A>(record, DEEPEST);
    }
    Some(record)
}

/// Whether elements of a type, one after the other, have no gaps and contain no byte twice. Its signature must be known.
#[inline(always)]
pub fn is_gapless(record: &Datatype) -> bool {
    record.is_one_element() || is_array(record)
}

/// Whether a type consists of adjacent elements of a predefined one. (Elements of types with irregular displacements can
/// overlap and have gaps.)
#[inline(never)]
fn is_array(record: &Datatype) -> bool {
    const REGULAR: [Combiner; 4] = [Combiner::DUP, Combiner::CONTIGUOUS, Combiner::VECTOR, Combiner::HVECTOR];
    let size = record.size.get();
    let is_dense = size != 0 && record.lb.get() == 0 && record.extent.get() == size;
    if !REGULAR.contains(&Combiner(record.combiner.get())) || !is_dense || record.true_extent.get() != size {
        return false;
    }
    let old = crate::record::objects::recorder().and_then(|writer| writer.at_offset(record.old_at.get()));
    old.is_some_and(Datatype::is_one_element)
}

#[cold]
fn sign<A: Abi>(record: &Datatype, depth: u32) -> Option<Signature> {
    // Users of the signature need the size as well.
    let _ = size::<A>(record);
    if settings::records(Recording::CONTENTS) {
        true_extent::<A>(record);
    }
    let found = compute::<A>(record, depth);
    store(record, found);
    found
}

fn store(record: &Datatype, found: Option<Signature>) {
    if let Some(found) = found {
        record.elements.set(found.elements());
        for (to, from) in record.mixture.iter().zip(found.mixture().stored()) {
            to.set(from);
        }
    }
    record.signature.set(found.map_or(Signature::ANY, Signature::stored));
}

fn known<A: Abi>(record: &Datatype, depth: u32) -> Option<Signature> {
    match record.signature.get() {
        0 => sign::<A>(record, depth.checked_sub(1)?),
        _ => record.signature(),
    }
}

fn compute<A: Abi>(record: &Datatype, depth: u32) -> Option<Signature> {
    let writer = crate::record::objects::recorder()?;
    match Combiner(record.combiner.get()) {
        // A predefined type that was not signed is not in the table of names.
        Combiner::UNKNOWN | Combiner::NAMED | Combiner::VALUE_INDEX => None,
        Combiner::F90_REAL => one(record, b'f'),
        Combiner::F90_COMPLEX => one(record, b'c'),
        Combiner::F90_INTEGER => one(record, b'i'),
        Combiner::STRUCT => structure::<A>(writer, record, depth),
        _ => repeated::<A>(writer, record, depth),
    }
}

fn one(record: &Datatype, class: u8) -> Option<Signature> {
    let bytes = u8::try_from(record.size.get()).ok()?;
    Some(Signature::one(Element::new(class, bytes)))
}

fn repeated<A: Abi>(writer: &'static Writer, record: &Datatype, depth: u32) -> Option<Signature> {
    let old = writer.at_offset::<Datatype>(record.old_at.get())?;
    let count = count(writer, record);
    let of_old = known::<A>(old, depth)?;
    if let Some(count) = count {
        return of_old.repeated(count);
    }
    let (size, each) = (size::<A>(record)?, size::<A>(old)?);
    size.checked_div(each).map_or(Some(Signature::EMPTY), |count| of_old.repeated(count))
}

/// Returns how many elements of its old type a type has, if its constructor determines it.
fn count(writer: &'static Writer, record: &Datatype) -> Option<u64> {
    let [first, second, ..] = &record.args;
    let (first, second) = (first.get(), second.get());
    let listed = || {
        let array = arena::get(writer, &record.array);
        array.iter().map(W64::get)
    };
    let n = usize::try_from(first).ok()?;
    match Combiner(record.combiner.get()) {
        Combiner::DUP | Combiner::RESIZED => Some(1),
        Combiner::CONTIGUOUS => Some(first),
        Combiner::VECTOR | Combiner::HVECTOR | Combiner::INDEXED_BLOCK | Combiner::HINDEXED_BLOCK => {
            first.checked_mul(second)
        }
        Combiner::INDEXED | Combiner::HINDEXED if listed().len() == n.checked_mul(2)? => {
            listed().take(n).try_fold(0, u64::checked_add)
        }
        Combiner::SUBARRAY if listed().len() == n.checked_mul(3)? => {
            listed().skip(n).take(n).try_fold(1, u64::checked_mul)
        }
        _ => None,
    }
}

/// Returns the size; the library is queried only if the handle still means this type.
fn size<A: Abi>(record: &Datatype) -> Option<u64> {
    let size = record.size.get();
    if size != mpiscope_image::objects::SIZE_UNKNOWN {
        return Some(size);
    }
    size_of::<A>(handle::<A>(record)?)
}

/// The handle, if it still means this type.
fn handle<A: Abi>(record: &Datatype) -> Option<A::Handle> {
    let raw = record.head.handle.get();
    let same = DATATYPES.find(raw).is_some_and(|found| std::ptr::eq(found, record));
    same.then(|| A::Handle::from_raw(raw))
}

/// Queries the true extent of a type that is not predefined.
fn true_extent<A: Abi>(record: &Datatype) {
    let made = Combiner(record.combiner.get()) != Combiner::NAMED;
    let Some(handle) = handle::<A>(record).filter(|_| made) else { return };
    let (mut lower, mut extent) = (0, 0);
    if ask::type_true_extent::<A>(handle, &mut lower, &mut extent) == Some(A::SUCCESS) {
        record.true_extent.set(u64::try_from(extent).unwrap_or(0));
    }
}

fn structure<A: Abi>(writer: &'static Writer, record: &Datatype, depth: u32) -> Option<Signature> {
    let [n, ..] = &record.args;
    let n = usize::try_from(n.get()).ok()?;
    let array = arena::get(writer, &record.array);
    if array.len() != n.checked_mul(5)? {
        return None;
    }
    let (lengths, offsets) = (array.iter(), array.iter().skip(4 * n));
    lengths.zip(offsets).take(n).try_fold(Signature::EMPTY, |all, (length, offset)| {
        if length.get() == 0 {
            return Some(all);
        }
        let old = writer.at_offset::<Datatype>(offset.get())?;
        all.then(known::<A>(old, depth)?.repeated(length.get())?)
    })
}

/// Signs a predefined datatype by its name. The record has the library's size, if known; if it differs from
/// the table's, the elements are unknown.
pub fn sign_predefined(record: &Datatype, name: &str) {
    let predefined = PREDEFINED.iter().find(|known| known.name == name);
    let elements = predefined.map_or(&[][..], |known| known.elements);
    if record.size.get() == 0 {
        // A marker of a bound.
        return store(record, Some(Signature::EMPTY));
    }
    let known = predefined.filter(|known| !elements.is_empty() && known.size == Some(record.size.get()));
    let found = known.and_then(|_| {
        elements.iter().try_fold(Signature::EMPTY, |all, element| all.then(Signature::one(*element)))
    });
    store(record, found);
}
