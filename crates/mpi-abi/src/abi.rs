//! The types and constants that differ between the ABIs, for code that is generic over the ABI.

use std::fmt;

use crate::generated::constants::{mpich, openmpi, standard};

/// An ABI, as a number that is stored in images. Unknown numbers are no ABI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct AbiKind(pub u8);

impl AbiKind {
    /// Not known.
    pub const UNKNOWN: AbiKind = AbiKind(0);
    /// MPICH, Intel MPI, Cray MPICH, MVAPICH.
    pub const MPICH: AbiKind = AbiKind(1);
    /// Open MPI's own ABI.
    pub const OPENMPI: AbiKind = AbiKind(2);
    /// The ABI of MPI 5.0 (`libmpi_abi.so`).
    pub const STANDARD: AbiKind = AbiKind(3);
    /// All known ABIs.
    pub const ALL: [AbiKind; 3] = [AbiKind::STANDARD, AbiKind::MPICH, AbiKind::OPENMPI];

    /// Converts from a word of an image.
    pub fn from_word(word: u32) -> AbiKind {
        u8::try_from(word).map_or(AbiKind::UNKNOWN, AbiKind)
    }

    /// `standard`, `mpich`, `openmpi`, or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            AbiKind::STANDARD => "standard",
            AbiKind::MPICH => "mpich",
            AbiKind::OPENMPI => "openmpi",
            _ => "unknown",
        }
    }
}

impl fmt::Debug for AbiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A handle of any kind except `MPI_File`: an `int` in MPICH's ABI, a pointer in the others.
pub trait Handle: Copy + Eq + fmt::Debug + 'static {
    /// Returns the handle zero-extended to 64 bits.
    fn raw(self) -> u64;
    /// Converts from the result of [`raw`](Handle::raw), discarding bits that the type does not have.
    fn from_raw(raw: u64) -> Self;
}

impl Handle for i32 {
    fn raw(self) -> u64 {
        u64::from(self.cast_unsigned())
    }

    fn from_raw(raw: u64) -> i32 {
        raw as i32
    }
}

impl Handle for usize {
    fn raw(self) -> u64 {
        self as u64
    }

    fn from_raw(raw: u64) -> usize {
        raw as usize
    }
}

/// An `MPI_File`: a pointer in every ABI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct FileHandle(pub usize);

impl Handle for FileHandle {
    fn raw(self) -> u64 {
        self.0 as u64
    }

    fn from_raw(raw: u64) -> FileHandle {
        FileHandle(raw as usize)
    }
}

/// Passes the list of constants to another macro, after that macro's own arguments.
macro_rules! with_constants {
    ($then:ident $args:tt) => {
        $then! {
            $args
            ints {
                SUCCESS = MPI_SUCCESS;
                ANY_SOURCE = MPI_ANY_SOURCE;
                ANY_TAG = MPI_ANY_TAG;
                PROC_NULL = MPI_PROC_NULL;
                ROOT = MPI_ROOT;
                UNDEFINED = MPI_UNDEFINED;
                THREAD_SINGLE = MPI_THREAD_SINGLE;
                THREAD_FUNNELED = MPI_THREAD_FUNNELED;
                THREAD_SERIALIZED = MPI_THREAD_SERIALIZED;
                THREAD_MULTIPLE = MPI_THREAD_MULTIPLE;
                ERR_ARG = MPI_ERR_ARG;
                ERR_ASSERT = MPI_ERR_ASSERT;
                ERR_BASE = MPI_ERR_BASE;
                ERR_BUFFER = MPI_ERR_BUFFER;
                ERR_COMM = MPI_ERR_COMM;
                ERR_COUNT = MPI_ERR_COUNT;
                ERR_DIMS = MPI_ERR_DIMS;
                ERR_DISP = MPI_ERR_DISP;
                ERR_OP = MPI_ERR_OP;
                ERR_RANK = MPI_ERR_RANK;
                ERR_ROOT = MPI_ERR_ROOT;
                ERR_SIZE = MPI_ERR_SIZE;
                ERR_TAG = MPI_ERR_TAG;
                ERR_TOPOLOGY = MPI_ERR_TOPOLOGY;
                ERR_TYPE = MPI_ERR_TYPE;
                ERR_OTHER = MPI_ERR_OTHER;
                ERR_INTERN = MPI_ERR_INTERN;
                ERR_PENDING = MPI_ERR_PENDING;
                ERR_IN_STATUS = MPI_ERR_IN_STATUS;
                ERR_TRUNCATE = MPI_ERR_TRUNCATE;
                ERR_NO_MEM = MPI_ERR_NO_MEM;
                ERR_UNSUPPORTED_OPERATION = MPI_ERR_UNSUPPORTED_OPERATION;
                IDENT = MPI_IDENT;
                CONGRUENT = MPI_CONGRUENT;
                SIMILAR = MPI_SIMILAR;
                UNEQUAL = MPI_UNEQUAL;
                CART = MPI_CART;
                GRAPH = MPI_GRAPH;
                DIST_GRAPH = MPI_DIST_GRAPH;
                COMM_TYPE_SHARED = MPI_COMM_TYPE_SHARED;
                LOCK_EXCLUSIVE = MPI_LOCK_EXCLUSIVE;
                LOCK_SHARED = MPI_LOCK_SHARED;
                MODE_NOPRECEDE = MPI_MODE_NOPRECEDE;
                MODE_NOSUCCEED = MPI_MODE_NOSUCCEED;
                WIN_FLAVOR_CREATE = MPI_WIN_FLAVOR_CREATE;
                WIN_FLAVOR_ALLOCATE = MPI_WIN_FLAVOR_ALLOCATE;
                WIN_FLAVOR_DYNAMIC = MPI_WIN_FLAVOR_DYNAMIC;
                WIN_FLAVOR_SHARED = MPI_WIN_FLAVOR_SHARED;
                WIN_UNIFIED = MPI_WIN_UNIFIED;
                WIN_SEPARATE = MPI_WIN_SEPARATE;
                COMBINER_NAMED = MPI_COMBINER_NAMED;
                ORDER_C = MPI_ORDER_C;
                ORDER_FORTRAN = MPI_ORDER_FORTRAN;
                KEYVAL_INVALID = MPI_KEYVAL_INVALID;
                TAG_UB = MPI_TAG_UB;
                WTIME_IS_GLOBAL = MPI_WTIME_IS_GLOBAL;
                UNIVERSE_SIZE = MPI_UNIVERSE_SIZE;
                APPNUM = MPI_APPNUM;
                WIN_BASE = MPI_WIN_BASE;
                WIN_SIZE = MPI_WIN_SIZE;
                WIN_DISP_UNIT = MPI_WIN_DISP_UNIT;
                WIN_CREATE_FLAVOR = MPI_WIN_CREATE_FLAVOR;
                WIN_MODEL = MPI_WIN_MODEL;
                MAX_OBJECT_NAME = MPI_MAX_OBJECT_NAME;
                MAX_ERROR_STRING = MPI_MAX_ERROR_STRING;
                MAX_PROCESSOR_NAME = MPI_MAX_PROCESSOR_NAME;
                MAX_LIBRARY_VERSION_STRING = MPI_MAX_LIBRARY_VERSION_STRING;
                MAX_INFO_KEY = MPI_MAX_INFO_KEY;
                MAX_INFO_VAL = MPI_MAX_INFO_VAL;
                MAX_PORT_NAME = MPI_MAX_PORT_NAME;
            }
            addresses {
                BOTTOM = MPI_BOTTOM;
                IN_PLACE = MPI_IN_PLACE;
                STATUS_IGNORE = MPI_STATUS_IGNORE;
                STATUSES_IGNORE = MPI_STATUSES_IGNORE;
                ERRCODES_IGNORE = MPI_ERRCODES_IGNORE;
            }
            layout {
                STATUS_SIZE = SIZEOF_MPI_Status;
                STATUS_SOURCE = OFFSETOF_MPI_SOURCE;
                STATUS_TAG = OFFSETOF_MPI_TAG;
                STATUS_ERROR = OFFSETOF_MPI_ERROR;
                HANDLE_SIZE = SIZEOF_MPI_Comm;
            }
        }
    };
}

macro_rules! define {
    (
        ()
        ints { $($int:ident = $mpi_int:ident;)* }
        addresses { $($address:ident = $mpi_address:ident;)* }
        layout { $($layout:ident = $mpi_layout:ident;)* }
    ) => {
        /// An ABI as a type, for code that is compiled once for each ABI.
        ///
        /// The constants are those that a tool needs; all others are in [`standard`](crate::standard),
        /// [`mpich`](crate::mpich) and [`openmpi`](crate::openmpi). Constants without documentation here have
        /// the standard's meaning.
        #[allow(missing_docs)]
        pub trait Abi: Copy + fmt::Debug + 'static {
            /// The ABI's number.
            const CODE: AbiKind;
            /// The type of all handles except files.
            type Handle: Handle;
            $(const $int: i32;)*
            $(const $address: usize;)*
            $(const $layout: usize;)*

            /// The received size in bytes, from the private part of a status. `None` if the ABI does not
            /// disclose that part or if the slice is shorter than a status. Libraries do not guarantee the
            /// layout of the private part: compare the result once with `MPI_Get_count` before relying on it.
            fn status_bytes(status: &[u8]) -> Option<u64>;

            /// Whether the operation was cancelled, from the private part of a status, like
            /// [`status_bytes`](Abi::status_bytes).
            fn status_cancelled(status: &[u8]) -> Option<bool>;
        }
    };
}

macro_rules! implement {
    (
        ($abi:ident, $module:ident, $kind:ident, $handle:ty, $bytes:path, $cancelled:path)
        ints { $($int:ident = $mpi_int:ident;)* }
        addresses { $($address:ident = $mpi_address:ident;)* }
        layout { $($layout:ident = $mpi_layout:ident;)* }
    ) => {
        impl Abi for $abi {
            const CODE: AbiKind = AbiKind::$kind;
            type Handle = $handle;
            $(const $int: i32 = int($module::$mpi_int);)*
            $(const $address: usize = $module::$mpi_address as usize;)*
            $(const $layout: usize = $module::$mpi_layout as usize;)*

            #[inline]
            fn status_bytes(status: &[u8]) -> Option<u64> {
                $bytes(status.get(..Self::STATUS_SIZE)?)
            }

            fn status_cancelled(status: &[u8]) -> Option<bool> {
                $cancelled(status.get(..Self::STATUS_SIZE)?)
            }
        }
    };
}

/// Converts to C's `int`. Evaluated only at compile time, where a value that does not fit stops the build.
const fn int(value: i64) -> i32 {
    assert!(value >= i32::MIN as i64 && value <= i32::MAX as i64);
    value as i32
}

/// The ABI of MPI 5.0.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

/// MPICH's ABI.
#[derive(Clone, Copy, Debug)]
pub struct Mpich;

/// Open MPI's ABI.
#[derive(Clone, Copy, Debug)]
pub struct OpenMpi;

with_constants! { define () }
with_constants! { implement (Standard, standard, STANDARD, usize, secret, secret) }
with_constants! { implement (Mpich, mpich, MPICH, i32, mpich_bytes, mpich_cancelled) }
with_constants! { implement (OpenMpi, openmpi, OPENMPI, usize, openmpi_bytes, openmpi_cancelled) }

const _: () = assert!(size_of::<<Standard as Abi>::Handle>() == Standard::HANDLE_SIZE);
const _: () = assert!(size_of::<<Mpich as Abi>::Handle>() == Mpich::HANDLE_SIZE);
const _: () = assert!(size_of::<<OpenMpi as Abi>::Handle>() == OpenMpi::HANDLE_SIZE);

/// The standard ABI does not disclose its private part.
fn secret<T>(_: &[u8]) -> Option<T> {
    None
}

#[inline]
fn word<const N: usize>(status: &[u8], at: usize) -> Option<[u8; N]> {
    status.get(at..at + N)?.try_into().ok()
}

/// `count_lo` is at 0, `count_hi_and_cancelled` at 4, with the flag in bit 0.
#[inline]
fn mpich_bytes(status: &[u8]) -> Option<u64> {
    let low = u32::from_ne_bytes(word(status, 0)?);
    let high = u32::from_ne_bytes(word(status, 4)?);
    Some(u64::from(high >> 1) << 32 | u64::from(low))
}

fn mpich_cancelled(status: &[u8]) -> Option<bool> {
    Some(u32::from_ne_bytes(word(status, 4)?) & 1 == 1)
}

/// `int _cancelled` is at 12, `size_t _ucount` at 16.
#[inline]
fn openmpi_bytes(status: &[u8]) -> Option<u64> {
    word(status, 16).map(u64::from_ne_bytes)
}

fn openmpi_cancelled(status: &[u8]) -> Option<bool> {
    word(status, 12).map(|w| i32::from_ne_bytes(w) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpich_handle_with_its_top_bit_set_is_not_sign_extended() {
        let pair_type = i32::from_raw(0x8c00_0001);
        assert_eq!(pair_type.raw(), 0x8c00_0001);
        assert_eq!(i32::from_raw(0xffff_ffff_4400_0000), 0x4400_0000);
    }

    #[test]
    fn byte_counts_above_4_gib_are_assembled_from_both_halves() {
        let mut status = [0u8; 20];
        status[..4].copy_from_slice(&7u32.to_ne_bytes());
        status[4..8].copy_from_slice(&(3u32 << 1 | 1).to_ne_bytes());
        assert_eq!(Mpich::status_bytes(&status), Some((3 << 32) + 7));
        assert_eq!(Mpich::status_cancelled(&status), Some(true));
        assert_eq!(Mpich::status_bytes(&status[..19]), None);
    }

    #[test]
    fn the_standard_abi_does_not_reveal_the_count() {
        assert_eq!(Standard::status_bytes(&[0; 32]), None);
        let mut status = [0u8; 24];
        status[16..].copy_from_slice(&(5u64 << 33).to_ne_bytes());
        assert_eq!(OpenMpi::status_bytes(&status), Some(5 << 33));
        assert_eq!(OpenMpi::status_cancelled(&status), Some(false));
    }
}
