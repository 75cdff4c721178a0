//! How long a look at a job on a thousand hosts takes, and the report of ten thousand ranks: simulated, without MPI.

use anyhow::Result;

use crate::build;

/// Names the group.
pub const GROUP: &str = "hosts";

/// Prints time and memory; fails if one of them is beyond what is promised, or a host that does not answer is not named.
pub fn run() -> Result<()> {
    build::run(build::cargo().args(["build", "--quiet", "--release", "--package", "mpiscope"]))?;
    let mut example = build::cargo();
    example.args(["run", "--quiet", "--release", "--package", "mpiscope-job", "--features", "test-image"]);
    build::run(example.args(["--example", "hosts_scale", "--"]).arg(build::released("mpiscope")))
}
