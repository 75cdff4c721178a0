//! Errors that the library detects in a call of the program, recorded before the error handler runs: if errors
//! are fatal the call never returns, and nothing else shows what was wrong with it.
//!
//! | library | function that it calls when a call fails |
//! | --- | --- |
//! | MPICH family | `MPIR_Err_return_comm` and its siblings |
//! | Open MPI | `ompi_errhandler_invoke` |
//!
//! These are internal functions that the library calls through its symbol table, like those of
//! [`fortran_hooks`](super::fortran_hooks); in a library that binds them directly the errors are not seen. Each
//! call is passed on, and the note is removed when the handler returns.
#![allow(unsafe_code, non_snake_case)]

use super::fortran_hooks::Behind;
use crate::base::{clock, image};
use crate::interpose::tls::Tls;
use crate::interpose::{real, resolver};
use crate::record::fortran_call_site;
use mpi_abi::{AbiKind, Mpich, OpenMpi, Standard};
use mpiscope_image::layout::{Raised, State};
use std::ffi::c_int;

/// Defines functions that a library calls with an error code as their argument `$code`.
///
/// Internal functions have no fixed interface. Six words are passed on, which are all registers for integers and
/// pointers that x86-64 has, so that a version of the library with more or other parameters gets what it passed.
macro_rules! error_handlers {
    ($($name:ident $symbol:literal [$($before:ident)*] $code:ident [$($after:ident)*];)*) => {$(
        /// A function fails.
        ///
        /// # Safety
        /// As the function of the library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($before: usize,)* $code: usize $(, $after: usize)*) -> usize {
            static BEHIND: Behind = Behind::new($symbol);
            type Handler = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
            // SAFETY: a function of integers and pointers, which returns an integer.
            let Some(real) = (unsafe { BEHIND.get::<Handler>() }) else { return $code };
            // SAFETY: the library's arguments.
            while_raised($code as c_int, || unsafe { real($($before,)* $code $(, $after)*) })
        }
    )*};
}

error_handlers! {
    MPIR_Err_return_comm c"MPIR_Err_return_comm" [object function] code [d e f];
    MPIR_Err_return_comm_create_from_group c"MPIR_Err_return_comm_create_from_group" [handler function] code [d e f];
    MPIR_Err_return_group c"MPIR_Err_return_group" [object function] code [d e f];
    MPIR_Err_return_session c"MPIR_Err_return_session" [object function] code [d e f];
    MPIR_Err_return_session_init c"MPIR_Err_return_session_init" [handler function] code [d e f];
    MPIR_Err_return_win c"MPIR_Err_return_win" [object function] code [d e f];
    ompi_errhandler_invoke c"ompi_errhandler_invoke" [handler object kind] code [function f];
}

/// Calls the error handler, with a note of the error until it returns.
fn while_raised(code: c_int, handle: impl FnOnce() -> usize) -> usize {
    let tls = Tls::get();
    // SAFETY: null, or a record that lives as long as the process.
    let thread = unsafe { tls.thread.get().as_ref() }.filter(|_| tls.depth.get() != 0);
    let Some(thread) = thread else { return handle() };
    let (raised, before) = (&thread.raised, thread.raised.clone());
    raised.function.set(0);
    raised.class.set(class(code).cast_unsigned());
    // In a Fortran program the call site is behind the binding.
    raised.from.set(fortran_call_site::of(tls.return_address.get(), || tls.stack_pointer.get()));
    raised.at.set(clock::now());
    raised.completed.set(thread.call.completed.get());
    raised.function.set(u32::from(tls.function().0) + 1);
    let result = handle();
    put_back(raised, &before);
    result
}

fn put_back(raised: &Raised, before: &Raised) {
    raised.function.set(0);
    raised.class.set(before.class.get());
    raised.from.set(before.from.get());
    raised.at.set(before.at.get());
    raised.completed.set(before.completed.get());
    raised.function.set(before.function.get());
}

/// The bits of MPICH's error codes that hold the class.
const MPICH_CLASS: c_int = 0x7f;

/// Returns the class of an error, or the code itself if the library cannot be asked.
fn class(code: c_int) -> c_int {
    let mut class = code;
    let state = image::writer().map(|writer| writer.header().state.get());
    if state == Some(State::INITIALIZED.0) {
        match resolver::abi() {
            Some(AbiKind::MPICH) => real::error_class::<Mpich>(code, &mut class),
            Some(AbiKind::OPENMPI) => real::error_class::<OpenMpi>(code, &mut class),
            Some(AbiKind::STANDARD) => real::error_class::<Standard>(code, &mut class),
            _ => None,
        };
    } else if resolver::abi() == Some(AbiKind::MPICH) {
        class = code & MPICH_CLASS;
    }
    class
}
