//! The events part of the tool information interface, as in an MPICH built with events.
//!
//! Source 0 counts its events. Event type 0, `mock_sent`, reports the tag and bytes of each `MPI_Send`; its
//! callbacks need the level `MPI_T_CB_REQUIRE_MPI_RESTRICTED`. Type 1 is named like one of MPICH's that has a
//! null payload: reading its element crashes the process, as there. `MOCK_LOSE=n` drops every n-th event.
#![allow(unsafe_code)]
// As in `exports`, every block relies on the contracts of the standard.
#![allow(clippy::undocumented_unsafe_blocks)]

use crate::export::export;
use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SUCCESS: c_int = 0;
const INVALID_INDEX: c_int = 62;
const INVALID_HANDLE: c_int = 64;
const INVALID_NAME: c_int = 73;
const MPI_INT: c_int = 0x4c00_0405;
const MPI_LONG: c_int = 0x4c00_0807;
const BIND_NO_OBJECT: c_int = 9700;
const USER_BASIC: c_int = 221;
const LEVELS: usize = 4;
const RESTRICTED: usize = 1;
const NAMES: [&[u8]; 2] = [b"mock_sent\0", b"unexp_message_dequeued\0"];

type EventFunction = unsafe extern "C" fn(usize, usize, c_int, *mut c_void);
type FreeFunction = unsafe extern "C" fn(usize, c_int, *mut c_void);
type DroppedFunction = unsafe extern "C" fn(i64, usize, c_int, c_int, *mut c_void);

#[derive(Clone, Copy, Default)]
struct Registration {
    event: c_int,
    live: bool,
    callbacks: [Option<(EventFunction, usize)>; LEVELS],
    dropped: Option<DroppedFunction>,
}

/// Handles are indices plus one.
static REGISTRATIONS: Mutex<Vec<Registration>> = Mutex::new(Vec::new());
static TICKS: AtomicI64 = AtomicI64::new(0);

fn registrations() -> MutexGuard<'static, Vec<Registration>> {
    REGISTRATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event that is being delivered.
struct Instance {
    event: c_int,
    tag: c_int,
    bytes: i64,
    at: i64,
}

/// Raises the events for a message that `MPI_Send` has taken.
pub fn sent(tag: c_int, bytes: usize) {
    let at = TICKS.fetch_add(1, Ordering::SeqCst) + 1;
    let every = env::var("MOCK_LOSE").ok().and_then(|text| text.parse::<i64>().ok());
    let lost = every.is_some_and(|every| at % every == 0);
    for event in 0..NAMES.len() as c_int {
        let instance = Instance { event, tag, bytes: i64::try_from(bytes).unwrap_or(0), at };
        let all: Vec<Registration> = registrations().clone();
        for (index, registration) in all.iter().enumerate().filter(|(_, r)| r.live && r.event == event) {
            let callback = registration.callbacks.iter().skip(RESTRICTED).flatten().next();
            let Some((function, data)) = callback else { continue };
            let data = *data as *mut c_void;
            match registration.dropped.filter(|_| lost) {
                Some(dropped) => unsafe { dropped(1, index + 1, 0, RESTRICTED as c_int, data) },
                None if lost => {}
                None => unsafe {
                    function(ptr::from_ref(&instance) as usize, index + 1, RESTRICTED as c_int, data);
                },
            }
        }
    }
}

unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        unsafe { to.write(value) };
    }
}

unsafe fn put_text(text: &[u8], to: *mut c_char, length: *mut c_int) {
    if to.is_null() || length.is_null() {
        return;
    }
    unsafe {
        let room = usize::try_from(length.read()).unwrap_or(0).min(text.len());
        ptr::copy_nonoverlapping(text.as_ptr().cast(), to, room);
        if room > 0 {
            to.add(room - 1).write(0);
        }
        length.write(c_int::try_from(room).unwrap_or(0));
    }
}

/// Runs `change` on a live registration.
fn with(handle: usize, change: impl FnOnce(&mut Registration)) -> c_int {
    let mut all = registrations();
    match handle.checked_sub(1).and_then(|index| all.get_mut(index)).filter(|registration| registration.live)
    {
        Some(registration) => {
            change(registration);
            SUCCESS
        }
        None => INVALID_HANDLE,
    }
}

export! {
    "MPI_T_init_thread" "PMPI_T_init_thread" fn init_thread(required: c_int, provided: *mut c_int) {
        unsafe { put(provided, required) };
        SUCCESS
    }
    "MPI_T_finalize" "PMPI_T_finalize" fn finalize() { SUCCESS }
    "MPI_T_source_get_num" "PMPI_T_source_get_num" fn source_get_num(number: *mut c_int) {
        unsafe { put(number, 1) };
        SUCCESS
    }
    "MPI_T_source_get_info" "PMPI_T_source_get_info"
    fn source_get_info(index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
                       ordering: *mut c_int, ticks: *mut i64, most: *mut i64, _info: *mut c_void) {
        if index != 0 {
            return INVALID_INDEX;
        }
        unsafe {
            put_text(b"mock\0", name, name_len);
            put_text(b"counts its events\0", desc, desc_len);
            put(ordering, 0);
            put(ticks, 1000);
            put(most, 1 << 40);
        }
        SUCCESS
    }
    "MPI_T_source_get_timestamp" "PMPI_T_source_get_timestamp" fn source_get_timestamp(index: c_int, at: *mut i64) {
        if index != 0 {
            return INVALID_INDEX;
        }
        unsafe { put(at, TICKS.load(Ordering::SeqCst)) };
        SUCCESS
    }
    "MPI_T_event_get_num" "PMPI_T_event_get_num" fn event_get_num(number: *mut c_int) {
        unsafe { put(number, NAMES.len() as c_int) };
        SUCCESS
    }
    "MPI_T_event_get_info" "PMPI_T_event_get_info"
    fn event_get_info(index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, types: *mut c_int,
                      places: *mut isize, number: *mut c_int, _names: *mut usize, _info: *mut c_void,
                      desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int) {
        let Some(known) = usize::try_from(index).ok().and_then(|index| NAMES.get(index)) else { return INVALID_INDEX };
        unsafe {
            put_text(known, name, name_len);
            put_text(b"of the mock library\0", desc, desc_len);
            put(verbosity, USER_BASIC);
            put(bind, BIND_NO_OBJECT);
            for (at, (datatype, place)) in [(MPI_INT, 0), (MPI_LONG, 8)].into_iter().enumerate() {
                if !number.is_null() && at < usize::try_from(number.read()).unwrap_or(0) {
                    put(types.add(at), datatype);
                    put(places.add(at), place);
                }
            }
            put(number, 2);
        }
        SUCCESS
    }
    "MPI_T_event_get_index" "PMPI_T_event_get_index" fn event_get_index(name: *const c_char, index: *mut c_int) {
        let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
        let Some(at) = NAMES.iter().position(|known| *known == name) else { return INVALID_NAME };
        unsafe { put(index, c_int::try_from(at).unwrap_or(0)) };
        SUCCESS
    }
    "MPI_T_event_copy" "PMPI_T_event_copy" fn event_copy(instance: usize, buffer: *mut c_void) {
        unsafe {
            event_read(instance, 0, buffer);
            event_read(instance, 1, buffer.wrapping_byte_add(8))
        }
    }
    "MPI_T_event_handle_alloc" "PMPI_T_event_handle_alloc"
    fn event_handle_alloc(index: c_int, _object: *mut c_void, _info: c_int, handle: *mut usize) {
        let mut all = registrations();
        all.push(Registration { event: index, live: true, ..Registration::default() });
        unsafe { put(handle, all.len()) };
        SUCCESS
    }
    "MPI_T_event_handle_free" "PMPI_T_event_handle_free"
    fn event_handle_free(handle: usize, data: *mut c_void, function: Option<FreeFunction>) {
        let code = with(handle, |registration| registration.live = false);
        if let (SUCCESS, Some(function)) = (code, function) {
            unsafe { function(handle, 0, data) };
        }
        code
    }
    "MPI_T_event_register_callback" "PMPI_T_event_register_callback"
    fn event_register_callback(handle: usize, safety: c_int, _info: c_int, data: *mut c_void,
                               function: Option<EventFunction>) {
        let level = usize::try_from(safety).unwrap_or(LEVELS);
        with(handle, |registration| {
            if let Some(callback) = registration.callbacks.get_mut(level) {
                *callback = function.map(|function| (function, data as usize));
            }
        })
    }
    "MPI_T_event_set_dropped_handler" "PMPI_T_event_set_dropped_handler"
    fn event_set_dropped_handler(handle: usize, function: Option<DroppedFunction>) {
        with(handle, |registration| registration.dropped = function)
    }
    "MPI_T_event_read" "PMPI_T_event_read" fn event_read(instance: usize, element: c_int, buffer: *mut c_void) {
        let instance = unsafe { &*(instance as *const Instance) };
        match (instance.event, element) {
            (0, 0) => unsafe { put(buffer.cast(), instance.tag) },
            (0, 1) => unsafe { put(buffer.cast(), instance.bytes) },
            _ => process::abort(),
        }
        SUCCESS
    }
    "MPI_T_event_get_timestamp" "PMPI_T_event_get_timestamp" fn event_get_timestamp(instance: usize, at: *mut i64) {
        unsafe { put(at, (*(instance as *const Instance)).at) };
        SUCCESS
    }
    "MPI_T_event_get_source" "PMPI_T_event_get_source" fn event_get_source(_instance: usize, source: *mut c_int) {
        unsafe { put(source, 0) };
        SUCCESS
    }
}
