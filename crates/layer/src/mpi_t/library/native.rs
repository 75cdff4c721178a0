//! The library's own functions of the interface, if it has them.
//!
//! Nothing that a tool passes reaches them unchecked. The depth is raised while one runs: MPI calls that the
//! library makes are not the program's.
#![allow(unsafe_code)]

use crate::interpose::resolver;
use crate::interpose::tls::Tls;
use crate::mpi_t::codes::codes;
use crate::mpi_t::raw_text;
use mpit::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// A handle, a session or an enumeration: one word in every library.
pub type Word = usize;

/// `MPI_T_event_cb_function`.
pub type EventFunction = unsafe extern "C" fn(Word, Word, c_int, *mut c_void);
/// `MPI_T_event_free_cb_function`.
pub type FreeFunction = unsafe extern "C" fn(Word, c_int, *mut c_void);
/// `MPI_T_event_dropped_cb_function`.
pub type DroppedFunction = unsafe extern "C" fn(i64, Word, c_int, c_int, *mut c_void);

macro_rules! functions {
    ($($name:ident ( $($p:ident: $t:ty),* );)*) => {
        /// Addresses of the functions; `None` for those that the library lacks.
        #[derive(Default)]
        struct Table { $($name: Option<unsafe extern "C" fn($($t),*) -> c_int>,)* }

        fn table() -> &'static Table {
            static TABLE: OnceLock<Table> = OnceLock::new();
            TABLE.get_or_init(|| Table {
                // SAFETY: the C types of these functions.
                $($name: find(stringify!($name)).map(|address| unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($t),*) -> c_int>(address)
                }),)*
            })
        }

        $(
            /// The library's function of this name.
            ///
            /// # Safety
            ///
            /// As the standard requires for the function's arguments.
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $name($($p: $t),*) -> Result<()> {
                let function = table().$name.ok_or(Error::NOT_SUPPORTED)?;
                // SAFETY: the caller's contract.
                inside(|| unsafe { function($($p),*) })
            }
        )*
    };
}

fn find(name: &str) -> Option<*mut c_void> {
    let symbol = |name: String| CString::new(name).ok().and_then(|name| resolver::symbol(&name));
    symbol(format!("PMPI_T_{name}")).or_else(|| symbol(format!("MPI_T_{name}")))
}

fn inside(call: impl FnOnce() -> c_int) -> Result<()> {
    let code = Tls::inside(call);
    if code == 0 { Ok(()) } else { Err(codes().error_of(code)) }
}

functions! {
    init_thread(required: c_int, provided: *mut c_int);
    cvar_get_num(num: *mut c_int);
    cvar_get_info(
        index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, datatype: *mut c_void,
        enumtype: *mut Word, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int, scope: *mut c_int);
    cvar_handle_alloc(index: c_int, object: *mut c_void, handle: *mut Word, count: *mut c_int);
    cvar_handle_free(handle: *mut Word);
    cvar_read(handle: Word, buffer: *mut c_void);
    cvar_write(handle: Word, buffer: *const c_void);
    pvar_get_num(num: *mut c_int);
    pvar_get_info(
        index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, class: *mut c_int,
        datatype: *mut c_void, enumtype: *mut Word, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int,
        readonly: *mut c_int, continuous: *mut c_int, atomic: *mut c_int);
    pvar_session_create(session: *mut Word);
    pvar_session_free(session: *mut Word);
    pvar_handle_alloc(session: Word, index: c_int, object: *mut c_void, handle: *mut Word, count: *mut c_int);
    pvar_handle_free(session: Word, handle: *mut Word);
    pvar_start(session: Word, handle: Word);
    pvar_stop(session: Word, handle: Word);
    pvar_read(session: Word, handle: Word, buffer: *mut c_void);
    pvar_write(session: Word, handle: Word, buffer: *const c_void);
    pvar_reset(session: Word, handle: Word);
    pvar_readreset(session: Word, handle: Word, buffer: *mut c_void);
    enum_get_info(enumtype: Word, num: *mut c_int, name: *mut c_char, name_len: *mut c_int);
    enum_get_item(enumtype: Word, item: c_int, value: *mut c_int, name: *mut c_char, name_len: *mut c_int);
    category_get_num(num: *mut c_int);
    category_get_info(
        index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        cvars: *mut c_int, pvars: *mut c_int, categories: *mut c_int);
    category_get_cvars(index: c_int, length: c_int, indices: *mut c_int);
    category_get_pvars(index: c_int, length: c_int, indices: *mut c_int);
    category_get_categories(index: c_int, length: c_int, indices: *mut c_int);
    category_changed(number: *mut c_int);
    category_get_num_events(index: c_int, events: *mut c_int);
    category_get_events(index: c_int, length: c_int, indices: *mut c_int);
    source_get_num(num: *mut c_int);
    source_get_info(
        index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        ordering: *mut c_int, ticks_per_second: *mut i64, max_ticks: *mut i64, info: *mut c_void);
    source_get_timestamp(index: c_int, timestamp: *mut i64);
    event_get_num(num: *mut c_int);
    event_get_info(
        index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, datatypes: *mut c_void,
        displacements: *mut isize, elements: *mut c_int, enumtype: *mut Word, info: *mut c_void,
        desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int);
    event_handle_alloc(index: c_int, object: *mut c_void, info: u64, registration: *mut Word);
    event_handle_free(registration: Word, data: *mut c_void, function: Option<FreeFunction>);
    event_register_callback(
        registration: Word, safety: c_int, info: u64, data: *mut c_void, function: Option<EventFunction>);
    event_set_dropped_handler(registration: Word, function: Option<DroppedFunction>);
    event_read(instance: Word, element: c_int, buffer: *mut c_void);
    event_get_timestamp(instance: Word, timestamp: *mut i64);
    event_get_source(instance: Word, source: *mut c_int);
}

/// The number that a function returns through its only argument; 0 if it fails.
pub fn number(function: unsafe fn(*mut c_int) -> Result<()>) -> c_int {
    let mut number = 0;
    // SAFETY: the argument is memory for the number.
    match unsafe { function(&mut number) } {
        Ok(()) => number,
        Err(_) => 0,
    }
}

/// A buffer for a string of the library, which reports the string's length, but not the length it would need.
pub struct Buffer {
    bytes: Vec<u8>,
    length: c_int,
}

impl Buffer {
    /// Creates a buffer with room for this many bytes.
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], length: size as c_int }
    }

    /// The arguments to pass to the library.
    pub fn pointers(&mut self) -> (*mut c_char, *mut c_int) {
        (self.bytes.as_mut_ptr().cast(), &mut self.length)
    }

    /// The string.
    pub fn text(&self) -> String {
        raw_text::keep(self.written()).into_owned()
    }

    fn written(&self) -> &[u8] {
        CStr::from_bytes_until_nul(&self.bytes).map(CStr::to_bytes).unwrap_or_default()
    }

    fn is_cut(&self) -> bool {
        self.written().len() + 1 >= self.bytes.len()
    }
}

/// Calls `get` with buffers for strings, retrying with larger ones while any string is truncated.
pub fn with_strings<const N: usize>(get: impl Fn(&mut [Buffer; N]) -> Result<()>) -> Result<[String; N]> {
    let mut size = 2048;
    loop {
        let mut buffers = [(); N].map(|()| Buffer::new(size));
        get(&mut buffers)?;
        if size >= 1 << 20 || !buffers.iter().any(Buffer::is_cut) {
            return Ok(buffers.map(|buffer| buffer.text()));
        }
        size *= 4;
    }
}

/// A variable that holds an object's handle, as these functions require it.
pub struct Object(u64);

impl Object {
    /// Creates a variable with this handle.
    pub fn new(handle: u64) -> Self {
        Self(handle)
    }

    /// The variable's address, or null for handle 0. Also correct for handles of four bytes, since it is
    /// little-endian.
    pub fn pointer(&mut self) -> *mut c_void {
        if self.0 == 0 { std::ptr::null_mut() } else { (&raw mut self.0).cast() }
    }
}
