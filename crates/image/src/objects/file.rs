//! Files.

use super::Head;
use crate::cell::{W32, W64};
use crate::layout::Text;
use std::mem::{offset_of, size_of};

/// A file. `head.parent` is the uid of the communicator. Freed means closed.
#[repr(C)]
#[derive(Debug, Clone)]
pub struct File {
    #[allow(missing_docs)]
    pub head: Head,
    /// Handle of the communicator.
    pub comm: W64,
    /// Access mode, in the ABI's own bits.
    pub amode: W32,
    /// Whether atomic mode is on.
    pub atomicity: W32,
    /// Handle of the info object that was last set, zero if none.
    pub info: W64,
    /// Uid of `info`.
    pub info_uid: W64,
    /// Handle of the error handler that was last attached, zero if none (that of `MPI_FILE_NULL` applies).
    pub errhandler: W64,
    /// Uid of `errhandler`.
    pub errhandler_uid: W64,
    /// The name as passed by the program.
    pub name: Text,
    /// Displacement of the view in bytes.
    pub disp: W64,
    /// Handle of the view's elementary type; zero for the default view (bytes).
    pub etype: W64,
    /// Uid of `etype`.
    pub etype_uid: W64,
    /// Handle of the view's file type; zero for the default view.
    pub filetype: W64,
    /// Uid of `filetype`.
    pub filetype_uid: W64,
    /// Data representation; empty for the default view (`native`).
    pub datarep: Text,
    /// The pairs of the info object that was last set, as of that time: see [`pairs`](super::pairs).
    pub hints: Text,
    /// Number of successful data access calls of this process that read (MPI 5.0, section "Data Access"): a
    /// split call counts when it begins, a nonblocking one when it starts. This and the following counts are
    /// updated atomically, by any thread.
    pub reads: W64,
    /// Number of such calls that write.
    pub writes: W64,
    /// Bytes requested by the reading calls: counts times datatype sizes, including bytes beyond the end of
    /// the file.
    pub read_bytes: W64,
    /// Bytes passed to the writing calls.
    pub written_bytes: W64,
    /// Time spent in all these calls, in ends of split ones and in `MPI_File_sync`, in ticks; zero if times
    /// are not recorded.
    pub ticks: W64,
    /// The Fortran handle returned by the library when it was requested.
    pub fortran: W32,
    /// 1 if it was requested: ROMIO assigns a file's number only then.
    pub fortran_known: W32,
    /// Number of collective calls on it that this process has entered and the library has not rejected.
    pub collectives: W64,
    /// Its last collective calls, as in [`Window::history`](super::Window::history).
    pub history: W64,
}

const _: () = {
    assert!(offset_of!(File, amode) == 104);
    assert!(offset_of!(File, name) == 144);
    assert!(offset_of!(File, disp) == 160);
    assert!(offset_of!(File, reads) == 232);
    assert!(offset_of!(File, fortran) == 272);
    assert!(size_of::<File>() == 296);
};
