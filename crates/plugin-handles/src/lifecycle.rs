//! Initialization, versions, images and processes; the global variables of the interface.
#![allow(unsafe_code, non_upper_case_globals)]

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI8, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use mpiscope_debug_interfaces::handles::{self, HandleInfo, NameMap, code};
use mpiscope_debug_interfaces::mqs::{
    BasicCallbacks, ImageCallbacks, ImageInfo, MqsImage, MqsProcess, ProcessCallbacks, ProcessInfo, TAddr,
};
use mpiscope_job::model::objects::Kind;
use mpiscope_plugin_support::{self as plugin, View};

use crate::context::{Code, guarded, look_through};
use crate::kept::{KeptForImage, KeptForProcess};
use crate::names::Map;
use crate::{extended, published};

/// 1 if this plug-in was built for a big-endian host.
#[unsafe(no_mangle)]
pub static mpidbg_dll_is_big_endian: AtomicI8 = AtomicI8::new(cfg!(target_endian = "big") as i8);
/// Width of this plug-in in bits.
#[unsafe(no_mangle)]
pub static mpidbg_dll_bitness: AtomicI8 = AtomicI8::new(usize::BITS as i8);

/// Communicator capabilities for the process that was initialized last.
#[unsafe(no_mangle)]
pub static mpidbg_comm_capabilities: AtomicU32 = AtomicU32::new(0);
/// Error handler capabilities for that process.
#[unsafe(no_mangle)]
pub static mpidbg_errhandler_capabilities: AtomicU32 = AtomicU32::new(0);
/// Request capabilities for that process.
#[unsafe(no_mangle)]
pub static mpidbg_request_capabilities: AtomicU32 = AtomicU32::new(0);
/// Status capabilities for that process.
#[unsafe(no_mangle)]
pub static mpidbg_status_capabilities: AtomicU32 = AtomicU32::new(0);
/// Communicator name map for the process that was initialized last; `mpidbg_process_name_map` returns that of
/// any process.
#[unsafe(no_mangle)]
pub static mpidbg_comm_name_map: AtomicPtr<NameMap> = AtomicPtr::new(std::ptr::null_mut());
/// Error handler name map for that process.
#[unsafe(no_mangle)]
pub static mpidbg_errhandler_name_map: AtomicPtr<NameMap> = AtomicPtr::new(std::ptr::null_mut());
/// Request name map for that process.
#[unsafe(no_mangle)]
pub static mpidbg_request_name_map: AtomicPtr<NameMap> = AtomicPtr::new(std::ptr::null_mut());
/// Status name map for that process.
#[unsafe(no_mangle)]
pub static mpidbg_status_name_map: AtomicPtr<NameMap> = AtomicPtr::new(std::ptr::null_mut());

/// Length of `comm_name` and `eh_name` for the process that was initialized last: `MPI_MAX_OBJECT_NAME` of
/// its library, 64 or 128. `mpidbg_process_object_name_length` returns that of any process.
#[unsafe(no_mangle)]
pub static mpidbg_object_name_length: AtomicI32 = AtomicI32::new(0);

/// Kinds with a query function in the extended interface: bit `1 << kind`.
#[unsafe(no_mangle)]
pub static mpidbg_extended_kinds: AtomicU32 = AtomicU32::new(extended::KINDS);

/// Stores the debugger's basic callbacks: called once, first.
#[unsafe(no_mangle)]
pub extern "C" fn mpidbg_init_once(callbacks: *const BasicCallbacks) -> c_int {
    guarded(|| {
        if callbacks.is_null() {
            return Err(Code(code::OUT_OF_RANGE));
        }
        plugin::set_basic(callbacks);
        Ok(())
    })
}

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn mpidbg_interface_version_compatibility() -> c_int {
    handles::INTERFACE_VERSION
}

/// Returns the plug-in's name and version; the text belongs to the plug-in.
#[unsafe(no_mangle)]
pub extern "C" fn mpidbg_version_string() -> *mut c_char {
    concat!("mpiscope ", env!("CARGO_PKG_VERSION"), ": MPI handles of any library, from the image\0")
        .as_ptr()
        .cast_mut()
        .cast()
}

/// Returns the size of `mqs_taddr_t` in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn mpidbg_dll_taddr_width() -> c_int {
    size_of::<TAddr>() as c_int
}

/// Stores the callbacks for an executable. Whether its processes contain the layer is only known when they
/// run.
///
/// # Safety
/// The pointers must be the debugger's; `types` is null or a structure of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_init_per_image(
    image: *mut MqsImage,
    callbacks: *const ImageCallbacks,
    types: *mut HandleInfo,
) -> c_int {
    guarded(|| {
        let put = plugin::basic().and_then(|basic| basic.put_image_info).ok_or(Code(code::UNAVAILABLE))?;
        if callbacks.is_null() {
            return Err(Code(code::OUT_OF_RANGE));
        }
        // SAFETY: the contract of this function.
        unsafe { find_types(image, callbacks, types) };
        let kept = Box::into_raw(Box::new(KeptForImage { callbacks }));
        // SAFETY: the debugger keeps what it is given.
        unsafe { put(image, kept.cast()) };
        Ok(())
    })
}

/// Releases an executable.
///
/// # Safety
/// `info` is null or what `mpidbg_init_per_image` stored, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_finalize_per_image(_image: *mut MqsImage, info: *mut ImageInfo) {
    if !info.is_null() {
        // SAFETY: made by `Box::into_raw` above.
        drop(unsafe { Box::from_raw(info.cast::<KeptForImage>()) });
    }
}

/// Stores the callbacks for a process. Returns `NOT_SUPPORTED` if the layer is not in it.
///
/// # Safety
/// The pointers must be the debugger's; `types` is null or a structure of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_init_per_process(
    process: *mut MqsProcess,
    callbacks: *const ProcessCallbacks,
    types: *mut HandleInfo,
) -> c_int {
    guarded(|| {
        let basic = plugin::basic().ok_or(Code(code::UNAVAILABLE))?;
        let put = basic.put_process_info.ok_or(Code(code::UNAVAILABLE))?;
        let get_image_info = basic.get_image_info.ok_or(Code(code::UNAVAILABLE))?;
        if callbacks.is_null() {
            return Err(Code(code::OUT_OF_RANGE));
        }
        // SAFETY: the debugger's table, valid as long as the process is shown.
        let get_image = unsafe { (*callbacks).get_image }.ok_or(Code(code::UNAVAILABLE))?;
        // SAFETY: the debugger's process, then its image.
        let (image, info) = unsafe {
            let image = get_image(process);
            (image, get_image_info(image).cast::<KeptForImage>().as_ref())
        };
        let of_image = info.ok_or(Code(code::OUT_OF_RANGE))?.callbacks;
        // SAFETY: the tables were given for these pointers.
        let view =
            unsafe { View::new(image, of_image, process, callbacks) }.ok_or(Code(code::OUT_OF_RANGE))?;
        if !view.has_layer() {
            return Err(Code(code::NOT_SUPPORTED));
        }
        // SAFETY: the contract of this function.
        unsafe { find_types(image, of_image, types) };
        let kept = Box::new(keep(&view, image, process, of_image, callbacks));
        publish(&kept);
        // SAFETY: the debugger keeps what it is given.
        unsafe { put(process, Box::into_raw(kept).cast()) };
        Ok(())
    })
}

/// Releases a process.
///
/// # Safety
/// `info` is null or what `mpidbg_init_per_process` stored, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_finalize_per_process(_process: *mut MqsProcess, info: *mut ProcessInfo) {
    if info.is_null() {
        return;
    }
    // SAFETY: made by `Box::into_raw` above.
    let kept = unsafe { Box::from_raw(info.cast::<KeptForProcess>()) };
    for (variable, kind) in maps() {
        // A map that is gone must not be reachable; that of another process stays.
        let _ = variable.compare_exchange(
            kept.map(kind),
            std::ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// Returns the name map of any process and kind: an array that ends with a null name and belongs to the
/// plug-in until `mpidbg_finalize_per_process`. Null if there is none.
///
/// # Safety
/// `info` is null or what `mpidbg_init_per_process` stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_process_name_map(info: *mut ProcessInfo, kind: c_int) -> *mut NameMap {
    // SAFETY: the contract of this function.
    let kept = unsafe { info.cast::<KeptForProcess>().as_ref() };
    let kind = Kind::of_debugger_number(kind);
    kept.zip(kind).map_or(std::ptr::null_mut(), |(kept, kind)| kept.map(Some(kind)))
}

/// Returns the length of the names in `mpidbg_comm_info_t` and `mpidbg_errhandler_info_t` of a process: 64 or
/// 128; 0 without a process.
///
/// # Safety
/// `info` is null or what `mpidbg_init_per_process` stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_process_object_name_length(info: *mut ProcessInfo) -> c_int {
    // SAFETY: the contract of this function.
    let kept = unsafe { info.cast::<KeptForProcess>().as_ref() };
    kept.map_or(0, |kept| kept.name_length as c_int)
}

/// Creates the state of a process whose image may not exist yet.
fn keep(
    view: &View,
    image: *mut MqsImage,
    process: *mut MqsProcess,
    of_image: *const ImageCallbacks,
    of_process: *const ProcessCallbacks,
) -> KeptForProcess {
    let mut kept = KeptForProcess {
        image,
        process,
        of_image,
        of_process,
        name_length: 128,
        maps: BTreeMap::new(),
        no_map: Map::empty(),
    };
    let seen = look_through(view, |reader, _| {
        let maps = Kind::ALL.iter().map(|kind| (*kind, Map::of(reader, *kind))).collect();
        let length = mpi_abi::constant::value_of(reader.abi(), "MPI_MAX_OBJECT_NAME");
        Ok((maps, length))
    });
    if let Ok((maps, length)) = seen {
        kept.maps = maps;
        kept.name_length = if length == Some(64) { 64 } else { 128 };
    } else if view.symbol("ompi_mpi_comm_world").is_some() {
        kept.name_length = 64;
    }
    kept
}

/// The global variables of the interface, and the kinds that they show.
fn maps() -> [(&'static AtomicPtr<NameMap>, Option<Kind>); 4] {
    [
        (&mpidbg_comm_name_map, Some(Kind::Communicator)),
        (&mpidbg_errhandler_name_map, Some(Kind::Errhandler)),
        (&mpidbg_request_name_map, Some(Kind::Request)),
        (&mpidbg_status_name_map, None),
    ]
}

fn publish(kept: &KeptForProcess) {
    for (variable, kind) in maps() {
        variable.store(kept.map(kind), Ordering::Release);
    }
    mpidbg_object_name_length.store(kept.name_length as c_int, Ordering::Release);
    mpidbg_comm_capabilities.store(published::COMM_CAPABILITIES, Ordering::Release);
    mpidbg_errhandler_capabilities.store(published::ERRHANDLER_CAPABILITIES, Ordering::Release);
    mpidbg_request_capabilities.store(handles::CAP_BASIC, Ordering::Release);
    mpidbg_status_capabilities.store(handles::CAP_BASIC, Ordering::Release);
}

/// Fills the debugger's table of handle types with the types that the debugger itself finds.
///
/// # Safety
/// The same as for `mpidbg_init_per_image`.
unsafe fn find_types(image: *mut MqsImage, callbacks: *const ImageCallbacks, types: *mut HandleInfo) {
    if types.is_null() {
        return;
    }
    // SAFETY: not null, the debugger's table.
    let callbacks = unsafe { callbacks.read() };
    // SAFETY: the debugger's image, as for this function.
    let find = |name: &str, language: u8| unsafe { View::find_type(&callbacks, image, name, language) };
    let c = |name: &str| find(name, b'c');
    let cxx = |name: &str| find(name, b'C');
    const CXX: [&str; 18] = [
        "MPI::Aint",
        "MPI::Comm",
        "MPI::Intracomm",
        "MPI::Intercomm",
        "MPI::Graphcomm",
        "MPI::Cartcomm",
        "MPI::Datatype",
        "MPI::Errhandler",
        "MPI::File",
        "MPI::Group",
        "MPI::Info",
        "MPI::Offset",
        "MPI::Op",
        "MPI::Request",
        "MPI::Prequest",
        "MPI::Grequest",
        "MPI::Status",
        "MPI::Win",
    ];
    let found = HandleInfo {
        c_aint: c("MPI_Aint"),
        c_comm: c("MPI_Comm"),
        c_datatype: c("MPI_Datatype"),
        c_errhandler: c("MPI_Errhandler"),
        c_file: c("MPI_File"),
        c_group: c("MPI_Group"),
        c_info: c("MPI_Info"),
        c_offset: c("MPI_Offset"),
        c_op: c("MPI_Op"),
        c_request: c("MPI_Request"),
        c_status: c("MPI_Status"),
        c_win: c("MPI_Win"),
        cxx: CXX.map(cxx),
    };
    // SAFETY: the contract of this function.
    unsafe { types.write(found) };
}
