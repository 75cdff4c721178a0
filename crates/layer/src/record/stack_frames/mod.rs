//! Walks frames of the machine's stack, one at a time: from a call to the call that led to it.
//!
//! Compilers write a table that describes the layout of each function's frame at each of its instructions.
//! For a given return address the answer never changes, so it is looked up once and kept: a step from a call
//! to its caller then costs a few loads.
//!
//! | module | contents |
//! | --- | --- |
//! | [`table`], [`rules`], [`steps`], [`bytes`] | the unwind table's answer for one address |
//! | [`frame`] | that answer, and the step to the caller |
//! | [`owner`] | whose code an address is in |
//! | [`kept`] | a cache of both |
//! | [`bounds`] | where the stack of a thread ends |
//! | [`code`] | whether an address can be that of code |
//!
//! Nothing is unwound: no code of the program runs, and only stack words of its memory are read. If the end
//! of a frame has to be computed, or a table is missing or contains something that is not understood here,
//! the frames above are unknown.
#![allow(unsafe_code)]

pub mod bounds;
mod bytes;
pub mod code;
pub mod frame;
pub mod kept;
pub mod owner;
mod rules;
mod steps;
mod table;
#[cfg(test)]
mod tests;
