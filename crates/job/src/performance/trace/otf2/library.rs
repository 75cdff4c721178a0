//! The OTF2 library, loaded at run time if installed: nothing is linked against it.
//!
//! Names and types of its functions are those of version 3 (`libotf2.so.10`); each is declared once, with its
//! arguments.
#![allow(unsafe_code)]

use super::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;

/// Names used upstream and by distributions.
const NAMES: [&CStr; 2] = [c"libotf2.so.10", c"libopen-trace-format2.so.10"];
/// Debian's package name.
const PACKAGE: &str = "libopen-trace-format2-10";

/// A library object.
pub type Handle = *mut c_void;
/// Return code: zero for success.
pub type Code = c_int;

/// Asked whether to write a full buffer.
type PreFlush = unsafe extern "C" fn(Handle, u8, u64, Handle, bool) -> u8;
/// Asked for the time of the flush.
type PostFlush = unsafe extern "C" fn(Handle, u8, u64) -> u64;

/// `OTF2_FlushCallbacks`.
#[repr(C)]
pub struct FlushCallbacks {
    pre: PreFlush,
    post: Option<PostFlush>,
}

const _: () = assert!(size_of::<FlushCallbacks>() == 2 * size_of::<usize>());

/// Writes full buffers without recording the flush as an event of the trace.
pub static FLUSH: FlushCallbacks = FlushCallbacks { pre: flush, post: None };

unsafe extern "C" fn flush(_: Handle, _: u8, _: u64, _: Handle, _: bool) -> u8 {
    1
}

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The library functions in use.
        pub struct Library {
            $(#[doc = concat!("`OTF2_", $name, "`")] pub $field: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Library {
            /// Loads the library.
            ///
            /// # Errors
            /// If it is not installed, or in another version.
            pub fn load() -> Result<Self, Error> {
                let object = open()?;
                Ok(Self {
                    $($field: {
                        let found = symbol(object, concat!("OTF2_", $name))?;
                        // SAFETY: since version 3.0 the library has this function with these arguments and
                        // this return type, and it is never unloaded.
                        unsafe {
                            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($argument),*) $(-> $answer)?>(found)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    archive = "Archive_Open": fn(*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Handle;
    close = "Archive_Close": fn(Handle) -> Code;
    creator = "Archive_SetCreator": fn(Handle, *const c_char) -> Code;
    flush = "Archive_SetFlushCallbacks": fn(Handle, *const FlushCallbacks, Handle) -> Code;
    serial = "Archive_SetSerialCollectiveCallbacks": fn(Handle) -> Code;
    open_events = "Archive_OpenEvtFiles": fn(Handle) -> Code;
    close_events = "Archive_CloseEvtFiles": fn(Handle) -> Code;
    writer = "Archive_GetEvtWriter": fn(Handle, u64) -> Handle;
    close_writer = "Archive_CloseEvtWriter": fn(Handle, Handle) -> Code;
    open_definitions = "Archive_OpenDefFiles": fn(Handle) -> Code;
    close_definitions = "Archive_CloseDefFiles": fn(Handle) -> Code;
    local = "Archive_GetDefWriter": fn(Handle, u64) -> Handle;
    close_local = "Archive_CloseDefWriter": fn(Handle, Handle) -> Code;
    global = "Archive_GetGlobalDefWriter": fn(Handle) -> Handle;
    close_global = "Archive_CloseGlobalDefWriter": fn(Handle, Handle) -> Code;
    attributes = "AttributeList_New": fn() -> Handle;
    delete_attributes = "AttributeList_Delete": fn(Handle) -> Code;
    add_string = "AttributeList_AddStringRef": fn(Handle, u32, u32) -> Code;
    enter = "EvtWriter_Enter": fn(Handle, Handle, u64, u32) -> Code;
    leave = "EvtWriter_Leave": fn(Handle, Handle, u64, u32) -> Code;
    send = "EvtWriter_MpiSend": fn(Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    isend = "EvtWriter_MpiIsend": fn(Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    isend_complete = "EvtWriter_MpiIsendComplete": fn(Handle, Handle, u64, u64) -> Code;
    irecv_request = "EvtWriter_MpiIrecvRequest": fn(Handle, Handle, u64, u64) -> Code;
    recv = "EvtWriter_MpiRecv": fn(Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    irecv = "EvtWriter_MpiIrecv": fn(Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    collective_begin = "EvtWriter_MpiCollectiveBegin": fn(Handle, Handle, u64) -> Code;
    collective_end = "EvtWriter_MpiCollectiveEnd": fn(Handle, Handle, u64, u8, u32, u32, u64, u64) -> Code;
    define_clock = "GlobalDefWriter_WriteClockProperties": fn(Handle, u64, u64, u64, u64) -> Code;
    define_string = "GlobalDefWriter_WriteString": fn(Handle, u32, *const c_char) -> Code;
    define_attribute = "GlobalDefWriter_WriteAttribute": fn(Handle, u32, u32, u32, u8) -> Code;
    define_node = "GlobalDefWriter_WriteSystemTreeNode": fn(Handle, u32, u32, u32, u32) -> Code;
    define_group_of_locations = "GlobalDefWriter_WriteLocationGroup": fn(Handle, u32, u32, u8, u32, u32) -> Code;
    define_location = "GlobalDefWriter_WriteLocation": fn(Handle, u64, u32, u8, u64, u32) -> Code;
    define_region = "GlobalDefWriter_WriteRegion": fn(Handle, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> Code;
    define_group = "GlobalDefWriter_WriteGroup": fn(Handle, u32, u32, u8, u8, u32, u32, *const u64) -> Code;
    define_comm = "GlobalDefWriter_WriteComm": fn(Handle, u32, u32, u32, u32, u32) -> Code;
    describe = "Error_GetDescription": fn(Code) -> *const c_char;
}

fn open() -> Result<NonNull<c_void>, Error> {
    for name in NAMES {
        // SAFETY: the name is a null-terminated string; constructors of the library may run here.
        let object = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if let Some(object) = NonNull::new(object) {
            return Ok(object);
        }
    }
    Err(Error::new(format!(
        "this needs the OTF2 library (libotf2.so.10), which was not found; on Debian, install {PACKAGE}"
    )))
}

fn symbol(object: NonNull<c_void>, name: &str) -> Result<NonNull<c_void>, Error> {
    let missing = || Error::new(format!("the OTF2 library has no {name}: version 3 is needed"));
    let text = CString::new(name).map_err(|_| missing())?;
    // SAFETY: the object is a loaded library, and the name a null-terminated string.
    NonNull::new(unsafe { libc::dlsym(object.as_ptr(), text.as_ptr()) }).ok_or_else(missing)
}
