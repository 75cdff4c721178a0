//! The *image* of a process: what the preload library knows, as bytes that any process may read.
//!
//! One image belongs to one process. It is a shared mapping of a memory file (`memfd`), so it can be read
//! without stopping the process, after the process was killed (while any process still holds the file) and
//! inside a core file. It contains no pointers: every reference is an offset from the first byte of the
//! image.
//!
//! ```text
//! 0      Header        magic, version, byte order, clock, loss counters, directory
//! 4096   section       a run of records of one kind and one size
//!        section       …
//! ```
//!
//! The directory in the header lists the *sections* in the order of their creation. A table that grows gets a
//! further section of the same kind, twice as long; record indices count through all sections of a kind. A
//! reader steps by the record size stated by the section and reads only the fields it knows, so fields can be
//! added at the end of a record without a new version.
//!
//! # Who writes, who reads
//!
//! A record has one writer at a time. A record that must be read consistently begins with a *sequence number*
//! ([`Seq`]): odd while the record is being written, changed by every write. A reader copies the record
//! between two reads of the number and tries again if it changed; after a bounded number of tries it reports
//! the record as torn. Counters are separate 64-bit words and need no such number. Writers never wait for
//! readers.
//!
//! A reader trusts nothing: every count, offset, size and string is bounded before it is used, and a damaged
//! image results in an [`Error`], never in a crash or an endless loop.

#![deny(unsafe_code)]

mod call;
pub mod call_path;
pub mod cell;
mod chars;
pub mod derive;
pub mod faults;
mod functions;
pub mod history;
pub mod launcher;
pub mod layout;
pub mod mapped;
pub mod mixture;
pub mod objects;
pub mod one_sided;
mod read;
mod records;
pub mod runtime;
pub mod signature;
pub mod sites;
mod text;
pub mod trace;
pub mod traffic;
pub mod variables;
mod write;

pub use cell::{Seq, W16, W32, W64};
pub use functions::{Function, Functions, words};
pub use read::{Error, Image, Record, Snapshot, Source, Table};
pub use text::text;
pub use write::{Grow, NewImage, Writer};
