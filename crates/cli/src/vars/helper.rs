//! The helper process: this program with the layer and an MPI library loaded.
#![allow(unsafe_code)]

use anyhow::{Result, bail};
use std::ffi::{c_int, c_void};
use std::process::ExitCode;

/// Lets the layer describe all variables on standard output.
pub fn describe() -> Result<ExitCode> {
    // SAFETY: looks up a symbol by name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mpiscope_describe_variables".as_ptr()) };
    if address.is_null() {
        bail!("the layer is not loaded; use `mpiscope vars --library FILE` instead");
    }
    // SAFETY: the type matches the layer's C function; if standard output is closed, the write
    // fails.
    let outcome = unsafe {
        let describe: extern "C" fn(c_int) -> c_int = std::mem::transmute::<*mut c_void, _>(address);
        describe(libc::STDOUT_FILENO)
    };
    match outcome {
        0 => Ok(ExitCode::SUCCESS),
        1 => bail!("this is not an MPI library, or its binary interface is unknown"),
        _ => bail!("cannot write the description"),
    }
}
