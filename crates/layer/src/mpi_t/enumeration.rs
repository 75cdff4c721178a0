//! Entry points: enumerations (MPI 5.0, section "Datatype System").
#![allow(unsafe_code)]

use super::{REGISTRY, c};
use mpit::Error;
use std::ffi::{c_char, c_int};

c::entry_points! {
    /// Number of items and name of an enumeration.
    MPI_T_enum_get_info PMPI_T_enum_get_info(
        enumtype: u64,
        num: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) {
        let enumeration = REGISTRY.enumeration(c::enumeration(enumtype)?)?;
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put(num, c::int(enumeration.len()));
            c::put_string(enumeration.name(), name, name_len);
        }
        Ok(())
    }

    /// Value and name of an item.
    MPI_T_enum_get_item PMPI_T_enum_get_item(
        enumtype: u64,
        index: c_int,
        value: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) {
        let enumeration = REGISTRY.enumeration(c::enumeration(enumtype)?)?;
        let at = usize::try_from(index).map_err(|_| Error::INVALID_INDEX)?;
        let (item, text) = enumeration.get(at).ok_or(Error::INVALID_INDEX)?;
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put(value, item);
            c::put_string(text, name, name_len);
        }
        Ok(())
    }
}
