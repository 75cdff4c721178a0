//! What people are to know: on standard error, and in the image for the report.
#![allow(unsafe_code)]

use super::{clock, image, limits};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says something on standard error, a given sentence once; also in the image, for the report.
pub fn complain(sentence: &str) {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    if let Some(writer) = image::writer() {
        writer.note(clock::now(), sentence);
    }
    let mark = sentence.as_ptr() as usize;
    if LAST.swap(mark, Ordering::Relaxed) != mark {
        let line = format!("mpiscope: {sentence}\n");
        limits::without_signals(|| {
            // SAFETY: the bytes are ours; a short or failed write loses a message, nothing else.
            unsafe { libc::write(2, line.as_ptr().cast::<c_void>(), line.len()) }
        });
    }
}
