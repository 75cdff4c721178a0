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
//! * [`stubs`] exports `MPI_X` and `PMPI_X` for every function: one indirect jump each, registers untouched.
//! * [`arch`] has what no high-level language can say: stubs, the *gate* with its depth guard, the resolver's
//!   register saving, the thread-local block, the trampolines of user callbacks.
//! * [`resolve`] finds the real library at the first MPI call, tells its ABI by its symbols, fills the slots.
//! * [`call`] is the frame around every hooked call: the thread's current call, count, time, bytes.
//! * [`hooks`] are the hooks themselves, generated from the function table and the overlays `hooks/*.tsv`.
//! * [`debugger`] has the symbols and tables by which debuggers find the processes of the job.
//! * [`beside`] watches functions that are no calls, but tell about objects made from Fortran.
//! * [`caller`] finds the program's own line behind a Fortran binding.
//! * [`narrow`] carries out large-count calls on libraries that have none.
//! * [`traffic`] follows messages, requests and collectives.
//! * [`tool`] is the MPI tool information interface.
//! * [`image`] makes and maps the image, [`identity`] fills in who the process is.
//!
//! # What it promises
//!
//! The library never changes what the program computes, never fails a call that would succeed, and is inert in
//! processes that do not call MPI: it runs no code before the first MPI call. The hot path takes no lock, does
//! not allocate, makes no system call and cannot panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod abstract_socket;
mod arch;
mod beside;
mod bytes;
mod call;
mod callbacks;
mod caller;
mod clock;
mod collector;
mod debugger;
mod hooks;
mod identity;
mod image;
mod lifecycle;
mod narrow;
mod objects;
mod real;
mod resolve;
mod settings;
mod stubs;
mod threads;
mod tls;
mod tool;
mod traffic;
