//! The MPI ABIs as facts.
pub mod function;
mod generated;

pub use function::{Dir, Flags, Function, FunctionId, Kind, Len, Param};
pub use generated::functions::{COUNT, FUNCTIONS, f};
