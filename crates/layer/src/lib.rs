//! `libmpiscope.so`: the library between an application and its MPI library.
//!
//! # How a call travels
//!
//! ```text
//!  application            this library                                     MPI library
//!  MPI_Send ───► stub ──► *ENTRY[n] ─┬─ off ─────────────────────────────► MPI_Send
//!                                    ├─ first call of all: resolver (finds library and ABI, fills the slots)
//!                                    └─ gate ─┬─ inside a call (depth 1) ─► MPI_Send
//!                                             └─ hook of the ABI ─ calls ─► MPI_Send
//! ```
//!
//! # Floors
//!
//! The library is layered into floors, each of which may use only those below it. Where a floor must call one
//! above it, it declares an interface that the upper one fills in: the table that interposition is linked with
//! ([`interpose::upcalls`]) and the sink of events.
//!
//! | floor | purpose |
//! | --- | --- |
//! | [`hooks`] | what happens around each function, generated from the function table and the overlays `hooks/*.tsv`; initialization and finalization |
//! | [`debugger`] | symbols and tables through which debuggers find the processes of the job |
//! | [`mpi_t`] | the MPI tool information interface |
//! | [`record`] | what is written to the image: process, threads, objects, traffic, Fortran |
//! | [`events`] | event types as structures, which of them are enabled, and the sink that receives them |
//! | [`interpose`] | stubs, resolver, gate, the frame around a call, trampolines, symbol visibility |
//! | [`base`] | settings, clock, the image's memory |
//!
//! # Guarantees
//!
//! The library never changes what the program computes, never fails a call that would otherwise succeed, and
//! is inert in processes that do not call MPI: it runs no code before the first MPI call. The hot path takes
//! no lock, does not allocate, makes no system call and cannot panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod base;
mod debugger;
mod events;
mod hooks;
mod interpose;
mod mpi_t;
mod record;
