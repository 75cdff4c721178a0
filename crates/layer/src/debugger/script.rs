//! The script that lets gdb show what is behind handles, in the section where gdb looks for scripts when it loads a library.
//!
//! gdb runs it if this library lies in its `auto-load safe-path`; else `share/mpiscope-gdb.py` is loaded by hand.
#![allow(unsafe_code)]

const TEXT: &[u8] = include_bytes!("../../../../share/mpiscope-gdb.py");
/// "The script itself follows, behind its name."
const HEAD: &[u8] = b"\x04mpiscope-gdb.py\n";

/// The entry: head, text, zero.
#[allow(clippy::indexing_slicing)] // By the compiler, at compile time.
const fn entry() -> [u8; HEAD.len() + TEXT.len() + 1] {
    let mut entry = [0; HEAD.len() + TEXT.len() + 1];
    let mut i = 0;
    while i < HEAD.len() + TEXT.len() {
        entry[i] = if i < HEAD.len() { HEAD[i] } else { TEXT[i - HEAD.len()] };
        i += 1;
    }
    entry
}

// SAFETY: nothing but gdb reads the section.
#[used]
#[unsafe(link_section = ".debug_gdb_scripts")]
static SCRIPT: [u8; HEAD.len() + TEXT.len() + 1] = entry();
