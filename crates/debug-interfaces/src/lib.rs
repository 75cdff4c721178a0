//! The binary interfaces between debuggers and MPI.
//!
//! * [`mpir`] and [`mpi2dd`]: how a debugger finds the processes of a job;
//! * [`mqs`]: the message queue interface, whose callbacks both kinds of plug-ins use;
//! * [`handles`]: the handle interface as published; [`extended`]: what it leaves open, in its style.
//!
//! Layouts are facts and stand here alone, for those who publish them (the preload library, `mpiscope run`) and for those who
//! read them. Sizes and offsets are asserted when this is compiled, and compared with the C headers in tests. Nothing here
//! knows anything else of the project.

pub mod extended;
pub mod handles;
pub mod mpi2dd;
pub mod mpir;
pub mod mqs;
