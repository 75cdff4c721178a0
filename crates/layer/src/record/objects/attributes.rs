//! Keyvals and attributes.
//!
//! The attributes of an object form a chain that starts in its record. When an object is duplicated the layer
//! asks the library which of the parent's attributes the copy has. Fortran bindings that bypass the C
//! functions have [hooks of their own](crate::record::fortran_hooks::attributes).
//!
//! Memory: for each keyval and each attribute a record and an index entry.
#![allow(unsafe_code)]

use super::table::Object;
use super::{Site, ask, facts, free, hash, language, recorder, succeeded};
use crate::base::own_memory;
use crate::interpose::callbacks::target;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, ATTRIBUTES, KEYVALS};
use mpi_abi::{Abi, Handle};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Attribute, AttributeForm, Flag, Head, Keyval, keyval_handle};
use mpiscope_image::{W64, Writer};
use std::ffi::{c_int, c_void};

impl Object for Keyval {
    fn head(&self) -> &Head {
        &self.head
    }
}

impl Object for Attribute {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Owner of an attribute: the start of its attribute chain, and its record's head.
type Owner = (&'static W64, &'static Head);

/// Returns the key that replaces a handle of an attribute in the table.
fn key(owner: &Head, keyval: c_int) -> u64 {
    hash::mix(owner.uid.get(), i64::from(keyval) as u64) >> 1
}

fn insert(
    writer: &'static Writer,
    kind: SectionKind,
    (first, owner): Owner,
    (keyval, value, form): (c_int, u64, AttributeForm),
    copied: bool,
    site: Site,
) {
    let of_keyval = KEYVALS.find(keyval_handle(kind, keyval));
    let record = ATTRIBUTES.insert(writer, key(owner, keyval), site, |record| {
        record.head.parent.set(owner.uid.get());
        record.keyval.set(i64::from(keyval) as u64);
        record.keyval_uid.set(of_keyval.map_or(0, |k| k.head.uid.get()));
        record.value.set(value);
        record.copied.set(u32::from(copied));
        record.form.set(form.0);
        record.next.set(first.get());
        first.set(writer.offset_of(record));
    });
    if let Some(record) = record {
        facts::created(SectionKind::ATTRIBUTES, &record.head);
        facts::attached(kind, owner);
    }
}

fn set(
    writer: &'static Writer,
    kind: SectionKind,
    owner: Owner,
    (keyval, value, form): (c_int, u64, AttributeForm),
    site: Site,
) {
    match ATTRIBUTES.find(key(owner.1, keyval)) {
        Some(attribute) => {
            attribute.head.seq.write(|| {
                attribute.value.set(value);
                attribute.form.set(form.0);
            });
            facts::attached(kind, owner.1);
        }
        None => insert(writer, kind, owner, (keyval, value, form), false, site),
    }
}

fn delete(writer: &'static Writer, (first, owner): Owner, keyval: c_int, site: Site) {
    let Some(gone) = ATTRIBUTES.find(key(owner, keyval)) else { return };
    let offset = writer.offset_of(gone);
    ATTRIBUTES.locked(|| {
        let mut link = first;
        for _ in 0..MOST {
            let Some(attribute) = writer.at_offset::<Attribute>(link.get()) else { return };
            if link.get() == offset {
                link.set(gone.next.get());
                return;
            }
            link = &attribute.next;
        }
    });
    facts::freed(SectionKind::ATTRIBUTES, &gone.head);
    ATTRIBUTES.retire(writer, gone, site);
}

/// Maximum number of attributes of an object that are visited.
const MOST: usize = 1 << 16;

/// Iterates over the attributes of an object. The link is read before an attribute is returned, so it may be
/// retired.
fn chain(writer: &'static Writer, first: &W64) -> impl Iterator<Item = &'static Attribute> + use<> {
    let mut next = first.get();
    std::iter::from_fn(move || {
        let attribute = writer.at_offset::<Attribute>(next)?;
        next = attribute.next.get();
        Some(attribute)
    })
    .take(MOST)
}

/// The object is freed, and its attributes with it.
pub fn drop_all(writer: &'static Writer, first: &W64, site: Site) {
    for attribute in chain(writer, first) {
        first.set(attribute.next.get());
        facts::freed(SectionKind::ATTRIBUTES, &attribute.head);
        ATTRIBUTES.retire(writer, attribute, site);
    }
}

/// A duplicate was made: asks the library which attributes it has.
pub fn copied<A: Abi>(
    writer: &'static Writer,
    kind: SectionKind,
    (first, source): Owner,
    to: Owner,
    new: u64,
    site: Site,
) {
    for attribute in chain(writer, first) {
        let keyval = attribute.keyval.get() as c_int;
        // The library is not asked about a keyval that is known only from the image.
        if !ATTRIBUTES.find(key(source, keyval)).is_some_and(|known| std::ptr::eq(known, attribute)) {
            continue;
        }
        let (mut value, mut flag) = (0, 0);
        let handle = A::Handle::from_raw(new);
        let result = match kind {
            SectionKind::COMMS => ask::comm_get_attr::<A>(handle, keyval, &mut value, &mut flag),
            SectionKind::DATATYPES => ask::type_get_attr::<A>(handle, keyval, &mut value, &mut flag),
            _ => None,
        };
        if result == Some(A::SUCCESS) && flag != 0 {
            let form = AttributeForm(attribute.form.get());
            insert(writer, kind, to, (keyval, as_set(value, form), form), true, site);
        }
    }
}

/// Returns the value that was set, given the `word` that C reads: for a value set from Fortran C reads its
/// address.
fn as_set(word: u64, form: AttributeForm) -> u64 {
    let place = word as usize;
    match form {
        // The value is in the library's own memory, as the standard requires for attributes read from another
        // language; but the form comes from the image, which may have been overwritten.
        AttributeForm::ADDRESS_INTEGER => own_memory::word(place).unwrap_or(0),
        AttributeForm::INTEGER => own_memory::int(place).map_or(0, |value| i64::from(value).cast_unsigned()),
        _ => word,
    }
}

/// The hooks of each kind of object with attributes.
macro_rules! kinds {
    ($($set:ident $delete:ident $create:ident $before_free:ident $after_free:ident $kind:ident $find:expr;)*) => {$(
        /// `MPI_…_set_attr`.
        pub fn $set<A: Abi>(
            call: &Call<A>,
            result: c_int,
            object: A::Handle,
            keyval: c_int,
            value: *const c_void,
        ) {
            let Some(writer) = succeeded::<A>(result) else { return };
            if let Some(record) = $find(object) {
                let owner = (&record.attributes, &record.head);
                set(writer, SectionKind::$kind, owner, (keyval, value.addr() as u64, AttributeForm::POINTER), Site::of(call));
            }
        }

        /// `MPI_…_delete_attr`.
        pub fn $delete<A: Abi>(call: &Call<A>, result: c_int, object: A::Handle, keyval: c_int) {
            let Some(writer) = succeeded::<A>(result) else { return };
            if let Some(record) = $find(object) {
                delete(writer, (&record.attributes, &record.head), keyval, Site::of(call));
            }
        }

        /// `MPI_…_create_keyval`.
        pub fn $create<A: Abi>(
            call: &Call<A>,
            result: c_int,
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut c_int,
            extra: *const c_void,
        ) {
            create_keyval(call, result, SectionKind::$kind, [copy, delete, extra], keyval);
        }

        /// `MPI_…_free_keyval`.
        pub fn $before_free<A: Abi>(call: &Call<A>, keyval: &mut *mut c_int) {
            // SAFETY: null, or the program's keyval.
            let number = unsafe { keyval.as_ref() };
            free::before(call, &KEYVALS, number.map(|n| keyval_handle(SectionKind::$kind, *n)));
        }

        /// `MPI_…_free_keyval`.
        pub fn $after_free<A: Abi>(call: &Call<A>, result: c_int, keyval: *mut c_int) {
            // SAFETY: null, or the program's keyval.
            let invalid = unsafe { keyval.as_ref() }.is_none_or(|keyval| *keyval == A::KEYVAL_INVALID);
            free::after(call, invalid && result == A::SUCCESS, &KEYVALS, |_, _| {});
        }
    )*};
}

kinds! {
    comm_set comm_delete comm_keyval comm_before_free comm_after_free COMMS tables::comm::<A>;
    type_set type_delete type_keyval type_before_free type_after_free DATATYPES tables::datatype::<A>;
    win_set win_delete win_keyval win_before_free win_after_free WINDOWS tables::window::<A>;
}

fn create_keyval<A: Abi>(
    call: &Call<A>,
    result: c_int,
    kind: SectionKind,
    [copy, delete, extra]: [*const c_void; 3],
    keyval: *const c_int,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    // SAFETY: the call succeeded, so the program passed a place for the keyval; null is checked.
    let Some(number) = (unsafe { keyval.as_ref() }) else { return };
    let fortran = language::is_fortran(call.return_address());
    let functions = [copy, delete].map(|function| target(function.addr()) as u64);
    let [copy, delete] = functions;
    enter(writer, kind, *number, [copy, delete, extra.addr() as u64], fortran, Site::of(call));
}

/// A keyval was made without a traced call: see
/// [`fortran_hooks::attributes`](crate::record::fortran_hooks::attributes).
pub fn keyval_made(kind: SectionKind, keyval: c_int, words: [u64; 3], fortran: bool, site: Site) {
    if let Some(writer) = recorder() {
        enter(writer, kind, keyval, words, fortran, site);
    }
}

/// Enters a keyval with its copy function, delete function and extra state.
fn enter(
    writer: &'static Writer,
    kind: SectionKind,
    keyval: c_int,
    [copy, delete, extra]: [u64; 3],
    fortran: bool,
    site: Site,
) {
    let record = KEYVALS.insert(writer, keyval_handle(kind, keyval), site, |record| {
        record.head.flags.set(if fortran { Flag::FORTRAN.0 } else { 0 });
        record.copy.set(copy);
        record.delete.set(delete);
        record.extra.set(extra);
    });
    if let Some(record) = record {
        facts::created(SectionKind::KEYVALS, &record.head);
    }
}

/// An attribute was set without a traced call.
pub fn given(kind: SectionKind, object: u64, value: (c_int, u64, AttributeForm), site: Site) {
    let Some(writer) = recorder() else { return };
    let owner: Option<Owner> = match kind {
        SectionKind::COMMS => tables::COMMS.find(object).map(|r| (&r.attributes, &r.head)),
        SectionKind::DATATYPES => tables::DATATYPES.find(object).map(|r| (&r.attributes, &r.head)),
        SectionKind::WINDOWS => tables::WINDOWS.find(object).map(|r| (&r.attributes, &r.head)),
        _ => None,
    };
    if let Some(owner) = owner {
        set(writer, kind, owner, value, site);
    }
}
