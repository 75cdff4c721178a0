//! The boundary between the program and its MPI library: exported stubs, the resolver that finds the library,
//! the gate, the frame around a call, trampolines for user callbacks, and which of our symbols the rest of
//! the process can find.

pub mod arch;
pub mod callbacks;
pub mod exports;
pub mod frame;
pub mod interrupted;
pub mod real;
pub mod resolver;
pub mod slots;
pub mod stubs;
pub mod tls;
pub mod upcalls;
