//! Queries for objects of any kind: calls in progress, and the address of the pin.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpiscope_debug_interfaces::extended::{Call, CallsInfo};
use mpiscope_debug_interfaces::handles::code;
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_job::model::objects::{Kind, OpenCall};
use mpiscope_plugin_support::chars;

use crate::answer::nanoseconds;
use crate::context::{Code, Context, guarded};

/// Returns the calls on an object that threads are currently in.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_calls_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    kind: c_int,
    c_handle: TAddr,
    info: *mut *mut CallsInfo,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function.
    unsafe {
        context.answer(info, |reader, _, blocks| {
            let kind = Kind::of_debugger_number(kind).ok_or(Code(code::OUT_OF_RANGE))?;
            let calls: Vec<Call> = reader.calls_about(kind, c_handle).iter().map(call).collect();
            Ok(CallsInfo {
                calls_struct_size: size_of::<CallsInfo>() as u32,
                calls_reserved: 0,
                calls: blocks.list(&calls)?,
            })
        })
    }
}

/// Returns the address to which the debugger writes 1 or 0, as a 16-bit word, to keep the object's record
/// when it is freed.
///
/// # Safety
/// The pointers must be the debugger's; `address` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_pin_address(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    kind: c_int,
    c_handle: TAddr,
    address: *mut TAddr,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    guarded(|| {
        let kind =
            Kind::of_debugger_number(kind).filter(|_| !address.is_null()).ok_or(Code(code::OUT_OF_RANGE))?;
        let found = context.look(|reader, _| Ok(reader.object(kind, c_handle)?.common().pin_at))?;
        let found = found.ok_or(Code(code::NOT_SUPPORTED))?;
        // SAFETY: not null, and the contract of this function.
        unsafe { address.write(found.0) };
        Ok(())
    })
}

fn call(of: &OpenCall) -> Call {
    Call {
        call_function: chars(&of.function),
        call_from: of.address.0,
        call_ns: nanoseconds(of.seconds),
        call_tid: of.tid.cast_signed(),
        call_reserved: 0,
    }
}
