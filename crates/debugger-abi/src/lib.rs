//! The binary interfaces between debuggers and their MPI plug-ins.
//!
//! * [`mqs`]: the message queue interface, whose callbacks both kinds of plug-ins use;
//! * [`handles`]: the handle interface as published; [`extended`]: what it leaves open, in its style;
//! * [`plugin`]: what a plug-in needs to use the callbacks safely.
//!
//! Layouts are facts: sizes and offsets are asserted when this is compiled, and again in C by the header that states them.

pub mod extended;
pub mod handles;
pub mod mqs;
pub mod plugin;
