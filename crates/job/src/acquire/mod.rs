//! Process acquisition: from any process of a job to all processes of all worlds that are connected with it.
//!
//! ```text
//!  rank ─ meta ─► metadirectory ─┬─ process table ─► ranks of its world ─► (each one's block is read as well)
//!                                ├─ directories ───► spawned worlds
//!                                └─ metadirectories ► jobs that it is connected with
//! ```
//!
//! Three sources, best first: the tables of the MPI2 debugger interface ([`mpi2dd`]), MPIR's table in a starter
//! ([`mpir`]), and the images that processes of the same job have ([`records`]). [`walk`] follows them until nothing new
//! appears. Processes of other hosts are asked for there ([`reach`]).
//!
//! Everything read from a process is believed only as far as it is bounded and hangs together: sizes, strings and loops
//! have limits, a table that changes while it is read is read again, and a process id that now belongs to another
//! program is one that has ended.

mod error;
mod model;
pub mod mpi2dd;
pub mod mpir;
mod reach;
pub mod records;
mod release;
mod walk;

pub use error::Error;
pub use model::{Acquired, Entry, Place, Spawned};
pub use reach::{Reach, System};
pub use records::Record;
pub use release::release;
pub use walk::{Start, acquire};
