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
    /// Handle of the info last given, zero if never.
    pub info: W64,
    /// Its uid.
    pub info_uid: W64,
    /// Handle of the error handler last attached, zero if never (then that of `MPI_FILE_NULL` holds).
    pub errhandler: W64,
    /// Its uid.
    pub errhandler_uid: W64,
    /// The name as the program gave it.
    pub name: Text,
    /// The view: displacement in bytes.
    pub disp: W64,
    /// Handle of the elementary type; zero while the view is the default one (bytes).
    pub etype: W64,
    /// Its uid.
    pub etype_uid: W64,
    /// Handle of the file type; zero while the view is the default one.
    pub filetype: W64,
    /// Its uid.
    pub filetype_uid: W64,
    /// Data representation; empty while the view is the default one (`native`).
    pub datarep: Text,
    /// The pairs of the info last given, as they were then: see [`pairs`](super::pairs).
    pub hints: Text,
    /// What this process asked for in data access calls that succeeded (MPI 5.0, section "Data Access"): a split one
    /// counts at its begin, a nonblocking one at its start. Of several threads, so added to atomically: calls that read.
    pub reads: W64,
    /// The same: calls that write.
    pub writes: W64,
    /// Bytes that the reading ones named: counts times sizes of datatypes, also of what lay behind the end of the file.
    pub read_bytes: W64,
    /// Bytes that the writing ones named.
    pub written_bytes: W64,
    /// Time inside of all of them, ends of split ones and `MPI_File_sync`, in ticks; zero if times are not recorded.
    pub ticks: W64,
    /// The handle in Fortran that the library gave when somebody asked for it.
    pub fortran: W32,
    /// 1 when it did: ROMIO numbers a file only then.
    pub fortran_known: W32,
    /// Collective calls on it that this process has entered.
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
