//! The image of this process, shared by all code that writes to it.
#![allow(unsafe_code)]

use mpiscope_image::Writer;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static WRITER: OnceLock<Writer> = OnceLock::new();
/// Set in a forked child, which must not write to its parent's image, nor show it as its own.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Where debuggers and core files find the image: the address of its first byte, null before the first MPI
/// call and in a forked child.
#[unsafe(no_mangle)]
pub static mpiscope_image: AtomicUsize = AtomicUsize::new(0);

/// The writer of the image, if there is an image.
pub fn writer() -> Option<&'static Writer> {
    if ABANDONED.load(Ordering::Relaxed) { None } else { WRITER.get() }
}

/// Stops this process from writing to the image, and hides it from debuggers.
pub fn abandon() {
    ABANDONED.store(true, Ordering::Relaxed);
    mpiscope_image.store(0, Ordering::Relaxed);
}

/// Installs the writer of the image, which begins at `address`. Returns false if one was already installed.
pub fn put_in_place(writer: Writer, address: usize) -> bool {
    mpiscope_image.store(address, Ordering::Release);
    WRITER.set(writer).is_ok()
}

/// This process's ID.
pub fn own_pid() -> u32 {
    // SAFETY: no arguments, always succeeds.
    unsafe { libc::getpid() }.unsigned_abs()
}
