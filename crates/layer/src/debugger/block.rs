//! `MPI2DD_info` and `MPI2DD_breakpoint`: layouts and symbols, byte by byte as the document has them.
//!
//! All words are atomic: a debugger reads and writes them from outside, whenever it likes. Addresses have the width of
//! the process, so that a 32-bit build has the 32-bit layout.
#![allow(unsafe_code)]

use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// The first five bytes of [`Info`].
const MAGIC: [u8; 5] = [b'M', b'P', b'I', b'2', 0x7f];

/// `MPI2DD_INFO`.
#[repr(C)]
pub struct Info {
    magic: [u8; 5],
    version: u8,
    variant: u8,
    /// Why the breakpoint was called last: a [`Reason`].
    pub debug_state: AtomicU8,
    /// Bits of [`flag`], changed by the debugger.
    pub debugger_flags: AtomicU32,
    /// Bits of [`mpi_flag`].
    pub mpi_flags: AtomicU32,
    /// Queue plug-in for debuggers of 32 bits, or null.
    pub dll_name_32: AtomicUsize,
    /// Queue plug-in for debuggers of 64 bits, or null.
    pub dll_name_64: AtomicUsize,
    /// Host of the metadirectory.
    pub meta_host_name: AtomicUsize,
    /// Executable of the metadirectory.
    pub meta_executable_name: AtomicUsize,
    /// What to show when the job aborts.
    pub abort_string: AtomicUsize,
    /// [`ProcDesc`]s, or null.
    pub proctable: AtomicUsize,
    /// [`DirectoryEntry`]s of directories, or null.
    pub directory_table: AtomicUsize,
    /// [`DirectoryEntry`]s of metadirectories, or null.
    pub metadirectory_table: AtomicUsize,
    /// Entries of the process table.
    pub proctable_size: AtomicI32,
    /// Entries of the directory table.
    pub directory_size: AtomicI32,
    /// Entries of the metadirectory table.
    pub metadirectory_size: AtomicI32,
    /// Process id of the metadirectory on its host.
    pub meta_pid: AtomicI32,
    padding: [i32; 8],
}

/// `MPI2DD_PROCDESC`: one rank.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcDesc {
    pub host_name: usize,
    pub executable_name: usize,
    pub spawn_desc: usize,
    pub comm_world_id: usize,
    pub pid: i32,
    pub rank: i32,
}

/// `MPI2DD_SPAWNDESC`: who spawned a world.
#[repr(C)]
pub struct SpawnDesc {
    pub parent_comm_world_id: usize,
    pub parent_rank: i32,
    pub sequence: i32,
}

/// `MPI2DD_DIRECTORYENTRY`. Packed, as the document says of its tables: 20 bytes where natural C has 24.
#[repr(C, packed)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DirectoryEntry {
    pub host_name: usize,
    pub executable_name: usize,
    pub pid: i32,
}

const W: usize = size_of::<usize>();
const _: () = {
    assert!(W == 4 || W == 8);
    assert!(offset_of!(Info, version) == 5 && offset_of!(Info, variant) == 6);
    assert!(offset_of!(Info, debug_state) == 7);
    assert!(offset_of!(Info, debugger_flags) == 8 && offset_of!(Info, mpi_flags) == 12);
    assert!(offset_of!(Info, dll_name_32) == 16 && offset_of!(Info, dll_name_64) == 16 + W);
    assert!(offset_of!(Info, meta_host_name) == 16 + 2 * W);
    assert!(offset_of!(Info, meta_executable_name) == 16 + 3 * W);
    assert!(offset_of!(Info, abort_string) == 16 + 4 * W);
    assert!(offset_of!(Info, proctable) == 16 + 5 * W);
    assert!(offset_of!(Info, directory_table) == 16 + 6 * W);
    assert!(offset_of!(Info, metadirectory_table) == 16 + 7 * W);
    assert!(offset_of!(Info, proctable_size) == 16 + 8 * W);
    assert!(offset_of!(Info, directory_size) == 20 + 8 * W);
    assert!(offset_of!(Info, metadirectory_size) == 24 + 8 * W);
    assert!(offset_of!(Info, meta_pid) == 28 + 8 * W);
    assert!(offset_of!(Info, padding) == 32 + 8 * W && size_of::<Info>() == 64 + 8 * W);
    assert!(size_of::<ProcDesc>() == 4 * W + 8 && offset_of!(ProcDesc, pid) == 4 * W);
    assert!(size_of::<SpawnDesc>() == W + 8 && offset_of!(SpawnDesc, parent_rank) == W);
    assert!(size_of::<DirectoryEntry>() == 2 * W + 4 && offset_of!(DirectoryEntry, pid) == 2 * W);
};

/// Why the breakpoint is called: a value of `debug_state`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reason(pub u8);

#[allow(missing_docs)]
impl Reason {
    pub const START: Self = Self(1);
    pub const SPAWN: Self = Self(2);
    pub const CONNECT: Self = Self(3);
    pub const ACCEPT: Self = Self(4);
    pub const JOIN: Self = Self(5);
    pub const DIRECTORY_CHANGED: Self = Self(6);
    pub const METADIRECTORY_CHANGED: Self = Self(7);
    pub const ABORT: Self = Self(8);
}

/// Bits of `debugger_flags`.
pub mod flag {
    /// The debugger has acquired the process: it may leave `MPI_Init`.
    pub const GATE: u32 = 1;
    /// A debugger is attached.
    pub const BEING_DEBUGGED: u32 = 2;
    /// The debugger wants to be told of changes of the directories.
    pub const REQUEST_DIRECTORY_EVENTS: u32 = 4;
}

/// Bits of `mpi_flags`.
pub mod mpi_flag {
    /// Has (or may have) tables of directories and metadirectories.
    pub const I_AM_METADIR: u32 = 1;
    /// Has a process table.
    pub const I_AM_DIR: u32 = 2;
    /// There is no plug-in for message queues.
    pub const IGNORE_QUEUE: u32 = 0x10;
    /// Ranks that no debugger attached to go on by themselves.
    pub const PARTIAL_ATTACH_OK: u32 = 0x40;
}

/// What a debugger looks for in every rank. Valid from the first instruction on; the tables come with `MPI_Init`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static MPI2DD_info: Info = Info {
    magic: MAGIC,
    version: 1,
    variant: 1,
    debug_state: AtomicU8::new(0),
    debugger_flags: AtomicU32::new(0),
    mpi_flags: AtomicU32::new(0),
    dll_name_32: AtomicUsize::new(0),
    dll_name_64: AtomicUsize::new(0),
    meta_host_name: AtomicUsize::new(0),
    meta_executable_name: AtomicUsize::new(0),
    abort_string: AtomicUsize::new(0),
    proctable: AtomicUsize::new(0),
    directory_table: AtomicUsize::new(0),
    metadirectory_table: AtomicUsize::new(0),
    proctable_size: AtomicI32::new(0),
    directory_size: AtomicI32::new(0),
    metadirectory_size: AtomicI32::new(0),
    meta_pid: AtomicI32::new(0),
    padding: [0; 8],
};

/// Where a debugger puts its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
#[allow(non_snake_case)]
pub extern "C" fn MPI2DD_breakpoint() {
    // SAFETY: no instruction at all; as a statement with side effects it keeps the function and its calls from being
    // optimised away, and the memory clobber makes all stores before it visible.
    unsafe { std::arch::asm!("") };
}

impl Info {
    /// Whether the debugger has set a bit of [`flag`].
    pub fn asked(&self, bit: u32) -> bool {
        self.debugger_flags.load(Ordering::Acquire) & bit != 0
    }

    /// Says why, and stops in the debugger if there is one.
    pub fn stop(&self, reason: Reason) {
        self.debug_state.store(reason.0, Ordering::SeqCst);
        MPI2DD_breakpoint();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_begins_with_the_documents_magic_and_versions() {
        let bytes = std::ptr::from_ref(&MPI2DD_info).cast::<[u8; 7]>();
        // SAFETY: the first bytes of a static that nobody changes.
        assert_eq!(unsafe { *bytes }, *b"MPI2\x7f\x01\x01");
    }
}
