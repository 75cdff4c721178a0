//! Builds the tested and demonstrated programs in release mode.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

/// The cargo of the same toolchain, run in the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(paths::workspace());
    command
}

/// Builds the preload library, the debugger plug-ins, the command and the mock MPI.
///
/// # Errors
/// If cargo fails.
pub fn release() -> Result<()> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "mpiscope-layer", "--package", "mpiscope"]);
    command.args(["--package", "mpiscope-plugin-handles", "--package", "mpiscope-plugin-queues"]);
    command.args(["--package", "mpiscope-mock-mpi"]);
    run(&mut command)
}

/// The path of a file built by [`release`], even if the target directory has newer builds of other profiles.
#[must_use]
pub fn released(file: &str) -> PathBuf {
    paths::target_dir().join("release").join(file)
}

/// `cargo test` on exactly the files built by [`release`].
pub fn tests() -> Command {
    let mut command = cargo();
    command.arg("test").env("MPISCOPE_BIN", released("mpiscope"));
    command.env("MPISCOPE_LIB", released("libmpiscope.so")).env("MPISCOPE_MOCK", released("libmockmpi.so"));
    command
}

/// Installs Rust's standard library for another target.
pub fn add_target(target: &str) -> Result<()> {
    run(Command::new("rustup").args(["--quiet", "target", "add", target]))
}

/// Runs a command to completion, with our standard output.
///
/// # Errors
/// If it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
