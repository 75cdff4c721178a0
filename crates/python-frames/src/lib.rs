//! The frames of a Python program, read from memory: its own process's, that of another one, or a core file's.
//!
//! Python's frames are on no stack of the machine. CPython keeps them as structures of its own, which are laid out differently in
//! each version; nothing else of the interpreter is needed, neither its symbols nor its debug information.
//!
//! | module | has |
//! | --- | --- |
//! | [`layout`] | where the structures of each version have what is needed |
//! | [`frames`] | the frames of a thread, from the innermost one on |
//! | [`lines`] | the tables that have the line of an instruction |
//!
//! Whatever the memory holds, the answer is a frame or none: nothing is followed further than the bounds that are stated here.

pub mod frames;
pub mod layout;
pub mod lines;
#[cfg(test)]
mod tests;

pub use frames::{Frame, Frames, Place};
pub use layout::Layout;

/// Memory with the lowest byte first. Every method may say that it cannot be read.
pub trait Memory {
    /// An aligned word of eight bytes.
    fn word(&self, address: u64) -> Option<u64>;

    /// So many bytes. They are asked for once for each place; words are asked for at each look.
    fn bytes(&self, address: u64, len: u64) -> Option<Vec<u8>>;
}

/// The second number of a version: `3.11.7 (main, …)`.
#[must_use]
pub fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("3.")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Whether a file is not the user's own: of Python itself, or installed. The interpreter's own have names like `<frozen runpy>`.
#[must_use]
pub fn is_of_a_library(file: &[u8]) -> bool {
    const PARTS: [&[u8]; 4] = [b"/site-packages/", b"/dist-packages/", b"/lib/python3.", b"/mpi4py/"];
    file.first() == Some(&b'<') || PARTS.iter().any(|part| file.windows(part.len()).any(|here| here == *part))
}
