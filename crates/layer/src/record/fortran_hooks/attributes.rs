//! Keys and attributes that are made by Fortran bindings.
//!
//! | binding | keys | attributes |
//! | --- | --- | --- |
//! | Open MPI | `ompi_attr_create_keyval_fint`, `…_aint` | `ompi_attr_set_fint`, `…_aint` |
//! | MPICH and its family | through C | `MPII_Comm_set_attr`, `MPII_Type_set_attr`, `MPII_Win_set_attr` |
//!
//! `fint` takes an `INTEGER` as extra state or value (functions of MPI 1), `aint` an address-sized integer.
//! All bindings delete through the C functions.

use super::{Behind, by_fortran, site};
use crate::interpose::arch::export_marked;
use crate::interpose::resolver;
use crate::record::objects::attributes::{given, keyval_made};
use mpi_abi::{AbiKind, FunctionId, f};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::AttributeForm;
use std::ffi::{c_int, c_void};

/// Returns the kind of object that Open MPI's number for a key's class stands for.
fn kind(of: c_int) -> Option<SectionKind> {
    match of {
        1 => Some(SectionKind::COMMS),
        2 => Some(SectionKind::DATATYPES),
        3 => Some(SectionKind::WINDOWS),
        _ => None,
    }
}

fn creator(kind: SectionKind) -> FunctionId {
    match kind {
        SectionKind::DATATYPES => f::MPI_Type_create_keyval,
        SectionKind::WINDOWS => f::MPI_Win_create_keyval,
        _ => f::MPI_Comm_create_keyval,
    }
}

fn setter(kind: SectionKind) -> FunctionId {
    match kind {
        SectionKind::DATATYPES => f::MPI_Type_set_attr,
        SectionKind::WINDOWS => f::MPI_Win_set_attr,
        _ => f::MPI_Comm_set_attr,
    }
}

/// The hooks, which differ in the integer type: `INTEGER` or address-sized.
macro_rules! open_mpi {
    ($($create:ident $create_symbol:ident $create_name:literal $set:ident $set_symbol:ident $set_name:literal $int:ty, $form:ident;)*) => {$(
        export_marked!($create_symbol, $create);
        export_marked!($set_symbol, $set);

        unsafe extern "C" fn $create(
            of: c_int,
            copy: *const c_void,
            delete: *const c_void,
            key: *mut c_int,
            extra: $int,
            flags: c_int,
            bindings: *mut c_void,
        ) -> c_int {
            static BEHIND: Behind = Behind::new($create_name);
            type Create = unsafe extern "C" fn(
                c_int, *const c_void, *const c_void, *mut c_int, $int, c_int, *mut c_void,
            ) -> c_int;
            let made = kind(of).and_then(|kind| Some((kind, site(creator(kind))?, by_fortran())));
            // SAFETY: the C type of the function: a union of pointers is passed like a pointer.
            let Some(real) = (unsafe { BEHIND.get::<Create>() }) else { return -1 };
            // SAFETY: the binding's arguments.
            let result = unsafe { real(of, copy, delete, key, extra, flags, bindings) };
            // SAFETY: the call succeeded, so the binding passed a place for the key; null is checked.
            if let (0, Some((kind, site, fortran)), Some(key)) = (result, made, unsafe { key.as_ref() }) {
                let numbers = [copy.addr() as u64, delete.addr() as u64, i64::from(extra).cast_unsigned()];
                keyval_made(kind, *key, numbers, fortran, site);
            }
            result
        }

        unsafe extern "C" fn $set(
            of: c_int,
            object: *mut c_void,
            hash: *mut c_void,
            key: c_int,
            value: $int,
            predefined: bool,
        ) -> c_int {
            static BEHIND: Behind = Behind::new($set_name);
            type Set = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void, c_int, $int, bool) -> c_int;
            let set = kind(of).and_then(|kind| Some((kind, site(setter(kind))?)));
            // SAFETY: the C type of the function.
            let Some(real) = (unsafe { BEHIND.get::<Set>() }) else { return -1 };
            // SAFETY: the binding's arguments.
            let result = unsafe { real(of, object, hash, key, value, predefined) };
            if let (0, Some((kind, site))) = (result, set) {
                let value = (key, i64::from(value).cast_unsigned(), AttributeForm::$form);
                given(kind, object.addr() as u64, value, site);
            }
            result
        }
    )*};
}

open_mpi! {
    create_fint ompi_attr_create_keyval_fint c"ompi_attr_create_keyval_fint"
        set_fint ompi_attr_set_fint c"ompi_attr_set_fint" c_int, INTEGER;
    create_aint ompi_attr_create_keyval_aint c"ompi_attr_create_keyval_aint"
        set_aint ompi_attr_set_aint c"ompi_attr_set_aint" i64, ADDRESS_INTEGER;
}

/// Returns the library's C handle for the number that its functions use internally, which is a handle of
/// MPICH's own ABI.
fn handle(from_number: &Behind, number: c_int) -> u64 {
    if resolver::abi() != Some(AbiKind::STANDARD) {
        return u64::from(number.cast_unsigned());
    }
    // SAFETY: the C type of `MPI_Comm_fromint` and its like, in an ABI whose handles are pointers.
    let convert = unsafe { from_number.get::<unsafe extern "C" fn(c_int) -> u64>() };
    // SAFETY: valid for any number.
    convert.map_or(0, |convert| unsafe { convert(number) })
}

/// Returns the form for MPICH's number for how an attribute was set.
fn of_mpich(form: c_int) -> AttributeForm {
    match form {
        1 => AttributeForm::ADDRESS_INTEGER,
        3 => AttributeForm::INTEGER,
        _ => AttributeForm::POINTER,
    }
}

macro_rules! mpich {
    ($($set:ident $symbol:ident $name:literal $kind:ident $from_number:literal;)*) => {$(
        export_marked!($symbol, $set);

        unsafe extern "C" fn $set(object: usize, key: c_int, value: *mut c_void, form: c_int) -> c_int {
            static BEHIND: Behind = Behind::new($name);
            static FROM_NUMBER: Behind = Behind::new($from_number);
            type Set = unsafe extern "C" fn(usize, c_int, *mut c_void, c_int) -> c_int;
            let site = site(setter(SectionKind::$kind));
            // SAFETY: the C type of the function; a handle of 32 bits is the lower half of its register.
            let Some(real) = (unsafe { BEHIND.get::<Set>() }) else { return -1 };
            // SAFETY: the binding's arguments.
            let result = unsafe { real(object, key, value, form) };
            if let (0, Some(site)) = (result, site) {
                let object = handle(&FROM_NUMBER, object as c_int);
                given(SectionKind::$kind, object, (key, value.addr() as u64, of_mpich(form)), site);
            }
            result
        }
    )*};
}

mpich! {
    comm_set MPII_Comm_set_attr c"MPII_Comm_set_attr" COMMS c"PMPI_Comm_fromint";
    type_set MPII_Type_set_attr c"MPII_Type_set_attr" DATATYPES c"PMPI_Type_fromint";
    win_set MPII_Win_set_attr c"MPII_Win_set_attr" WINDOWS c"PMPI_Win_fromint";
}
