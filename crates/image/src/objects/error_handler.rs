//! Error handlers.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::{Text, codes};
use std::mem::{offset_of, size_of};

codes! {
    /// What an error handler may be attached to: [`Errhandler::kind`].
    ErrhandlerKind {
        ANY = 0 => "any",
        COMM = 1 => "communicator",
        FILE = 2 => "file",
        WINDOW = 3 => "window",
        SESSION = 4 => "session",
    }
}

/// An error handler. `head.flags`: `PREDEFINED`, `FORTRAN`. What it is attached to is in those objects' records.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct Errhandler {
    #[allow(missing_docs)]
    pub head: Head,
    /// An [`ErrhandlerKind`].
    pub kind: W32,
    /// Handles of it that the program has to free: `MPI_Comm_get_errhandler` gives further ones.
    pub handles: W32,
    /// Address of the program's function; zero for a predefined one or if it is not known.
    pub function: W64,
    /// Its name, if it is predefined.
    pub name: Text,
}

const _: () = {
    assert!(offset_of!(Errhandler, function) == 104);
    assert!(size_of::<Errhandler>() == 128);
};
