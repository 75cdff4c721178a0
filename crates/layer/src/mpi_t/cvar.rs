//! Entry points: control variables (MPI 5.0, section "Control Variables").
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, c, handles, library};
use crate::events;
use crate::events::types::CvarWritten;
use crate::interpose::tls::Tls;
use mpit::{CvarWord, Error};
use std::ffi::{c_char, c_int, c_void};

c::entry_points! {
    /// Number of control variables.
    MPI_T_cvar_get_num PMPI_T_cvar_get_num(num_cvar: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_cvar, c::int(REGISTRY.cvar_count())) };
        Ok(())
    }

    /// Describes a control variable.
    MPI_T_cvar_get_info PMPI_T_cvar_get_info(
        cvar_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        datatype: *mut c_void,
        enumtype: *mut u64,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
        scope: *mut c_int,
    ) {
        let info = REGISTRY.cvar(cvar_index)?.info();
        let codes = codes();
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put_string(&info.name, name, name_len);
            c::put(verbosity, codes.verbosity(info.verbosity));
            c::put_datatype(datatype, info.datatype);
            c::put_enumeration(enumtype, info.enumeration);
            c::put_string(&info.desc, desc, desc_len);
            c::put(bind, codes.bind(info.bind));
            c::put(scope, codes.scope(info.scope));
        }
        Ok(())
    }

    /// Index of the control variable with this name.
    MPI_T_cvar_get_index PMPI_T_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) {
        if cvar_index.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let name = c::name(name)?;
            c::put(cvar_index, c::int(library::find(|| REGISTRY.cvar_index(&name))?));
        }
        Ok(())
    }

    /// Allocates a handle.
    MPI_T_cvar_handle_alloc PMPI_T_cvar_handle_alloc(
        cvar_index: c_int,
        obj_handle: *const c_void,
        handle: *mut CvarWordC,
        count: *mut c_int,
    ) {
        let bind = REGISTRY.cvar(cvar_index)?.info().bind;
        if handle.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let (word, elements) = REGISTRY.cvar_handle_alloc(cvar_index, handles::object(obj_handle, bind))?;
            c::put(handle, word.0);
            c::put(count, c::int(elements));
        }
        Ok(())
    }

    /// Frees a handle.
    MPI_T_cvar_handle_free PMPI_T_cvar_handle_free(handle: *mut CvarWordC) {
        if handle.is_null() {
            return Err(Error::INVALID_HANDLE);
        }
        // SAFETY: the caller's INOUT argument.
        unsafe {
            REGISTRY.cvar_handle_free(CvarWord(handle.read_unaligned()))?;
            c::put(handle, CvarWord::NULL.0);
        }
        Ok(())
    }

    /// Reads the value.
    MPI_T_cvar_read PMPI_T_cvar_read(handle: CvarWordC, buf: *mut c_void) {
        if buf.is_null() {
            return REGISTRY.cvar_size(CvarWord(handle)).and(Err(Error::INVALID));
        }
        // SAFETY: the caller's buffer holds the whole value.
        unsafe { REGISTRY.cvar_read_raw(CvarWord(handle), buf.cast()) }
    }

    /// Writes the value.
    MPI_T_cvar_write PMPI_T_cvar_write(handle: CvarWordC, buf: *const c_void) {
        if buf.is_null() {
            return REGISTRY.cvar_size(CvarWord(handle)).and(Err(Error::INVALID));
        }
        // SAFETY: the caller's buffer holds the whole value.
        unsafe { REGISTRY.cvar_write_raw(CvarWord(handle), buf.cast())? };
        if events::anybody() {
            written(REGISTRY.cvar_of(CvarWord(handle))?);
        }
        Ok(())
    }
}

/// `MPI_T_cvar_handle`.
type CvarWordC = u64;

/// Raises the event that the control variable with this index was written.
fn written(index: usize) {
    events::raise(0, 0, || CvarWritten { cvar: i32::try_from(index).unwrap_or(-1) });
    // Inside a call, the hook will deliver.
    if Tls::get().depth.get() == 0 {
        events::deliver();
    }
}
