//! Process acquisition on the real MPI libraries: symbols and tables as a debugger sees them, growing and meeting jobs,
//! `procs`, `attach`, the gate.
//!
//! A library that is not there is skipped, and so is what a library cannot do by itself; both are said. Needs
//! gdb, a C compiler and the built `libmpiscope.so`.

mod attaching;
mod common;
mod growing;
mod hosts;
mod symbols;
