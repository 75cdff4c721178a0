//! One image as typed values: the process, its objects, the rank and the call it is in.
//!
//! [`process`] converts an image to plain values once; everything later works on the copy.

pub mod abort;
pub mod fortran_frames;
pub mod locate;
pub mod objects;
pub mod process;
pub mod process_end;
pub(crate) mod python;
pub mod rank;
pub mod rank_status;
pub mod thread_stack;
