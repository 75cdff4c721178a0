//! Packs the libraries for tool authors as for a registry, and builds the packages.

use anyhow::Result;

use crate::build;

/// In the order of their dependencies.
const LIBRARIES: [&str; 6] =
    ["mpi-abi", "mpiscope-image", "mpiscope-target", "mpiscope-debug-interfaces", "mpiscope-job", "mpit"];

/// A dry run: publishes nothing.
pub fn run() -> Result<()> {
    let mut command = build::cargo();
    command.args(["publish", "--dry-run", "--quiet", "--locked"]);
    build::run(command.args(LIBRARIES.iter().flat_map(|library| ["--package", library])))?;
    println!("ready to publish: {}", LIBRARIES.join(", "));
    Ok(())
}
