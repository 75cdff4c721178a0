//! The binary interfaces between debuggers and MPI.
//!
//! * [`mpir`] and [`mpi2dd`]: how a debugger finds the processes of a job;
//! * [`mqs`]: the message queue interface, whose callbacks both kinds of plug-ins use;
//! * [`handles`]: the handle interface as published; [`extended`]: its extension to everything else.
//!
//! This crate contains only layouts, for the programs that publish them (the preload library, `mpiscope run`)
//! and those that read them. Sizes and offsets are asserted at compile time and compared with the C headers
//! in tests. It depends on no other part of the project.

pub mod extended;
pub mod handles;
pub mod mpi2dd;
pub mod mpir;
pub mod mqs;
