//! MPIR, the process acquisition interface of starters.
//!
//! According to the document, tools take the layout of an entry from debug information. Starters are usually
//! stripped, however, and all have C's natural layout: two addresses and an `int`. The bytes after the
//! process id are padding.

use std::ffi::c_char;
use std::mem::{offset_of, size_of};

/// Symbol of the function where a debugger sets its breakpoint.
pub const BREAKPOINT: &str = "MPIR_Breakpoint";
/// Symbol of the pointer to the table.
pub const PROCTABLE: &str = "MPIR_proctable";
/// Symbol of the number of its entries.
pub const PROCTABLE_SIZE: &str = "MPIR_proctable_size";

/// `MPIR_PROCDESC`: one rank; its index is its rank.
#[repr(C)]
#[derive(Debug)]
pub struct ProcDesc {
    /// Host.
    pub host_name: *const c_char,
    /// Program.
    pub executable_name: *const c_char,
    /// Process id on the host.
    pub pid: i32,
}

/// `MPIR_debug_state`: why the breakpoint was reached.
pub mod debug_state {
    /// The ranks have been started.
    pub const SPAWNED: i32 = 1;
    /// The job aborts.
    pub const ABORTING: i32 = 2;
}

/// Offsets and sizes in a process whose addresses have `width` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// 4 or 8.
    pub width: usize,
}

impl Layout {
    /// Size of a [`ProcDesc`].
    #[must_use]
    pub const fn proc_desc(self) -> usize {
        (self.pid() + 4).next_multiple_of(self.width)
    }

    /// Offset of its program.
    #[must_use]
    pub const fn executable_name(self) -> usize {
        self.width
    }

    /// Offset of its process id.
    #[must_use]
    pub const fn pid(self) -> usize {
        2 * self.width
    }
}

const _: () = {
    let here = Layout { width: size_of::<usize>() };
    assert!(here.proc_desc() == size_of::<ProcDesc>());
    assert!(here.executable_name() == offset_of!(ProcDesc, executable_name));
    assert!(here.pid() == offset_of!(ProcDesc, pid));
};
