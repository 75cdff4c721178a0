//! What the tests of mpiscope stand on.
//!
//! * [`mpi`]: the real MPI libraries at hand, how to compile for each and how to launch on each;
//! * [`cluster`]: hosts on one machine, with a network, remote shells and Slurm;
//! * [`program`]: the programs with known call counts, [`report`]: what the layer says, held against them;
//! * [`cores`]: core files that the kernel writes;
//! * [`damage`]: bytes as they must never be;
//! * [`schema`]: JSON held against its published form;
//! * [`run`]: child processes that cannot outlive their time, with the [`family`] of each;
//! * [`trials`]: tests that are ignored with a reason where they cannot be run, [`room`]: how many of them run at once, and
//!   [`order`]: which come first;
//! * [`paths`]: where cargo puts what the tests use.
//!
//! Nothing here is linked into what users run.

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
