//! Time for the verdict on a large job, simulated without MPI.

use anyhow::Result;

use crate::build;

/// Name of the group.
pub const GROUP: &str = "why";

/// Prints time and memory for each job; fails if one of them exceeds its limit.
pub fn run() -> Result<()> {
    let mut example = build::cargo();
    build::run(example.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "mpiscope-job",
        "--features",
        "test-image",
        "--example",
        "why_scale",
    ]))
}
