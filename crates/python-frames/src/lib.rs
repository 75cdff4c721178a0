//! The frames of a Python program, read from the memory of the reader itself, another process, or a core
//! file.
//!
//! Python's frames are not on the machine stack. CPython keeps them in structures whose layout differs
//! between versions; nothing else of the interpreter is needed, neither symbols nor debug information.
//!
//! | module | content |
//! | --- | --- |
//! | [`layout`] | offsets in the structures of each version |
//! | [`frames`] | the frames of a thread, innermost first |
//! | [`lines`] | the tables that map instructions to lines |
//!
//! Whatever the memory contains, the result is a frame or nothing: all walks are bounded.

pub mod frames;
pub mod layout;
pub mod lines;
#[cfg(test)]
mod tests;

pub use frames::{Frame, Frames, Place};
pub use layout::Layout;

/// Little-endian memory. Every method returns `None` if it cannot be read.
pub trait Memory {
    /// Reads an aligned 64-bit word.
    fn word(&self, address: u64) -> Option<u64>;

    /// Reads `len` bytes. Called once per location, whereas `word` is called for each sample.
    fn bytes(&self, address: u64, len: u64) -> Option<Vec<u8>>;
}

/// Parses the minor version: `3.11.7 (main, …)`.
#[must_use]
pub fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("3.")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Whether a file is not the user's own: part of Python itself, or installed. The interpreter's own modules
/// have names like `<frozen runpy>`.
#[must_use]
pub fn is_of_a_library(file: &[u8]) -> bool {
    const PARTS: [&[u8]; 4] = [b"/site-packages/", b"/dist-packages/", b"/lib/python3.", b"/mpi4py/"];
    file.first() == Some(&b'<') || PARTS.iter().any(|part| file.windows(part.len()).any(|here| here == *part))
}
