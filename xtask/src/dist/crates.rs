//! Packs the libraries for tool authors as for a registry, builds the packages, and compares the libraries with those
//! of an earlier revision.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::build;

/// In the order of their dependencies.
const LIBRARIES: [&str; 6] =
    ["mpi-abi", "mpiscope-image", "mpiscope-target", "mpiscope-debug-interfaces", "mpiscope-job", "mpit"];

/// A dry run: publishes nothing. `since` is the revision of the last release.
pub fn run(since: Option<&str>) -> Result<()> {
    let mut command = build::cargo();
    command.args(["publish", "--dry-run", "--quiet", "--locked"]);
    build::run(command.args(packages()))?;
    println!("ready to publish: {}", LIBRARIES.join(", "));
    since.map_or(Ok(()), compare)
}

fn packages() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().flat_map(|library| ["--package", library])
}

/// Fails if a program that uses a library as of that revision might not compile with the present one, although
/// the versions say so.
fn compare(since: &str) -> Result<()> {
    let mut known = build::cargo();
    known.args(["semver-checks", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !known.status().is_ok_and(|status| status.success()) {
        bail!("cargo-semver-checks is not installed (cargo install cargo-semver-checks)");
    }
    let mut command = build::cargo();
    command.args(["semver-checks", "--baseline-rev", since]).args(packages());
    build::run(&mut command)
}
