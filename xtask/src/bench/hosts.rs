//! Time to read a job on a thousand hosts and to make the report of ten thousand ranks, both simulated
//! without MPI.

use anyhow::Result;

use crate::build;

/// Name of the group.
pub const GROUP: &str = "hosts";

/// Prints time and memory; fails if one of them exceeds its limit, or if a host that does not answer is not
/// named.
pub fn run() -> Result<()> {
    build::run(build::cargo().args(["build", "--quiet", "--release", "--package", "mpiscope"]))?;
    let mut example = build::cargo();
    example.args(["run", "--quiet", "--release", "--package", "mpiscope-job", "--features", "test-image"]);
    build::run(example.args(["--example", "hosts_scale", "--"]).arg(build::released("mpiscope")))
}
