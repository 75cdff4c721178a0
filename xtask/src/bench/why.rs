//! How long the verdict on a large job takes: of simulated ones, without MPI.

use anyhow::Result;

use crate::build;

/// Names the group.
pub const GROUP: &str = "why";

/// Prints time and memory for each job; fails if one of them is beyond what is promised.
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
