//! A debugger without a user: it loads any `mpidbg_*` or `mqs_*` plug-in and answers its callbacks.
//!
//! For the tests of plug-ins and for people who write them. The bytes come from a running process, a core file
//! ([`mpiscope_target`]) or an evidence file ([`kept`]), types from debug information where there is any; memory that the plug-in
//! asks for is counted ([`memory`]), so that a leak is a number.

pub mod handles;
pub mod kept;
pub mod memory;
pub mod process;
pub mod published;
pub mod queues;
pub mod render;
pub mod types;
