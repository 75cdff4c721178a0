//! The functions of the message queue interface.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};

use mpiscope_debug_interfaces::mqs::{
    self, BasicCallbacks, Communicator, ImageCallbacks, ImageInfo, MqsImage, MqsProcess, PendingOperation,
    ProcessCallbacks, ProcessInfo, TAddr,
};
use mpiscope_plugin_support::{self as plugin, View};

use crate::queues::Picture;

/// The debugger passed no callbacks, or a null pointer.
const NO_CALLBACKS: c_int = mqs::FIRST_USER_CODE;
/// The layer is not in the process.
const NO_LAYER: c_int = mqs::FIRST_USER_CODE + 1;
/// The image cannot be read.
const NO_IMAGE: c_int = mqs::FIRST_USER_CODE + 2;

struct KeptForImage {
    callbacks: *const ImageCallbacks,
}

struct KeptForProcess {
    view: View,
    picture: Picture,
    /// The last message to the debugger, which may read it until the next one.
    message: CString,
}

/// The boundary to C.
fn guarded(act: impl FnOnce() -> c_int) -> c_int {
    plugin::caught(act).unwrap_or(NO_IMAGE)
}

/// Returns the state kept for a process.
///
/// # Safety
/// The process must be the debugger's, and there must be no other reference to its state (the interface is
/// used from one thread at a time).
unsafe fn kept<'a>(process: *mut MqsProcess) -> Option<&'a mut KeptForProcess> {
    let get = plugin::basic()?.get_process_info?;
    // SAFETY: the contract of this function; what is kept was put by `mqs_setup_process`.
    unsafe { get(process).cast::<KeptForProcess>().as_mut() }
}

/// Stores the debugger's basic callbacks: called once, first.
#[unsafe(no_mangle)]
pub extern "C" fn mqs_setup_basic_callbacks(callbacks: *const BasicCallbacks) {
    plugin::set_basic(callbacks);
}

/// Returns the plug-in's name and version; the text belongs to the plug-in.
#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_string() -> *mut c_char {
    concat!("mpiscope ", env!("CARGO_PKG_VERSION"), ": message queues of any MPI library, from the image\0")
        .as_ptr()
        .cast_mut()
        .cast()
}

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn mqs_version_compatibility() -> c_int {
    mqs::INTERFACE_COMPATIBILITY
}

/// Returns the size of `mqs_taddr_t` in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_taddr_width() -> c_int {
    size_of::<TAddr>() as c_int
}

/// Describes a code; the text belongs to the plug-in.
#[unsafe(no_mangle)]
pub extern "C" fn mqs_dll_error_string(code: c_int) -> *mut c_char {
    let text = match code {
        mqs::OK => c"no error",
        mqs::NO_INFORMATION => c"not available",
        mqs::END_OF_LIST => c"there are no more",
        NO_CALLBACKS => c"the debugger did not provide what the interface requires",
        NO_LAYER => {
            c"libmpiscope.so is not loaded in this process: start it under `mpiscope run`, or with LD_PRELOAD"
        }
        NO_IMAGE => {
            c"the image of this process cannot be read: do the plug-in and the layer have the same version?"
        }
        _ => c"unknown code",
    };
    text.as_ptr().cast_mut()
}

/// Stores the callbacks for an executable.
///
/// # Safety
/// The pointers must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_image(image: *mut MqsImage, callbacks: *const ImageCallbacks) -> c_int {
    guarded(|| {
        let Some(put) = plugin::basic().and_then(|basic| basic.put_image_info) else { return NO_CALLBACKS };
        if callbacks.is_null() {
            return NO_CALLBACKS;
        }
        let kept = Box::into_raw(Box::new(KeptForImage { callbacks }));
        // SAFETY: the debugger keeps what it is given.
        unsafe { put(image, kept.cast()) };
        mqs::OK
    })
}

/// Always succeeds: whether there are queues is only known when the process runs, because the layer is
/// preloaded, not linked.
///
/// # Safety
/// `message` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_image_has_queues(_image: *mut MqsImage, message: *mut *mut c_char) -> c_int {
    if !message.is_null() {
        // SAFETY: the contract of this function.
        unsafe { message.write(std::ptr::null_mut()) };
    }
    mqs::OK
}

/// Releases an executable.
///
/// # Safety
/// `info` is null or what `mqs_setup_image` stored, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_image_info(info: *mut ImageInfo) {
    if !info.is_null() {
        // SAFETY: made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(info.cast::<KeptForImage>()) });
    }
}

/// Stores the callbacks for a process.
///
/// # Safety
/// The pointers must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_process(
    process: *mut MqsProcess,
    callbacks: *const ProcessCallbacks,
) -> c_int {
    guarded(|| {
        let Some(basic) = plugin::basic() else { return NO_CALLBACKS };
        let (Some(put), Some(info)) = (basic.put_process_info, basic.get_image_info) else {
            return NO_CALLBACKS;
        };
        if callbacks.is_null() {
            return NO_CALLBACKS;
        }
        // SAFETY: the debugger's table and process; the image's state was stored by `mqs_setup_image`.
        let view = unsafe {
            let Some(get_image) = (*callbacks).get_image else { return NO_CALLBACKS };
            let image = get_image(process);
            let Some(kept) = info(image).cast::<KeptForImage>().as_ref() else { return NO_CALLBACKS };
            View::new(image, kept.callbacks, process, callbacks)
        };
        let Some(view) = view else { return NO_CALLBACKS };
        let kept = KeptForProcess { view, picture: Picture::default(), message: CString::default() };
        // SAFETY: the debugger keeps what it is given.
        unsafe { put(process, Box::into_raw(Box::new(kept)).cast()) };
        mqs::OK
    })
}

/// Returns whether the process can be read, with a message if not.
///
/// # Safety
/// The process must be the debugger's; `message` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_process_has_queues(
    process: *mut MqsProcess,
    message: *mut *mut c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let Some(kept) = (unsafe { kept(process) }) else { return NO_CALLBACKS };
        kept.picture = Picture::take(&kept.view);
        let Some(trouble) = &kept.picture.trouble else { return mqs::OK };
        // The debugger interprets the message as a format string.
        kept.message = CString::new(trouble.to_string().replace('%', "")).unwrap_or_default();
        if !message.is_null() {
            // SAFETY: the contract of this function; the text lives until the next message.
            unsafe { message.write(kept.message.as_ptr().cast_mut()) };
        }
        match trouble {
            plugin::Unavailable::NoLayer => NO_LAYER,
            // There is nothing to see yet, which may change.
            plugin::Unavailable::NoImage => mqs::NO_INFORMATION,
            _ => NO_IMAGE,
        }
    })
}

/// Releases a process.
///
/// # Safety
/// `info` is null or what `mqs_setup_process` stored, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_destroy_process_info(info: *mut ProcessInfo) {
    if !info.is_null() {
        // SAFETY: made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(info.cast::<KeptForProcess>()) });
    }
}

/// Reads the current state of the process.
///
/// # Safety
/// The process must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_update_communicator_list(process: *mut MqsProcess) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let Some(kept) = (unsafe { kept(process) }) else { return NO_CALLBACKS };
        kept.picture = Picture::take(&kept.view);
        match kept.picture.trouble {
            None => mqs::OK,
            Some(_) => mqs::NO_INFORMATION,
        }
    })
}

/// Moves the iterator to the first communicator.
///
/// # Safety
/// The process must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_communicator_iterator(process: *mut MqsProcess) -> c_int {
    // SAFETY: the contract of this function.
    guarded(|| unsafe { kept(process) }.map_or(NO_CALLBACKS, |kept| kept.picture.begin()))
}

/// Moves the iterator to the next communicator.
///
/// # Safety
/// The process must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_next_communicator(process: *mut MqsProcess) -> c_int {
    // SAFETY: the contract of this function.
    guarded(|| unsafe { kept(process) }.map_or(NO_CALLBACKS, |kept| kept.picture.next()))
}

/// Returns the communicator at the iterator.
///
/// # Safety
/// The process must be the debugger's; `communicator` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_communicator(
    process: *mut MqsProcess,
    communicator: *mut Communicator,
) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let found = unsafe { kept(process) }.and_then(|kept| kept.picture.communicator());
        // SAFETY: likewise.
        unsafe { give(found, communicator) }
    })
}

/// Writes a record to `to`.
///
/// # Safety
/// `to` is null or writable.
unsafe fn give<T>(found: Option<T>, to: *mut T) -> c_int {
    match found {
        Some(record) if !to.is_null() => {
            // SAFETY: the contract of this function.
            unsafe { to.write(record) };
            mqs::OK
        }
        Some(_) => NO_CALLBACKS,
        None => mqs::NO_INFORMATION,
    }
}

/// Returns the ranks in the world of the communicator's group, as many as its size.
///
/// # Safety
/// The process must be the debugger's; `ranks` is null or has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_comm_group(process: *mut MqsProcess, ranks: *mut c_int) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let Some(kept) = (unsafe { kept(process) }) else { return NO_CALLBACKS };
        let (Some(comm), Some(group)) = (kept.picture.communicator(), kept.picture.group()) else {
            return mqs::NO_INFORMATION;
        };
        // The debugger has allocated room for the size that it was given.
        if ranks.is_null() || usize::try_from(comm.size) != Ok(group.len()) {
            return mqs::NO_INFORMATION;
        }
        // SAFETY: room for as many as the communicator's size.
        unsafe { std::ptr::copy_nonoverlapping(group.as_ptr(), ranks, group.len()) };
        mqs::OK
    })
}

/// Starts iterating over the operations of a class on the communicator at the iterator.
///
/// # Safety
/// The process must be the debugger's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_setup_operation_iterator(process: *mut MqsProcess, class: c_int) -> c_int {
    // SAFETY: the contract of this function.
    guarded(|| unsafe { kept(process) }.map_or(NO_CALLBACKS, |kept| kept.picture.begin_operations(class)))
}

/// Returns the next operation.
///
/// # Safety
/// The process must be the debugger's; `operation` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_next_operation(
    process: *mut MqsProcess,
    operation: *mut PendingOperation,
) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let Some(kept) = (unsafe { kept(process) }) else { return NO_CALLBACKS };
        match kept.picture.next_operation() {
            // SAFETY: likewise.
            Some(found) => unsafe { give(Some(found), operation) },
            None => mqs::END_OF_LIST,
        }
    })
}

/// Returns how often a collective was entered on the communicator at the iterator, and whether a thread is in
/// it. An extension that some debuggers look for.
///
/// # Safety
/// The process must be the debugger's; `count` and `active` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mqs_get_comm_coll_state(
    process: *mut MqsProcess,
    collective: c_int,
    count: *mut c_int,
    active: *mut c_int,
) -> c_int {
    guarded(|| {
        // SAFETY: the contract of this function.
        let found = unsafe { kept(process) }.and_then(|kept| kept.picture.collective(collective));
        let Some(state) = found else { return mqs::NO_INFORMATION };
        let entered = c_int::try_from(state.count).unwrap_or(c_int::MAX);
        // SAFETY: the contract of this function.
        unsafe {
            match give(Some(entered), count) {
                mqs::OK => give(Some(c_int::from(state.active)), active),
                code => code,
            }
        }
    })
}
