//! Frames of the machine's stack, one at a time: from a call to the call that brought the program there.
//!
//! Compilers write a table of how the frame of each function lies on the stack at each of its instructions. For one return address
//! the answer never changes, so it is asked once and kept: whoever looks from a call to its callers pays a few loads for each
//! frame.
//!
//! | module | has |
//! | --- | --- |
//! | [`table`], [`rules`], [`steps`], [`bytes`] | the unwind table's answer for one address |
//! | [`frame`] | that answer, and the step to the caller |
//! | [`owner`] | whose code an address is in |
//! | [`kept`] | both, kept |
//! | [`bounds`] | where the stack of a thread ends |
//! | [`code`] | whether an address can be one of code |
//!
//! Nothing is unwound: no code of the program is run, and of its memory only words of the stack are read. A frame whose end has to
//! be computed, a table that is missing or says more than is understood here: then nothing is known of what is above.
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
