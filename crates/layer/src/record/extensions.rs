//! Objects that are made by extensions of a library, functions that are in no version of the standard.
//!
//! A library gives a new object the handle of a freed one. If the object stayed unknown, freeing it would look like
//! freeing the old one again. So it is entered when it is made; its name is not shared by the members.
//!
//! The functions are called outside of any traced call, are not counted, and get their arguments unchanged.
#![allow(unsafe_code, non_snake_case)]

use super::fortran_hooks::Behind;
use super::objects::{comms, new_handle, ops, succeeded};
use crate::interpose::resolver;
use crate::interpose::tls::Tls;
use mpi_abi::{Abi, AbiKind, Handle, Mpich, ObjectKind, OpenMpi, Standard};
use std::ffi::c_int;

/// Defines functions of integers and pointers that store the handle of a new object of a kind in `new`.
macro_rules! makers {
    ($($name:ident $symbol:literal [$($before:ident)*] new $kind:ident;)*) => {$(
        /// Makes an object.
        ///
        /// # Safety
        /// As the function of the library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($before: usize,)* new: usize) -> c_int {
            static BEHIND: Behind = Behind::new($symbol);
            type Maker = unsafe extern "C" fn($(makers!(@word $before),)* usize) -> c_int;
            // SAFETY: the C type of the function: all arguments are passed in registers for integers.
            let Some(real) = (unsafe { BEHIND.get::<Maker>() }) else { return -1 };
            // SAFETY: the program's arguments.
            let result = unsafe { real($($before,)* new) };
            made(ObjectKind::$kind, result, new);
            result
        }
    )*};
    (@word $argument:ident) => { usize };
}

makers! {
    MPIX_Comm_shrink c"MPIX_Comm_shrink" [comm] new COMM;
    PMPIX_Comm_shrink c"PMPIX_Comm_shrink" [comm] new COMM;
    MPIX_Stream_comm_create c"MPIX_Stream_comm_create" [comm stream] new COMM;
    PMPIX_Stream_comm_create c"PMPIX_Stream_comm_create" [comm stream] new COMM;
    MPIX_Stream_comm_create_multiplex c"MPIX_Stream_comm_create_multiplex" [comm count streams] new COMM;
    PMPIX_Stream_comm_create_multiplex c"PMPIX_Stream_comm_create_multiplex" [comm count streams] new COMM;
    MPIX_Op_create_x c"MPIX_Op_create_x" [function destructor commute extra] new OP;
    PMPIX_Op_create_x c"PMPIX_Op_create_x" [function destructor commute extra] new OP;
}

/// Enters the object, unless the library made it for itself inside a traced call.
fn made(kind: ObjectKind, result: c_int, new: usize) {
    if Tls::get().depth.get() != 0 {
        return;
    }
    Tls::inside(|| match resolver::abi() {
        Some(AbiKind::MPICH) => enter::<Mpich>(kind, result, new),
        Some(AbiKind::OPENMPI) => enter::<OpenMpi>(kind, result, new),
        Some(AbiKind::STANDARD) => enter::<Standard>(kind, result, new),
        _ => {}
    });
}

fn enter<A: Abi>(kind: ObjectKind, result: c_int, new: usize) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(kind, new as *const A::Handle) else { return };
    if kind == ObjectKind::COMM {
        comms::find_or_adopt::<A>(A::Handle::from_raw(raw));
    } else {
        ops::found(writer, raw);
    }
}
