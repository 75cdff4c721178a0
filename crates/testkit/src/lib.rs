//! Support for mpiscope's tests.
//!
//! * [`mpi`]: the installed MPI libraries, how to compile and launch with each;
//! * [`cluster`]: hosts on one machine, with a network, remote shells and Slurm;
//! * [`program`]: programs with known call counts, and [`report`]: the layer's report compared with them;
//! * [`cores`]: core files that the kernel writes;
//! * [`damage`]: corrupted data;
//! * [`schema`]: validation of JSON against its published schema;
//! * [`run`]: child processes with a time limit, and the [`family`] of each;
//! * [`trials`]: tests that are ignored with a reason where they cannot run, [`room`]: how many of them run
//!   at once, and [`order`]: which run first;
//! * [`paths`]: where cargo puts the files that the tests use.
//!
//! Nothing here is linked into the shipped programs.

pub mod cluster;
pub mod cores;
pub mod damage;
pub mod family;
pub mod mpi;
pub mod order;
pub mod paths;
pub mod program;
pub mod report;
pub mod room;
pub mod run;
#[cfg(feature = "schema")]
pub mod schema;
pub mod trials;
