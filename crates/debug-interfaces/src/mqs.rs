//! The message queue interface (`mqs_*`): the callbacks that a debugger passes to a plug-in, and the records
//! it gets back.
//!
//! Names, order and sizes are those of the published headers (interface compatibility 2, without the MPI-2
//! part). Numbers that cross the boundary are plain integers with constants, because unknown values occur.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};
use std::mem::{offset_of, size_of};

/// An address in the target (`mqs_taddr_t`).
pub type TAddr = c_ulong;
/// A signed word of the target (`mqs_tword_t`).
pub type TWord = c_long;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _opaque: [u8; 0],
        }
    )*};
}

opaque! {
    /// The debugger's executable image.
    MqsImage;
    /// The debugger's process.
    MqsProcess;
    /// The debugger's description of a type.
    MqsType;
    /// A plug-in's state for an image.
    ImageInfo;
    /// A plug-in's state for a process.
    ProcessInfo;
}

/// The result of `mqs_version_compatibility`.
pub const INTERFACE_COMPATIBILITY: c_int = 2;
/// A rank that does not exist.
pub const INVALID_PROCESS: c_int = -1;

/// Success.
pub const OK: c_int = 0;
/// The information is not available.
pub const NO_INFORMATION: c_int = 1;
/// The iterator is exhausted.
pub const END_OF_LIST: c_int = 2;
/// First code that the plug-in or the debugger may define.
pub const FIRST_USER_CODE: c_int = 100;

/// `mqs_op_class`: incomplete sends.
pub const PENDING_SENDS: c_int = 0;
/// `mqs_op_class`: incomplete receives.
pub const PENDING_RECEIVES: c_int = 1;
/// `mqs_op_class`: messages that arrived before their receive.
pub const UNEXPECTED_MESSAGES: c_int = 2;

/// `mqs_status`: not matched.
pub const ST_PENDING: c_int = 0;
/// `mqs_status`: matched.
pub const ST_MATCHED: c_int = 1;
/// `mqs_status`: complete.
pub const ST_COMPLETE: c_int = 2;

/// Sizes of the target's types in bytes. The specification has five fields, one implementation's header
/// seven; a plug-in therefore makes room for seven and reads five.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TargetTypeSizes {
    pub short_size: c_int,
    pub int_size: c_int,
    pub long_size: c_int,
    pub long_long_size: c_int,
    pub pointer_size: c_int,
}

/// Callbacks that need no process (`mqs_basic_callbacks`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct BasicCallbacks {
    pub malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub dprints: Option<unsafe extern "C" fn(*const c_char)>,
    pub errorstring: Option<unsafe extern "C" fn(c_int) -> *mut c_char>,
    pub put_image_info: Option<unsafe extern "C" fn(*mut MqsImage, *mut ImageInfo)>,
    pub get_image_info: Option<unsafe extern "C" fn(*mut MqsImage) -> *mut ImageInfo>,
    pub put_process_info: Option<unsafe extern "C" fn(*mut MqsProcess, *mut ProcessInfo)>,
    pub get_process_info: Option<unsafe extern "C" fn(*mut MqsProcess) -> *mut ProcessInfo>,
}

/// Callbacks about an executable image (`mqs_image_callbacks`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ImageCallbacks {
    pub get_type_sizes: Option<unsafe extern "C" fn(*mut MqsProcess, *mut TargetTypeSizes)>,
    pub find_function: Option<unsafe extern "C" fn(*mut MqsImage, *mut c_char, c_uchar, *mut TAddr) -> c_int>,
    pub find_symbol: Option<unsafe extern "C" fn(*mut MqsImage, *mut c_char, *mut TAddr) -> c_int>,
    pub find_type: Option<unsafe extern "C" fn(*mut MqsImage, *mut c_char, c_uchar) -> *mut MqsType>,
    pub field_offset: Option<unsafe extern "C" fn(*mut MqsType, *mut c_char) -> c_int>,
    pub sizeof_type: Option<unsafe extern "C" fn(*mut MqsType) -> c_int>,
}

/// Callbacks about a process (`mqs_process_callbacks`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ProcessCallbacks {
    pub get_global_rank: Option<unsafe extern "C" fn(*mut MqsProcess) -> c_int>,
    pub get_image: Option<unsafe extern "C" fn(*mut MqsProcess) -> *mut MqsImage>,
    pub fetch_data: Option<unsafe extern "C" fn(*mut MqsProcess, TAddr, c_int, *mut c_void) -> c_int>,
    pub target_to_host: Option<unsafe extern "C" fn(*mut MqsProcess, *const c_void, *mut c_void, c_int)>,
}

/// A communicator (`mqs_communicator`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Communicator {
    pub unique_id: TAddr,
    pub local_rank: TWord,
    pub size: TWord,
    pub name: [c_char; 64],
}

/// A pending operation (`mqs_pending_operation`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct PendingOperation {
    pub status: c_int,
    pub desired_local_rank: TWord,
    pub desired_global_rank: TWord,
    pub tag_wild: c_int,
    pub desired_tag: TWord,
    pub desired_length: TWord,
    pub system_buffer: c_int,
    pub buffer: TAddr,
    pub actual_local_rank: TWord,
    pub actual_global_rank: TWord,
    pub actual_tag: TWord,
    pub actual_length: TWord,
    pub extra_text: [[c_char; 64]; 5],
}

impl Default for Communicator {
    fn default() -> Self {
        Self { unique_id: 0, local_rank: 0, size: 0, name: [0; 64] }
    }
}

impl Default for PendingOperation {
    fn default() -> Self {
        Self {
            status: ST_PENDING,
            desired_local_rank: 0,
            desired_global_rank: 0,
            tag_wild: 0,
            desired_tag: 0,
            desired_length: 0,
            system_buffer: 0,
            buffer: 0,
            actual_local_rank: 0,
            actual_global_rank: 0,
            actual_tag: 0,
            actual_length: 0,
            extra_text: [[0; 64]; 5],
        }
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<TargetTypeSizes>() == 20);
    assert!(size_of::<BasicCallbacks>() == 64);
    assert!(size_of::<ImageCallbacks>() == 48);
    assert!(size_of::<ProcessCallbacks>() == 32);
    assert!(size_of::<Communicator>() == 88);
    assert!(offset_of!(Communicator, size) == 16);
    assert!(offset_of!(Communicator, name) == 24);
    assert!(size_of::<PendingOperation>() == 416);
    assert!(offset_of!(PendingOperation, tag_wild) == 24);
    assert!(offset_of!(PendingOperation, buffer) == 56);
    assert!(offset_of!(PendingOperation, actual_length) == 88);
    assert!(offset_of!(PendingOperation, extra_text) == 96);
};
