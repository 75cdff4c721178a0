//! The MPI2 debugger interface: layouts as specified by the document, byte by byte.
//!
//! All words of the block are atomic: a debugger reads and writes them from outside at any time. Addresses
//! have the width of the process, so a 32-bit build has the 32-bit layout. Readers of another process use
//! [`Layout`].

use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// Symbol of the block.
pub const SYMBOL: &str = "MPI2DD_info";
/// The first five bytes of [`Info`].
pub const MAGIC: [u8; 5] = [b'M', b'P', b'I', b'2', 0x7f];
/// Version and variant of the document.
pub const VERSION: (u8, u8) = (1, 1);

/// `MPI2DD_INFO`.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    magic: [u8; 5],
    version: u8,
    variant: u8,
    /// Why the breakpoint was last reached: a [`Reason`].
    pub debug_state: AtomicU8,
    /// Bits of [`flag`], set by the debugger.
    pub debugger_flags: AtomicU32,
    /// Bits of [`mpi_flag`].
    pub mpi_flags: AtomicU32,
    /// Queue plug-in for 32-bit debuggers, or null.
    pub dll_name_32: AtomicUsize,
    /// Queue plug-in for 64-bit debuggers, or null.
    pub dll_name_64: AtomicUsize,
    /// Host of the metadirectory.
    pub meta_host_name: AtomicUsize,
    /// Executable of the metadirectory.
    pub meta_executable_name: AtomicUsize,
    /// The text to show when the job aborts.
    pub abort_string: AtomicUsize,
    /// [`ProcDesc`]s, or null.
    pub proctable: AtomicUsize,
    /// [`DirectoryEntry`]s of directories, or null.
    pub directory_table: AtomicUsize,
    /// [`DirectoryEntry`]s of metadirectories, or null.
    pub metadirectory_table: AtomicUsize,
    /// Number of entries in the process table.
    pub proctable_size: AtomicI32,
    /// Number of entries in the directory table.
    pub directory_size: AtomicI32,
    /// Number of entries in the metadirectory table.
    pub metadirectory_size: AtomicI32,
    /// Process id of the metadirectory on its host.
    pub meta_pid: AtomicI32,
    padding: [i32; 8],
}

/// `MPI2DD_PROCDESC`: one rank.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProcDesc {
    /// Host, a C string.
    pub host_name: usize,
    /// Program, a C string.
    pub executable_name: usize,
    /// A [`SpawnDesc`], or null if a launcher started the world.
    pub spawn_desc: usize,
    /// Name of the world, a C string.
    pub comm_world_id: usize,
    /// Process id on its host.
    pub pid: i32,
    /// Rank in the world.
    pub rank: i32,
}

/// `MPI2DD_SPAWNDESC`: the spawn that created a world.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SpawnDesc {
    /// Name of the parent's world, a C string.
    pub parent_comm_world_id: usize,
    /// The root of the spawn in it; -1 if unknown.
    pub parent_rank: i32,
    /// Number of the spawn among those of that root, from 0.
    pub sequence: i32,
}

/// `MPI2DD_DIRECTORYENTRY`. Packed, as the document specifies: 20 bytes where C's natural layout has 24.
#[repr(C, packed)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Host, a C string.
    pub host_name: usize,
    /// Program, a C string.
    pub executable_name: usize,
    /// Process id on its host; 0 in an unused entry.
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

/// Why the breakpoint is reached: a value of `debug_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The debugger wants to be notified of changes of the directories.
    pub const REQUEST_DIRECTORY_EVENTS: u32 = 4;
}

/// Bits of `mpi_flags`.
pub mod mpi_flag {
    /// Has (or may have) tables of directories and metadirectories.
    pub const I_AM_METADIR: u32 = 1;
    /// Has a process table.
    pub const I_AM_DIR: u32 = 2;
    /// Starts ranks but is not a rank itself.
    pub const I_AM_STARTER: u32 = 4;
    /// There is no plug-in for message queues.
    pub const IGNORE_QUEUE: u32 = 0x10;
    /// Ranks to which no debugger is attached continue by themselves.
    pub const PARTIAL_ATTACH_OK: u32 = 0x40;
}

impl Info {
    /// Creates a block without tables.
    #[must_use]
    pub const fn new(mpi_flags: u32) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION.0,
            variant: VERSION.1,
            debug_state: AtomicU8::new(0),
            debugger_flags: AtomicU32::new(0),
            mpi_flags: AtomicU32::new(mpi_flags),
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
        }
    }

    /// Whether the debugger has set a bit of [`flag`].
    pub fn asked(&self, bit: u32) -> bool {
        self.debugger_flags.load(Ordering::Acquire) & bit != 0
    }
}

/// Offsets and sizes in a process whose addresses have `width` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// 4 or 8.
    pub width: usize,
}

/// The address fields of [`Info`], in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Address {
    DllName32,
    DllName64,
    MetaHostName,
    MetaExecutableName,
    AbortString,
    ProcTable,
    DirectoryTable,
    MetadirectoryTable,
}

/// The number fields of [`Info`] after its addresses, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Number {
    ProcTableSize,
    DirectorySize,
    MetadirectorySize,
    MetaPid,
}

impl Layout {
    /// Offset of [`Info::debug_state`].
    pub const DEBUG_STATE: usize = offset_of!(Info, debug_state);
    /// Offset of [`Info::debugger_flags`].
    pub const DEBUGGER_FLAGS: usize = offset_of!(Info, debugger_flags);
    /// Offset of [`Info::mpi_flags`].
    pub const MPI_FLAGS: usize = offset_of!(Info, mpi_flags);
    const ADDRESSES: usize = offset_of!(Info, dll_name_32);

    /// Size of [`Info`].
    #[must_use]
    pub const fn info(self) -> usize {
        self.number(Number::MetaPid) + 4 + 8 * 4
    }

    /// Offset of an address in [`Info`].
    #[must_use]
    pub const fn address(self, address: Address) -> usize {
        Self::ADDRESSES + address as usize * self.width
    }

    /// Offset of a number in [`Info`].
    #[must_use]
    pub const fn number(self, number: Number) -> usize {
        self.address(Address::MetadirectoryTable) + self.width + number as usize * 4
    }

    /// Size of a [`ProcDesc`]: four addresses, then process id and rank.
    #[must_use]
    pub const fn proc_desc(self) -> usize {
        4 * self.width + 8
    }

    /// Size of a [`DirectoryEntry`]: two addresses, then the process id.
    #[must_use]
    pub const fn directory_entry(self) -> usize {
        2 * self.width + 4
    }

    /// The same in natural layout, which some libraries use contrary to the document.
    #[must_use]
    pub const fn natural_directory_entry(self) -> usize {
        self.directory_entry().next_multiple_of(self.width)
    }
}

const _: () = {
    let here = Layout { width: W };
    assert!(here.info() == size_of::<Info>());
    assert!(here.address(Address::DllName64) == offset_of!(Info, dll_name_64));
    assert!(here.address(Address::MetaHostName) == offset_of!(Info, meta_host_name));
    assert!(here.address(Address::AbortString) == offset_of!(Info, abort_string));
    assert!(here.address(Address::ProcTable) == offset_of!(Info, proctable));
    assert!(here.address(Address::MetadirectoryTable) == offset_of!(Info, metadirectory_table));
    assert!(here.number(Number::ProcTableSize) == offset_of!(Info, proctable_size));
    assert!(here.number(Number::MetaPid) == offset_of!(Info, meta_pid));
    assert!(here.proc_desc() == size_of::<ProcDesc>());
    assert!(here.directory_entry() == size_of::<DirectoryEntry>());
};
