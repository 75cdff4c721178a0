//! The image of this process, for whoever writes into it.
#![allow(unsafe_code)]

use mpiscope_image::Writer;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static WRITER: OnceLock<Writer> = OnceLock::new();
/// Set in a forked child, for which the image is not.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Where debuggers and core files find the image: the address of its first byte, null before the first MPI call.
#[unsafe(no_mangle)]
pub static mpiscope_image: AtomicUsize = AtomicUsize::new(0);

/// The writing end of the image, if there is one.
pub fn writer() -> Option<&'static Writer> {
    if ABANDONED.load(Ordering::Relaxed) { None } else { WRITER.get() }
}

/// From now on this process has no image.
pub fn abandon() {
    ABANDONED.store(true, Ordering::Relaxed);
}

/// From now on the image is the one that this writes, which begins at this address. False if there was one already.
pub fn put_in_place(writer: Writer, address: usize) -> bool {
    mpiscope_image.store(address, Ordering::Release);
    WRITER.set(writer).is_ok()
}

/// This process.
pub fn own_pid() -> u32 {
    // SAFETY: no arguments, always succeeds.
    unsafe { libc::getpid() }.unsigned_abs()
}
