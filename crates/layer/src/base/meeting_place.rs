//! Where this process meets other processes of its user on this host, and under which names.
#![allow(unsafe_code)]

use super::settings::variable;
use mpiscope_image::runtime;
pub use mpiscope_image::runtime::hash;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the folder that only this user may enter, so that everything in it was put there by this user.
///
/// # Errors
/// If there is none: other users have taken its names, or no place is writable.
pub fn folder() -> io::Result<PathBuf> {
    let named = variable(c"MPISCOPE_RUNTIME_DIR").filter(|name| !name.is_empty());
    // SAFETY: no arguments, always succeeds.
    let user = unsafe { libc::geteuid() };
    runtime::folder(user, named.as_ref().map(|name| Path::new(OsStr::from_bytes(name.to_bytes()))))
}

/// Like [`runtime::key`], for this host.
pub fn key(bytes: &[u8]) -> u64 {
    with_host(|host| runtime::key(host, bytes))
}

/// Like [`runtime::collector_name`], for this host.
pub fn collector_name(job: &CStr) -> String {
    with_host(|host| runtime::collector_name(host, job.to_bytes()))
}

fn with_host<R>(f: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: all zero is a valid record with an empty name; the kernel fills it and terminates the name with
    // a zero.
    unsafe {
        let mut host: libc::utsname = std::mem::zeroed();
        libc::uname(&mut host);
        f(CStr::from_ptr(host.nodename.as_ptr()).to_bytes())
    }
}
