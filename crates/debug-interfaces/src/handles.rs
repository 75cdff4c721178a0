//! The handle interface (`mpidbg_*`) as published in 2008, also called generation A.
//!
//! Two later drafts have the same version number and function names, but different parameters; this module is
//! the version in Open MPI's releases. Its only variable size is the length of names: [`CommInfo`] and
//! [`ErrhandlerInfo`] have it as a parameter, 64 for Open MPI and 128 for MPICH and the standard ABI.

use crate::mqs::{MqsType, TAddr};
use std::ffi::{c_char, c_int};
use std::mem::{offset_of, size_of};

/// The result of `mpidbg_interface_version_compatibility`.
pub const INTERFACE_VERSION: c_int = 1;

/// `mpidbg_return_codes_t`.
#[allow(missing_docs)]
pub mod code {
    use std::ffi::c_int;
    pub const SUCCESS: c_int = 0;
    /// No such object.
    pub const NOT_FOUND: c_int = 1;
    /// The plug-in does not support this.
    pub const NOT_SUPPORTED: c_int = 2;
    /// An argument is invalid.
    pub const OUT_OF_RANGE: c_int = 3;
    /// The plug-in supports this, but not for this process or not now.
    pub const UNAVAILABLE: c_int = 4;
    /// The debugger has no memory.
    pub const NO_MEM: c_int = 5;

    /// Returns the name of a code.
    pub fn name(code: c_int) -> Option<&'static str> {
        let names = [
            "MPIDBG_SUCCESS",
            "MPIDBG_ERR_NOT_FOUND",
            "MPIDBG_ERR_NOT_SUPPORTED",
            "MPIDBG_ERR_OUT_OF_RANGE",
            "MPIDBG_ERR_UNAVAILABLE",
            "MPIDBG_ERR_NO_MEM",
        ];
        usize::try_from(code).ok().and_then(|code| names.get(code).copied())
    }
}

/// Capabilities for communicators.
#[allow(missing_docs)]
pub mod comm_cap {
    pub const BASIC: u32 = 0x01;
    pub const STRING_NAMES: u32 = 0x02;
    pub const FREED_HANDLE: u32 = 0x04;
    pub const FREED_OBJECT: u32 = 0x08;
    pub const REQUEST_LIST: u32 = 0x10;
    pub const WINDOW_LIST: u32 = 0x20;
    pub const FILE_LIST: u32 = 0x40;
}

/// Bits of [`CommInfo::comm_bitflags`].
#[allow(missing_docs)]
pub mod comm_flag {
    pub const PREDEFINED: u32 = 0x01;
    pub const CARTESIAN: u32 = 0x02;
    pub const GRAPH: u32 = 0x04;
    pub const TOPO_REORDERED: u32 = 0x08;
    pub const INTERCOMM: u32 = 0x10;
    pub const FREED_HANDLE: u32 = 0x20;
    pub const FREED_OBJECT: u32 = 0x40;
    pub const COMM_NULL: u32 = 0x80;
    pub const DIST_GRAPH: u32 = 0x400;
}

/// Capabilities for error handlers.
#[allow(missing_docs)]
pub mod errhandler_cap {
    pub const BASIC: u32 = 0x01;
    pub const STRING_NAMES: u32 = 0x02;
    pub const FREED_HANDLE: u32 = 0x04;
    pub const FREED_OBJECT: u32 = 0x08;
    pub const HANDLE_LIST: u32 = 0x10;
}

/// Bits of [`ErrhandlerInfo::eh_bitflags`].
#[allow(missing_docs)]
pub mod errhandler_flag {
    pub const PREDEFINED: u32 = 0x01;
    pub const COMMUNICATOR: u32 = 0x02;
    pub const FILE: u32 = 0x04;
    pub const WINDOW: u32 = 0x08;
    pub const C_CALLBACK: u32 = 0x10;
    pub const FREED_HANDLE: u32 = 0x20;
    pub const FREED_OBJECT: u32 = 0x40;
}

/// The only capability for requests and statuses.
pub const CAP_BASIC: u32 = 0x01;
/// The only flag of requests and statuses.
pub const FLAG_PREDEFINED: u32 = 0x01;

/// Types of handles (`mpidbg_handle_info_t`), which the plug-in fills in using the debugger's `find_type`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct HandleInfo {
    pub c_aint: *mut MqsType,
    pub c_comm: *mut MqsType,
    pub c_datatype: *mut MqsType,
    pub c_errhandler: *mut MqsType,
    pub c_file: *mut MqsType,
    pub c_group: *mut MqsType,
    pub c_info: *mut MqsType,
    pub c_offset: *mut MqsType,
    pub c_op: *mut MqsType,
    pub c_request: *mut MqsType,
    pub c_status: *mut MqsType,
    pub c_win: *mut MqsType,
    /// aint, comm, intracomm, intercomm, graphcomm, cartcomm, datatype, errhandler, file, group, info, offset, op,
    /// request, prequest, grequest, status, win.
    pub cxx: [*mut MqsType; 18],
}

/// A process (`mpidbg_process_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Rank in `MPI_COMM_WORLD`; negative (mpiscope's plug-in: −1) for a process outside of it.
    pub mpi_comm_world_rank: c_int,
}

/// A predefined handle (`mpidbg_name_map_t`); a map ends with a null name.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct NameMap {
    pub map_name: *mut c_char,
    pub map_handle: TAddr,
}

/// An attribute (`mpidbg_attribute_pair_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct AttributePair {
    pub keyval: c_int,
    pub keyval_name: *mut c_char,
    pub value: *mut c_char,
}

/// A communicator (`mpidbg_comm_info_t`); `N` is the length of names.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CommInfo<const N: usize> {
    pub comm_name: [c_char; N],
    pub comm_bitflags: u32,
    pub comm_rank: c_int,
    pub comm_size: c_int,
    pub comm_num_local_procs: c_int,
    pub comm_local_procs: *mut ProcessId,
    pub comm_num_remote_procs: c_int,
    pub comm_remote_procs: *mut ProcessId,
    pub comm_cart_num_dims: c_int,
    pub comm_cart_dims: *mut c_int,
    pub comm_cart_periods: *mut i8,
    pub comm_graph_num_nodes: c_int,
    pub comm_graph_index: *mut c_int,
    /// Has `comm_graph_index[comm_graph_num_nodes - 1]` entries.
    pub comm_graph_edges: *mut c_int,
    pub comm_c_handle: TAddr,
    pub comm_fortran_handle: c_int,
    pub comm_num_attrs: c_int,
    pub comm_attrs: *mut AttributePair,
    pub comm_num_pending_requests: c_int,
    pub comm_pending_requests: *mut TAddr,
    pub comm_num_derived_windows: c_int,
    pub comm_derived_windows: *mut TAddr,
    pub comm_num_derived_files: c_int,
    pub comm_derived_files: *mut TAddr,
}

/// An error handler (`mpidbg_errhandler_info_t`); `N` is the length of names.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ErrhandlerInfo<const N: usize> {
    pub eh_name: [c_char; N],
    pub eh_bitflags: u32,
    pub eh_c_handle: TAddr,
    pub eh_fortran_handle: c_int,
    /// Number of entries in `eh_handles`.
    pub eh_refcount: i16,
    pub eh_handles: *mut TAddr,
    pub eh_callback_func: TAddr,
}

/// A request (`mpidbg_request_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct RequestInfo {
    pub req_bitflags: u32,
    pub req_c_handle: TAddr,
    pub req_fortran_handle: c_int,
}

/// A status (`mpidbg_status_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct StatusInfo {
    pub status_bitflags: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<HandleInfo>() == 240);
    assert!(size_of::<ProcessId>() == 4);
    assert!(size_of::<NameMap>() == 16);
    assert!(size_of::<AttributePair>() == 24 && offset_of!(AttributePair, keyval_name) == 8);
    assert!(size_of::<RequestInfo>() == 24 && offset_of!(RequestInfo, req_fortran_handle) == 16);
    assert!(size_of::<StatusInfo>() == 4);
};

macro_rules! offsets {
    ($($name:expr),*) => {$(
        #[cfg(target_pointer_width = "64")]
        const _: () = {
            const MORE: usize = $name - 64;
            type C = CommInfo<$name>;
            assert!(size_of::<C>() == 224 + MORE);
            assert!(offset_of!(C, comm_bitflags) == 64 + MORE);
            assert!(offset_of!(C, comm_rank) == 68 + MORE);
            assert!(offset_of!(C, comm_size) == 72 + MORE);
            assert!(offset_of!(C, comm_num_local_procs) == 76 + MORE);
            assert!(offset_of!(C, comm_local_procs) == 80 + MORE);
            assert!(offset_of!(C, comm_num_remote_procs) == 88 + MORE);
            assert!(offset_of!(C, comm_remote_procs) == 96 + MORE);
            assert!(offset_of!(C, comm_cart_num_dims) == 104 + MORE);
            assert!(offset_of!(C, comm_cart_dims) == 112 + MORE);
            assert!(offset_of!(C, comm_cart_periods) == 120 + MORE);
            assert!(offset_of!(C, comm_graph_num_nodes) == 128 + MORE);
            assert!(offset_of!(C, comm_graph_index) == 136 + MORE);
            assert!(offset_of!(C, comm_graph_edges) == 144 + MORE);
            assert!(offset_of!(C, comm_c_handle) == 152 + MORE);
            assert!(offset_of!(C, comm_fortran_handle) == 160 + MORE);
            assert!(offset_of!(C, comm_num_attrs) == 164 + MORE);
            assert!(offset_of!(C, comm_attrs) == 168 + MORE);
            assert!(offset_of!(C, comm_num_pending_requests) == 176 + MORE);
            assert!(offset_of!(C, comm_pending_requests) == 184 + MORE);
            assert!(offset_of!(C, comm_num_derived_windows) == 192 + MORE);
            assert!(offset_of!(C, comm_derived_windows) == 200 + MORE);
            assert!(offset_of!(C, comm_num_derived_files) == 208 + MORE);
            assert!(offset_of!(C, comm_derived_files) == 216 + MORE);
            type E = ErrhandlerInfo<$name>;
            assert!(size_of::<E>() == 104 + MORE);
            assert!(offset_of!(E, eh_bitflags) == 64 + MORE);
            assert!(offset_of!(E, eh_c_handle) == 72 + MORE);
            assert!(offset_of!(E, eh_fortran_handle) == 80 + MORE);
            assert!(offset_of!(E, eh_refcount) == 84 + MORE);
            assert!(offset_of!(E, eh_handles) == 88 + MORE);
            assert!(offset_of!(E, eh_callback_func) == 96 + MORE);
        };
    )*};
}
offsets!(64, 128);
