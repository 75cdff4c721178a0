//! Where this process meets others of its user on this host, and under which names.
#![allow(unsafe_code)]

use super::settings::variable;
use mpiscope_image::runtime;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The folder that only this user may enter: what is found there was put there by this user.
///
/// # Errors
/// When there is none: other users have taken its names, or nothing can be written to.
pub fn folder() -> io::Result<PathBuf> {
    let named = variable(c"MPISCOPE_RUNTIME_DIR").map(CStr::to_bytes).filter(|name| !name.is_empty());
    // SAFETY: no arguments, always succeeds.
    let user = unsafe { libc::geteuid() };
    runtime::folder(user, named.map(|name| Path::new(OsStr::from_bytes(name))))
}

/// 64 bits of FNV-1a.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// The same for something on this host: the folder may be on a disk that hosts share.
pub fn key(bytes: &[u8]) -> u64 {
    // SAFETY: all zero is a valid record, whose name is empty; the kernel fills it and ends the name with a zero.
    unsafe {
        let mut host: libc::utsname = std::mem::zeroed();
        libc::uname(&mut host);
        let name = CStr::from_ptr(host.nodename.as_ptr()).to_bytes();
        hash(&[name, b"/", bytes].concat())
    }
}
