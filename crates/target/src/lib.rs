//! Sources of bytes.
//!
//! Everything above this crate reads a program through one object-safe trait, [`Target`], regardless of
//! whether the bytes belong to a running process ([`Live`]), a dead one ([`Core`]), the reader itself
//! ([`OwnProcess`]), whatever a debugger provides ([`Callbacks`]), or a test ([`InMemory`]). Address width
//! and byte order are the target's, never the host's: a 32-bit big-endian core file is read on a 64-bit
//! little-endian machine like any other.
//!
//! Input is never trusted. A bad address is an error and never a signal; a size found in a file is compared
//! with the size of that file before memory is allocated; strings, tables and loops have limits. Walks of
//! linked structures should go through [`Cached`], which turns many small reads into few page reads.
//!
//! Two helpers need the same files: [`Symbolizer`] translates an address to a function and `file:line`, and
//! [`procfs`] collects what `/proc` tells about a process without permission to trace it.

mod cached;
mod callbacks;
mod corefile;
mod elf;
mod error;
mod in_memory;
mod live;
mod maps;
mod modules;
mod own_process;
mod permission;
mod process_memory;
pub mod procfs;
mod signal;
mod symbolize;
mod target;

pub use cached::Cached;
pub use callbacks::Callbacks;
pub use corefile::{Core, Crash, ProcessInfo, Segment, Sender, Thread};
pub use error::{Error, Result};
pub use in_memory::InMemory;
pub use live::{Files, Live};
pub use own_process::OwnProcess;
pub use signal::signal_name;
pub use symbolize::{Location, Symbolizer, demangle};
pub use target::{ByteOrder, Module, Target};
