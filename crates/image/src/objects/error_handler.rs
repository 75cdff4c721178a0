//! Error handlers.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, codes};
use std::mem::{offset_of, size_of};

codes! {
    /// The kind of object to which an error handler can be attached: [`Errhandler::kind`].
    ErrhandlerKind {
        ANY = 0 => "any",
        COMM = 1 => "communicator",
        FILE = 2 => "file",
        WINDOW = 3 => "window",
        SESSION = 4 => "session",
    }
}

/// An error handler. `head.flags`: `PREDEFINED`, `FORTRAN`. The records of objects state to which it is
/// attached.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Errhandler {
    #[allow(missing_docs)]
    pub head: Head,
    /// An [`ErrhandlerKind`].
    pub kind: W32,
    /// Number of handles that the program must free: `MPI_Comm_get_errhandler` returns additional ones.
    pub handles: W32,
    /// Address of the program's function; zero if the handler is predefined or the address is unknown.
    pub function: W64,
    /// The name, if it is predefined.
    pub name: Text,
}

const _: () = {
    assert!(offset_of!(Errhandler, function) == 104);
    assert!(size_of::<Errhandler>() == 128);
};
