//! The MPI tool information interface: all `MPI_T_*` and `PMPI_T_*` functions of MPI 5.0, on every library.
//!
//! The engine is the crate `mpit`; this module has its C interface, our own variables and events, and access
//! to the library's.
//!
//! ```text
//!   tool ──► entry points (lifecycle, cvar, pvar, enumeration, category, event, source)
//!                 │  numbers and handles of the ABI: codes, handles
//!                 ▼
//!            REGISTRY ◄── own: what the image knows         indices first, the same on every library
//!                     ◄── library: what the library offers  appended as it appears, under its own names
//! ```
//!
//! Indices and handles are checked here; the library below only sees those that it returned. Nothing is
//! allocated or read in it unless the tool requests it. These functions are not hooked: they are not counted
//! as MPI calls.

pub mod bound;
pub mod builtin;
mod c;
mod category;
mod codes;
mod cvar;
mod describe;
mod enumeration;
mod event;
pub mod events;
mod handles;
mod info;
mod library;
mod lifecycle;
mod node_images;
mod other_ranks;
mod own_categories;
mod program;
mod pvar;
mod raw_text;
mod recording;
mod source;
mod ticks;
pub mod values;

use mpit::Registry;

/// Everything that tools can see.
pub static REGISTRY: Registry = Registry::new();
