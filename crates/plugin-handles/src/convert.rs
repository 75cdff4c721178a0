//! Converts Fortran and C++ handles to C handles.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpiscope_debug_interfaces::handles::code;
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_job::model::objects::Kind;

use crate::context::{Code, Context, guarded};

/// Stores the C handle of the object that a Fortran handle denotes.
///
/// # Safety
/// `out` is null or writable.
unsafe fn f2c(context: &Context, kind: Kind, fortran: TAddr, out: *mut TAddr) -> c_int {
    guarded(|| {
        if out.is_null() {
            return Err(Code(code::OUT_OF_RANGE));
        }
        let found = context.look(|reader, _| {
            if !reader.fortran_is_known(kind) {
                return Err(Code(code::UNAVAILABLE));
            }
            // An INTEGER: anything above its 32 bits is the debugger's sign extension.
            let candidates = reader.fortran_to_c(kind, (fortran as u32).cast_signed());
            candidates
                .into_iter()
                .find(|handle| reader.object(kind, *handle).is_ok())
                .ok_or(Code(code::NOT_FOUND))
        })?;
        // SAFETY: the contract of this function.
        unsafe { out.write(found) };
        Ok(())
    })
}

macro_rules! fortran {
    ($($name:ident $kind:ident;)*) => {$(
        /// Returns the C handle of the object that a Fortran handle denotes.
        ///
        /// # Safety
        /// The pointers must be the debugger's; `c_handle` is null or writable.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            image: *mut MqsImage,
            image_info: *mut ImageInfo,
            process: *mut MqsProcess,
            process_info: *mut ProcessInfo,
            f77_handle: TAddr,
            c_handle: *mut TAddr,
        ) -> c_int {
            let context = Context { image, image_info, process, process_info };
            // SAFETY: the contract of this function.
            unsafe { f2c(&context, Kind::$kind, f77_handle, c_handle) }
        }
    )*};
}

fortran! {
    mpidbg_comm_f2c Communicator;
    mpidbg_errhandler_f2c Errhandler;
    mpidbg_request_f2c Request;
    mpidbg_datatype_f2c Datatype;
    mpidbg_file_f2c File;
    mpidbg_group_f2c Group;
    mpidbg_info_f2c Info;
    mpidbg_op_f2c Op;
    mpidbg_window_f2c Window;
    mpidbg_message_f2c Message;
    mpidbg_session_f2c Session;
}

/// Returns the C status of a Fortran status: in all three ABIs the array has the structure's layout, so the
/// address is the same.
///
/// # Safety
/// The pointers must be the debugger's; `c_status` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_status_f2c(
    _image: *mut MqsImage,
    _image_info: *mut ImageInfo,
    _process: *mut MqsProcess,
    _process_info: *mut ProcessInfo,
    f77_status: TAddr,
    c_status: *mut TAddr,
) -> c_int {
    if c_status.is_null() {
        return code::OUT_OF_RANGE;
    }
    // SAFETY: the contract of this function.
    unsafe { c_status.write(f77_status) };
    code::SUCCESS
}

macro_rules! cxx {
    ($($name:ident ($($type:ident)?);)*) => {$(
        /// The location of the handle in a C++ object differs between libraries and requires debug
        /// information, and no library has had these bindings since MPI 3.0: not supported for any object.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            _image: *mut MqsImage,
            _image_info: *mut ImageInfo,
            _process: *mut MqsProcess,
            _process_info: *mut ProcessInfo,
            _cxx: TAddr,
            $($type: c_int,)?
            _c: *mut TAddr,
        ) -> c_int {
            $(let _ = $type;)?
            code::NOT_SUPPORTED
        }
    )*};
}

cxx! {
    mpidbg_comm_cxx2c(comm_type);
    mpidbg_errhandler_cxx2c();
    mpidbg_request_cxx2c(request_type);
    mpidbg_status_cxx2c();
}
