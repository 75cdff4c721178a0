//! Packs the libraries for tool authors as for a registry, builds the packages, and compares the libraries with those
//! of an earlier revision. The libraries are the crates that do not say `publish = false`.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::build;

/// A dry run: publishes nothing. `since` is the revision of the last release.
pub fn run(since: Option<&str>) -> Result<()> {
    build::run(&mut publish())?;
    println!("ready to publish");
    since.map_or(Ok(()), compare)
}

/// Packs the libraries, without building the packages.
pub fn pack() -> Command {
    let mut command = publish();
    command.args(["--no-verify", "--allow-dirty"]);
    command
}

fn publish() -> Command {
    let mut command = build::cargo();
    command.args(["publish", "--workspace", "--dry-run", "--quiet", "--locked"]);
    command
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
    build::run(command.args(["semver-checks", "--workspace", "--baseline-rev", since]))
}
