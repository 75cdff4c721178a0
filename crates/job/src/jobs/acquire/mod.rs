//! Process acquisition: from any process of a job to all processes of all worlds connected with it.
//!
//! ```text
//!  rank ─ meta ─► metadirectory ─┬─ process table ─► ranks of its world ─► (each one's block is read as well)
//!                                ├─ directories ───► spawned worlds
//!                                └─ metadirectories ► jobs that it is connected with
//! ```
//!
//! There are three sources, best first: the tables of the MPI2 debugger interface ([`mpi2dd`]), MPIR's table
//! in a starter ([`mpir`]), and the images of processes of the same job ([`images`]). `traversal` follows
//! them until nothing new appears. Other hosts are asked about their own processes (`hosts`).
//!
//! Data read from a process is used only if it is bounded and consistent: sizes, strings and loops have
//! limits, a table that changes while it is read is read again, and a pid that now belongs to another program
//! means that the process has ended. A table is only as trustworthy as the owner of its process, so it never
//! leads to a process of another user ([`Users`]). An answer of another host is trusted about that host's own
//! processes; it may name others, which are listed only if their own host confirms them.

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

/// The layouts that a program fills in to appear to debuggers as the starter of a job.
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
