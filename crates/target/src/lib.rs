//! Where bytes come from.
//!
//! Everything above this crate reads a program through one object-safe trait, [`Target`], and cannot tell whether the bytes
//! belong to a running process ([`Live`]), to a dead one ([`Core`]), to the reader itself ([`OwnProcess`]), to whatever a debugger
//! hands out ([`Callbacks`]) or to a test ([`InMemory`]). The width of an address and the byte order are the target's, never
//! the host's: a 32-bit big-endian core file is read on a 64-bit little-endian machine like any other.
//!
//! Nothing that is read is trusted. A bad address is an error and never a signal; a size found in a file is compared with the
//! size of that file before memory is asked for; strings, tables and loops have limits. Walks of linked structures should go
//! through [`Cached`], which turns many small reads into few page reads.
//!
//! Beside the bytes stand two helpers that need the same files: [`Symbolizer`] turns an address into function and
//! `file:line`, and [`procfs`] gathers what `/proc` tells about a process without any right to trace it.

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
