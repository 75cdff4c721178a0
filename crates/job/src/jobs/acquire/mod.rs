//! Process acquisition: from any process of a job to all processes of all worlds that are connected with it.
//!
//! ```text
//!  rank ─ meta ─► metadirectory ─┬─ process table ─► ranks of its world ─► (each one's block is read as well)
//!                                ├─ directories ───► spawned worlds
//!                                └─ metadirectories ► jobs that it is connected with
//! ```
//!
//! Three sources, best first: the tables of the MPI2 debugger interface ([`mpi2dd`]), MPIR's table in a starter
//! ([`mpir`]), and the images that processes of the same job have ([`images`]). `traversal` follows them until nothing new
//! appears. Processes of other hosts are asked for there (`hosts`).
//!
//! Everything read from a process is believed only as far as it is bounded and hangs together: sizes, strings and loops
//! have limits, a table that changes while it is read is read again, and a process id that now belongs to another
//! program is one that has ended. What a table says is no more than the word of its process's owner: it leads to no
//! process of another user ([`Users`]). What another host answers is believed of its own processes; it may name others, which
//! are listed only if their own host confirms them.

mod error;
mod hosts;
pub mod images;
mod model;
pub mod mpi2dd;
pub mod mpir;
mod release;
mod remote;
mod traversal;
mod users;
mod way;
mod who;

/// The layouts that a program fills in to be known to debuggers as the starter of a job.
pub use mpiscope_debug_interfaces as layouts;

pub use error::Error;
pub use hosts::{Hosts, SystemHosts, Whom};
pub use images::ImageEntry;
pub use model::{Acquired, Entry, JobKey, ProcessLocation, Spawned};
pub use release::release;
pub use remote::{Remote, host_limit};
pub use traversal::{Scope, Start, acquire};
pub use users::Users;
pub use who::{LastStage, WhoIs};
