//! Entry points: performance variables (MPI 5.0, section "Performance Variables").
//!
//! Start, stop, read, write, reset and readreset neither lock nor allocate, and may be called in signal
//! handlers.
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, builtin, c, handles, library};
use mpit::{Bind, Error, PvarWord, SessionWord};
use std::ffi::{c_char, c_int, c_void};

/// `MPI_T_pvar_session`.
type Session = u64;
/// `MPI_T_pvar_handle`.
type Handle = u64;

/// A handle where `MPI_T_PVAR_ALL_HANDLES` is allowed.
#[inline(always)]
fn one_or_all(handle: Handle) -> PvarWord {
    if handle == handles::all_handles() { PvarWord::ALL_HANDLES } else { PvarWord(handle) }
}

/// The word that identifies an object to the variable: the handle, or a token if the variable is our own.
fn object(pvar: c_int, bind: Bind, handle: u64) -> mpit::Result<u64> {
    let own = usize::try_from(pvar).is_ok_and(builtin::is_own_pvar);
    if own { builtin::token(bind, handle) } else { Ok(handle) }
}

/// The error for a missing buffer: an invalid handle takes precedence.
#[cold]
fn no_buffer(session: Session, handle: Handle) -> Error {
    match REGISTRY.pvar_size(SessionWord(session), PvarWord(handle)) {
        Ok(_) => Error::INVALID,
        Err(error) => error,
    }
}

c::entry_points! {
    /// Number of performance variables.
    MPI_T_pvar_get_num PMPI_T_pvar_get_num(num_pvar: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_pvar, c::int(REGISTRY.pvar_count())) };
        Ok(())
    }

    /// Describes a performance variable.
    MPI_T_pvar_get_info PMPI_T_pvar_get_info(
        pvar_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        var_class: *mut c_int,
        datatype: *mut c_void,
        enumtype: *mut u64,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
        readonly: *mut c_int,
        continuous: *mut c_int,
        atomic: *mut c_int,
    ) {
        let info = REGISTRY.pvar(pvar_index)?.info();
        let codes = codes();
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put_string(&info.name, name, name_len);
            c::put(verbosity, codes.verbosity(info.verbosity));
            c::put(var_class, codes.class(info.class));
            c::put_datatype(datatype, info.datatype);
            c::put_enumeration(enumtype, info.enumeration);
            c::put_string(&info.desc, desc, desc_len);
            c::put(bind, codes.bind(info.bind));
            c::put(readonly, c_int::from(info.readonly));
            c::put(continuous, c_int::from(info.continuous));
            c::put(atomic, c_int::from(info.atomic));
        }
        Ok(())
    }

    /// Index of the performance variable with this name and class.
    MPI_T_pvar_get_index PMPI_T_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) {
        if pvar_index.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let (name, class) = (c::name(name)?, codes().class_of(var_class));
            let index = library::find(|| REGISTRY.pvar_index(&name, class))?;
            c::put(pvar_index, c::int(index));
        }
        Ok(())
    }

    /// Creates a performance experiment session.
    MPI_T_pvar_session_create PMPI_T_pvar_session_create(session: *mut Session) {
        if session.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(session, REGISTRY.pvar_session_create()?.0) };
        Ok(())
    }

    /// Frees a session with all its handles.
    MPI_T_pvar_session_free PMPI_T_pvar_session_free(session: *mut Session) {
        if session.is_null() {
            return Err(Error::INVALID_SESSION);
        }
        // SAFETY: the caller's INOUT argument.
        unsafe {
            REGISTRY.pvar_session_free(SessionWord(session.read_unaligned()))?;
            c::put(session, SessionWord::NULL.0);
        }
        Ok(())
    }

    /// Allocates a handle, bound to an object.
    MPI_T_pvar_handle_alloc PMPI_T_pvar_handle_alloc(
        session: Session,
        pvar_index: c_int,
        obj_handle: *const c_void,
        handle: *mut Handle,
        count: *mut c_int,
    ) {
        let session = SessionWord(session);
        let bind = REGISTRY.pvar(pvar_index)?.info().bind;
        if handle.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let object = object(pvar_index, bind, handles::object(obj_handle, bind))?;
            let (word, elements) = REGISTRY.pvar_handle_alloc(session, pvar_index, object)?;
            c::put(handle, word.0);
            c::put(count, c::int(elements));
        }
        Ok(())
    }

    /// Frees a handle.
    MPI_T_pvar_handle_free PMPI_T_pvar_handle_free(session: Session, handle: *mut Handle) {
        if handle.is_null() {
            return Err(Error::INVALID_HANDLE);
        }
        // SAFETY: the caller's INOUT argument.
        unsafe {
            REGISTRY.pvar_handle_free(SessionWord(session), PvarWord(handle.read_unaligned()))?;
            c::put(handle, PvarWord::NULL.0);
        }
        Ok(())
    }

    /// Starts one variable or all.
    MPI_T_pvar_start PMPI_T_pvar_start(session: Session, handle: Handle) {
        REGISTRY.pvar_start(SessionWord(session), one_or_all(handle))
    }

    /// Stops one variable or all.
    MPI_T_pvar_stop PMPI_T_pvar_stop(session: Session, handle: Handle) {
        REGISTRY.pvar_stop(SessionWord(session), one_or_all(handle))
    }

    /// Writes the value.
    MPI_T_pvar_write PMPI_T_pvar_write(session: Session, handle: Handle, buf: *const c_void) {
        if buf.is_null() {
            return Err(no_buffer(session, handle));
        }
        // SAFETY: the caller's buffer holds the whole value.
        unsafe { REGISTRY.pvar_write_raw(SessionWord(session), PvarWord(handle), buf.cast()) }
    }

    /// Sets the starting value.
    MPI_T_pvar_reset PMPI_T_pvar_reset(session: Session, handle: Handle) {
        REGISTRY.pvar_reset(SessionWord(session), one_or_all(handle))
    }

    /// Reads the value and sets the starting value atomically.
    MPI_T_pvar_readreset PMPI_T_pvar_readreset(session: Session, handle: Handle, buf: *mut c_void) {
        if buf.is_null() {
            return Err(no_buffer(session, handle));
        }
        // SAFETY: the caller's buffer holds the whole value.
        unsafe { REGISTRY.pvar_readreset_raw(SessionWord(session), PvarWord(handle), buf.cast()) }
    }
}

/// Handles the cases that need calls, and all errors.
#[inline(never)]
unsafe extern "C" fn read_carefully(session: Session, handle: Handle, buf: *mut c_void) -> c_int {
    let read = REGISTRY.lifecycle().check().and_then(|()| {
        if buf.is_null() {
            return Err(no_buffer(session, handle));
        }
        // SAFETY: the caller's buffer holds the whole value.
        unsafe { REGISTRY.pvar_read_raw(SessionWord(session), PvarWord(handle), buf.cast()) }
    });
    c::answer(read)
}

/// Reads a variable. Tools do this most, in loops and from signal handlers: the common case is a few dozen
/// instructions without a call, so that no register has to be saved, and everything else is a tail call.
#[inline(always)]
unsafe fn read(session: Session, handle: Handle, buf: *mut c_void) -> c_int {
    let (pe_session, variable) = (SessionWord(session), PvarWord(handle));
    if REGISTRY.lifecycle().count() != 0
        && !buf.is_null()
        // SAFETY: the caller's buffer holds the whole value.
        && unsafe { REGISTRY.pvar_read_leaf(pe_session, variable, buf.cast()) }
    {
        return 0;
    }
    // SAFETY: the caller's contract.
    unsafe { read_carefully(session, handle, buf) }
}

/// Reads the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_read(session: Session, handle: Handle, buf: *mut c_void) -> c_int {
    // SAFETY: the caller's contract with the function of this name.
    unsafe { read(session, handle, buf) }
}

/// Reads the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_read(session: Session, handle: Handle, buf: *mut c_void) -> c_int {
    // SAFETY: the caller's contract with the function of this name.
    unsafe { read(session, handle, buf) }
}
