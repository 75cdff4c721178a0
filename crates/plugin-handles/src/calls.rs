//! Calls that threads are in, about an object of any kind.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpiscope_debugger_abi::extended::{Call, CallsInfo};
use mpiscope_debugger_abi::handles::code;
use mpiscope_debugger_abi::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_debugger_abi::plugin::chars;
use mpiscope_job::objects::Ongoing;

use crate::answer::{kind_of_number, nanoseconds};
use crate::context::{Code, Context};

/// Calls that threads are in, about an object.
///
/// # Safety
/// The debugger's pointers; `info` is null or may be written.
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
            let kind = kind_of_number(kind).ok_or(Code(code::OUT_OF_RANGE))?;
            let calls: Vec<Call> = reader.calls_about(kind, c_handle).iter().map(call).collect();
            Ok(CallsInfo {
                calls_struct_size: size_of::<CallsInfo>() as u32,
                calls_reserved: 0,
                calls: blocks.list(&calls)?,
            })
        })
    }
}

fn call(of: &Ongoing) -> Call {
    Call {
        call_function: chars(&of.function),
        call_from: of.address.0,
        call_ns: nanoseconds(of.seconds),
        call_tid: of.tid.cast_signed(),
        call_reserved: 0,
    }
}
