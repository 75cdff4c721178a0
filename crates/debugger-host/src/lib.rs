//! A debugger without a user: it loads any `mpidbg_*` or `mqs_*` plug-in and answers its callbacks.
//!
//! It serves the tests of plug-ins and their authors. Bytes come from a running process, a core file
//! ([`mpiscope_target`]) or an evidence file ([`kept`]), types from debug information, if available; memory
//! that the plug-in allocates is counted ([`memory`]), so that leaks can be measured.

pub mod handles;
pub mod kept;
pub mod memory;
pub mod process;
pub mod published;
pub mod queues;
pub mod render;
pub mod types;
