//! The binary interfaces between debuggers and their MPI plug-ins, as Rust types with checked layouts.
//!
//! * [`mqs`]: the message queue interface, whose callbacks both kinds of plug-ins use;
//! * [`handles`]: the handle interface as published;

pub mod handles;
pub mod mqs;
