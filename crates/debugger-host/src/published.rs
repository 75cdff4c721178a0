//! Plug-ins that a process names for debuggers to load.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use mpiscope_target::{Result, Target};

/// The variable that lists handle plug-ins.
pub const HANDLES: &str = "mpidbg_dll_locations";
/// The variable that lists message queue plug-ins.
pub const QUEUES: &str = "mpimsgq_dll_locations";

/// Maximum number of names, and maximum length of a name.
const MOST: u64 = 64;
const LONGEST: usize = 4096;

/// Returns the files that the variable names, in the order in which they should be tried: an array of C
/// strings that ends with null. Empty if there is no such variable, or the process has not filled it in.
///
/// # Errors
/// When the process cannot be read.
pub fn plugins(target: &dyn Target, variable: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let Some(variable) = target.symbol(variable)? else { return Ok(files) };
    let array = target.read_pointer(variable)?;
    for place in 0..if array == 0 { 0 } else { MOST } {
        let entry = target.read_pointer(array.wrapping_add(place * target.width() as u64))?;
        if entry == 0 {
            break;
        }
        files.push(PathBuf::from(OsString::from_vec(target.read_c_string(entry, LONGEST)?)));
    }
    Ok(files)
}
