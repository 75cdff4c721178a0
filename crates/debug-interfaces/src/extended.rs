//! Extends the published handle interface to everything that it does not cover, in the same style:
//! `include/mpiscope/mpihandles.h` is the C equivalent.
//!
//! Every structure begins with [`Object`], whose first field is the size of the whole structure: fields are
//! only ever added at the end, and a reader must not look beyond that size. Counts are never used as codes;
//! unknown values are marked by a bit or a null pointer. A list is one block from `mqs_malloc_fp`; texts
//! referenced by a list are in the same block.

use crate::handles::ProcessId;
use crate::mqs::TAddr;
use std::ffi::{c_char, c_int};
use std::mem::{offset_of, size_of};

/// Size of names, including the terminating NUL.
pub const NAME: usize = 128;
/// Size of words: functions, constructors, flavors.
pub const WORD: usize = 48;
/// Size of file names.
pub const FILENAME: usize = 1024;

/// Kinds of objects: [`Object::obj_kind`], [`Reference::ref_kind`].
#[allow(missing_docs)]
pub mod kind {
    use std::ffi::c_int;
    pub const NONE: c_int = 0;
    pub const COMM: c_int = 1;
    pub const GROUP: c_int = 2;
    pub const DATATYPE: c_int = 3;
    pub const REQUEST: c_int = 4;
    pub const MESSAGE: c_int = 5;
    pub const OP: c_int = 6;
    pub const ERRHANDLER: c_int = 7;
    pub const INFO: c_int = 8;
    pub const FILE: c_int = 9;
    pub const WIN: c_int = 10;
    pub const SESSION: c_int = 11;
    pub const KEYVAL: c_int = 12;
    pub const STATUS: c_int = 13;
}

/// Bits of [`Object::obj_bitflags`].
#[allow(missing_docs)]
pub mod flag {
    pub const PREDEFINED: u32 = 1 << 0;
    /// The null handle of its kind.
    pub const NULL: u32 = 1 << 1;
    /// The program has freed the handle.
    pub const FREED_HANDLE: u32 = 1 << 2;
    /// The object no longer exists.
    pub const FREED_OBJECT: u32 = 1 << 3;
    /// `obj_fortran_handle` is valid.
    pub const FORTRAN_HANDLE: u32 = 1 << 4;
    /// A list was truncated.
    pub const CUT: u32 = 1 << 5;
    /// Parts are unknown.
    pub const INCOMPLETE: u32 = 1 << 6;
    /// The object kept changing while it was read.
    pub const TORN: u32 = 1 << 7;
    pub const FORTRAN_CALLBACK: u32 = 1 << 8;
    pub const COMMITTED: u32 = 1 << 9;
    pub const COMMUTATIVE: u32 = 1 << 10;
    pub const PERSISTENT: u32 = 1 << 11;
    pub const STARTED: u32 = 1 << 12;
    pub const ACTIVE: u32 = 1 << 13;
    pub const COMPLETE: u32 = 1 << 14;
    pub const CANCELLED: u32 = 1 << 15;
    /// The library returned this handle for several objects.
    pub const SHARED_HANDLE: u32 = 1 << 16;
    /// The bounds were reported by the library rather than computed.
    pub const BOUNDS_STATED: u32 = 1 << 17;
    pub const ATOMIC: u32 = 1 << 18;
    pub const INTER: u32 = 1 << 19;
    /// The tag is a wildcard.
    pub const ANY_TAG: u32 = 1 << 20;
    /// The source is a wildcard.
    pub const ANY_SOURCE: u32 = 1 << 21;
    /// This process is not a member.
    pub const NOT_MEMBER: u32 = 1 << 22;
    /// `sx_bytes` and `CANCELLED` are valid.
    pub const BYTES_KNOWN: u32 = 1 << 23;
}

/// The header of all structures (`mpidbg_object_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Object {
    pub obj_struct_size: u32,
    pub obj_bitflags: u32,
    pub obj_kind: c_int,
    pub obj_fortran_handle: c_int,
    pub obj_c_handle: TAddr,
    pub obj_uid: u64,
    pub obj_identity: u64,
    pub obj_parent: Reference,
    pub obj_name: [c_char; NAME],
    pub obj_created_by: [c_char; WORD],
    pub obj_created_from: TAddr,
    /// In nanoseconds since the image was created.
    pub obj_created_ns: u64,
    pub obj_freed_by: [c_char; WORD],
    pub obj_freed_from: TAddr,
    pub obj_freed_ns: u64,
}

/// A reference to another object (`mpidbg_reference_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reference {
    /// `NONE` for no object.
    pub ref_kind: c_int,
    _reserved: c_int,
    pub ref_handle: TAddr,
    pub ref_uid: u64,
}

impl Reference {
    /// Creates a reference.
    pub const fn new(kind: c_int, handle: TAddr, uid: u64) -> Self {
        Self { ref_kind: kind, _reserved: 0, ref_handle: handle, ref_uid: uid }
    }
}

macro_rules! list {
    ($($(#[$doc:meta])* $name:ident $of:ty;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs)]
        pub struct $name {
            pub count: u64,
            pub items: *mut $of,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { count: 0, items: std::ptr::null_mut() }
            }
        }

        impl From<(u64, *mut $of)> for $name {
            fn from((count, items): (u64, *mut $of)) -> Self {
                Self { count, items }
            }
        }
    )*};
}

list! {
    /// `mpidbg_reference_list_t`.
    References Reference;
    /// `mpidbg_int_list_t`.
    Ints i64;
    /// `mpidbg_process_list_t`.
    Processes ProcessId;
    /// `mpidbg_key_value_list_t`.
    KeyValues KeyValue;
    /// `mpidbg_attribute_list_t`.
    Attributes Attribute;
    /// `mpidbg_argument_list_t`.
    Arguments Argument;
    /// `mpidbg_type_run_list_t`.
    TypeRuns TypeRun;
    /// `mpidbg_type_hole_list_t`.
    TypeHoles TypeHole;
    /// `mpidbg_lock_list_t`.
    Locks Lock;
    /// `mpidbg_call_list_t`.
    Calls Call;
}

/// A key and its value (`mpidbg_key_value_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct KeyValue {
    pub key: *mut c_char,
    pub value: *mut c_char,
}

/// An attribute (`mpidbg_attribute_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Attribute {
    pub attr_keyval: i64,
    pub attr_keyval_uid: u64,
    pub attr_value: TAddr,
    pub attr_name: [c_char; WORD],
}

/// An argument of a constructor (`mpidbg_argument_t`): a number if `arg_count` is 1 and `arg_is_array` 0.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Argument {
    pub arg_name: [c_char; WORD],
    pub arg_is_array: i64,
    pub arg_count: u64,
    /// Index of the first value in `dt_values`.
    pub arg_first: u64,
}

/// Contiguous elements of a basic type (`mpidbg_type_run_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct TypeRun {
    pub run_type: [c_char; WORD],
    pub run_displacement: i64,
    pub run_count: u64,
    pub run_size: u64,
}

/// Bytes within the bounds that are not data (`mpidbg_type_hole_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct TypeHole {
    pub hole_displacement: i64,
    pub hole_length: u64,
}

/// A lock that is held (`mpidbg_lock_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Lock {
    pub lock_target: c_int,
    pub lock_exclusive: c_int,
}

/// A call that a thread is currently in (`mpidbg_call_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Call {
    pub call_function: [c_char; WORD],
    /// Return address of the call.
    pub call_from: TAddr,
    /// In nanoseconds since the image was created.
    pub call_ns: u64,
    pub call_tid: c_int,
    pub call_reserved: c_int,
}

/// Calls on an object (`mpidbg_calls_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CallsInfo {
    pub calls_struct_size: u32,
    pub calls_reserved: u32,
    pub calls: Calls,
}

/// Communicator properties missing from the published structure (`mpidbg_comm_extra_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct CommExtra {
    pub object: Object,
    pub cx_rank: c_int,
    pub cx_size: c_int,
    pub cx_remote_size: c_int,
    pub cx_has_dist_graph: c_int,
    pub cx_collectives: u64,
    pub cx_colour: i64,
    pub cx_errhandler: Reference,
    pub cx_info: Reference,
    pub cx_other_parent: Reference,
    pub cx_local: Processes,
    pub cx_remote: Processes,
    pub cx_cart_coords: Ints,
    /// With its true length.
    pub cx_graph_edges: Ints,
    pub cx_sources: Ints,
    pub cx_source_weights: Ints,
    pub cx_destinations: Ints,
    pub cx_destination_weights: Ints,
    pub cx_attributes: Attributes,
    pub cx_groups: References,
    pub cx_requests: References,
    pub cx_windows: References,
    pub cx_files: References,
    /// Of the info last passed, as at that time.
    pub cx_info_pairs: KeyValues,
}

/// A group (`mpidbg_group_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct GroupInfo {
    pub object: Object,
    /// −1 if not a member.
    pub group_rank: c_int,
    pub group_size: c_int,
    pub group_procs: Processes,
    pub group_comms: References,
}

/// A datatype (`mpidbg_datatype_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct DatatypeInfo {
    pub object: Object,
    pub dt_combiner: [c_char; WORD],
    /// The corresponding type in C or Fortran, for a predefined type.
    pub dt_meaning: [c_char; WORD],
    pub dt_size: u64,
    pub dt_lb: i64,
    pub dt_extent: i64,
    pub dt_arguments: Arguments,
    pub dt_values: Ints,
    pub dt_datatypes: References,
    pub dt_runs: TypeRuns,
    pub dt_holes: TypeHoles,
    pub dt_attributes: Attributes,
    pub dt_used_by: References,
    pub dt_requests: References,
}

/// A request (`mpidbg_request_extra_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct RequestExtra {
    pub object: Object,
    /// `point-to-point`, `file`, `generalised`, `collective`, `one-sided`.
    pub rx_class: [c_char; WORD],
    pub rx_operation: [c_char; WORD],
    pub rx_of: Reference,
    pub rx_datatype: Reference,
    pub rx_peer: i64,
    pub rx_tag: i64,
    pub rx_count: u64,
    pub rx_buffer: TAddr,
    pub rx_started_from: TAddr,
    pub rx_started_ns: u64,
    pub rx_completed_from: TAddr,
    pub rx_completed_ns: u64,
    pub rx_actual_source: i64,
    pub rx_actual_tag: i64,
    pub rx_bytes: u64,
    pub rx_starts: u64,
    pub rx_send_dest: i64,
    pub rx_send_tag: i64,
    pub rx_error: c_int,
    pub rx_partitions: c_int,
    /// The operation of a reduction or accumulate.
    pub rx_reduction: Reference,
}

/// A matched message (`mpidbg_message_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct MessageInfo {
    pub object: Object,
    pub msg_comm: Reference,
    pub msg_source: i64,
    pub msg_tag: i64,
    pub msg_bytes: u64,
}

/// An operation (`mpidbg_op_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct OpInfo {
    pub object: Object,
    pub op_function: TAddr,
    pub op_requests: References,
}

/// Error handler properties missing from the published structure (`mpidbg_errhandler_extra_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ErrhandlerExtra {
    pub object: Object,
    pub ex_function: TAddr,
    /// The kind that it may be attached to; `NONE` for any.
    pub ex_of: c_int,
    pub ex_reserved: c_int,
    pub ex_attached: References,
}

/// An info object (`mpidbg_info_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct InfoInfo {
    pub object: Object,
    pub info_pairs: KeyValues,
    pub info_used_by: References,
}

/// A file (`mpidbg_file_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct FileInfo {
    pub object: Object,
    pub file_name: [c_char; FILENAME],
    /// As bits defined by the ABI.
    pub file_amode: c_int,
    pub file_reserved: c_int,
    /// As names: `MPI_MODE_CREATE|MPI_MODE_RDWR`.
    pub file_mode: [c_char; NAME],
    pub file_comm: Reference,
    pub file_info: Reference,
    pub file_errhandler: Reference,
    pub file_view_displacement: u64,
    pub file_view_etype: Reference,
    pub file_view_filetype: Reference,
    pub file_view_datarep: [c_char; WORD],
    pub file_info_pairs: KeyValues,
    pub file_requests: References,
    /// Data access requested by this process in calls that succeeded.
    pub file_reads: u64,
    pub file_read_bytes: u64,
    pub file_writes: u64,
    pub file_written_bytes: u64,
    /// Time in these calls; zero if times are not recorded.
    pub file_access_ns: u64,
}

/// A window (`mpidbg_window_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct WindowInfo {
    pub object: Object,
    pub win_comm: Reference,
    pub win_info: Reference,
    pub win_errhandler: Reference,
    pub win_base: TAddr,
    pub win_size: u64,
    pub win_displacement_unit: u64,
    pub win_flavour: [c_char; WORD],
    pub win_model: [c_char; WORD],
    /// Bits: fence 1, start 2, post 4, lock 8, lock_all 16.
    pub win_epochs: u32,
    pub win_reserved: u32,
    pub win_last_sync: [c_char; WORD],
    pub win_last_sync_from: TAddr,
    pub win_last_sync_ns: u64,
    pub win_locks: Locks,
    pub win_start_procs: Processes,
    pub win_post_procs: Processes,
    /// Address and size in bytes, alternating.
    pub win_attached: Ints,
    pub win_puts: u64,
    pub win_gets: u64,
    pub win_accumulates: u64,
    pub win_pending: u64,
    pub win_info_pairs: KeyValues,
    pub win_attributes: Attributes,
    pub win_requests: References,
}

/// A session (`mpidbg_session_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct SessionInfo {
    pub object: Object,
    pub session_info: Reference,
    pub session_errhandler: Reference,
    pub session_groups: References,
    pub session_info_pairs: KeyValues,
}

/// An attribute key (`mpidbg_keyval_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct KeyvalInfo {
    pub object: Object,
    pub kv_keyval: c_int,
    /// The kind that it applies to.
    pub kv_of: c_int,
    pub kv_copy_function: TAddr,
    pub kv_delete_function: TAddr,
    pub kv_extra_state: TAddr,
}

/// A status (`mpidbg_status_extra_info_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct StatusExtra {
    pub sx_struct_size: u32,
    /// Bits of [`flag`]: `BYTES_KNOWN`, `CANCELLED`.
    pub sx_bitflags: u32,
    pub sx_address: TAddr,
    pub sx_source: c_int,
    pub sx_tag: c_int,
    pub sx_error: c_int,
    pub sx_reserved: c_int,
    pub sx_bytes: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Reference>() == 24);
    assert!(size_of::<References>() == 16);
    assert!(size_of::<Object>() == 320);
    assert!(offset_of!(Object, obj_c_handle) == 16);
    assert!(offset_of!(Object, obj_parent) == 40);
    assert!(offset_of!(Object, obj_name) == 64);
    assert!(offset_of!(Object, obj_created_by) == 192);
    assert!(offset_of!(Object, obj_freed_by) == 256);
    assert!(size_of::<Attribute>() == 72);
    assert!(size_of::<Argument>() == 72);
    assert!(size_of::<TypeRun>() == 72);
    assert!(offset_of!(CommExtra, cx_local) == 424);
    assert!(size_of::<CommExtra>() == 648);
    assert!(size_of::<GroupInfo>() == 360);
    assert!(offset_of!(DatatypeInfo, dt_size) == 416);
    assert!(size_of::<DatatypeInfo>() == 568);
    assert!(offset_of!(RequestExtra, rx_peer) == 464);
    assert!(size_of::<RequestExtra>() == 608);
    assert!(size_of::<MessageInfo>() == 368);
    assert!(size_of::<OpInfo>() == 344);
    assert!(size_of::<ErrhandlerExtra>() == 352);
    assert!(size_of::<InfoInfo>() == 352);
    assert!(offset_of!(FileInfo, file_comm) == 1480);
    assert!(size_of::<FileInfo>() == 1728);
    assert!(offset_of!(WindowInfo, win_base) == 392);
    assert!(size_of::<WindowInfo>() == 728);
    assert!(size_of::<SessionInfo>() == 400);
    assert!(size_of::<KeyvalInfo>() == 352);
    assert!(size_of::<StatusExtra>() == 40);
    assert!(size_of::<Call>() == 72);
    assert!(size_of::<CallsInfo>() == 24);
};
