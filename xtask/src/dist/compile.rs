//! Builds what is shipped: with paths that do not depend on where, and against a C library that is old.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

use crate::build;

/// The C library of RHEL 7 and everything younger.
const OLDEST_GLIBC: &str = "2.17";
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Zig's compiler as the linker; it carries the symbol versions of every C library.
const TOOLS: [&str; 3] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0", "auditwheel==6.8.2"];
const PACKAGES: [&str; 4] =
    ["mpiscope-layer", "mpiscope", "mpiscope-plugin-handles", "mpiscope-plugin-queues"];

/// What to build for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Any system with a C library of the last ten years.
    OldSystems,
    /// Systems like this one.
    Native,
}

impl How {
    /// The platform tag of a wheel.
    pub fn platform(self) -> &'static str {
        match self {
            Self::OldSystems => "manylinux_2_17_x86_64.manylinux2014_x86_64",
            Self::Native => "linux_x86_64",
        }
    }
}

/// What was built.
pub struct Built {
    /// The folder of the command and the libraries.
    pub folder: PathBuf,
    /// Seconds since 1970: the time of every file that is packed.
    pub epoch: u64,
}

/// Builds everything into `target`, a target directory of its own.
pub fn run(how: How, target: &Path) -> Result<Built> {
    let commit = commit()?;
    let mut command = build::cargo();
    command.arg(if how == How::OldSystems { "zigbuild" } else { "build" });
    command.args(["--quiet", "--profile", "dist", "--locked", "--target-dir"]).arg(target);
    let triple = if how == How::OldSystems { format!("{TARGET}.{OLDEST_GLIBC}") } else { TARGET.to_owned() };
    command.args(["--target", &triple]);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.env("MPISCOPE_COMMIT", &commit).env("RUSTFLAGS", flags(target)).env("CARGO_INCREMENTAL", "0");
    if how == How::OldSystems {
        command.env("PATH", path_with(&tools()?.join("bin"))?);
    }
    build::run(&mut command)?;
    Ok(Built { folder: target.join(TARGET).join("dist"), epoch: epoch()? })
}

/// A virtual environment with what is needed of PyPI.
pub fn tools() -> Result<PathBuf> {
    let folder = paths::target_dir().join("dist-tools");
    let mark = folder.join(TOOLS.join(" "));
    if !mark.is_file() {
        build::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        build::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet"]).args(TOOLS))?;
        std::fs::write(&mark, "")?;
    }
    Ok(folder)
}

/// The search path with this folder first.
fn path_with(folder: &Path) -> Result<OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(std::iter::once(folder.to_owned()).chain(env::split_paths(&rest)))?)
}

/// No file tells where it was built.
fn flags(target: &Path) -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let workspace = paths::workspace();
    let workspace = workspace.canonicalize().unwrap_or(workspace);
    let names = [(Some(workspace), "/mpiscope"), (home, "/cargo"), (Some(target.to_owned()), "/target")];
    let remapped = names
        .iter()
        .filter_map(|(from, to)| Some(format!("--remap-path-prefix={}={to}", from.as_ref()?.display())));
    remapped.collect::<Vec<_>>().join(" ")
}

/// The commit, marked if there are changes to it.
fn commit() -> Result<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Ok(if changes.is_empty() { commit } else { format!("{commit}, with changes") })
}

/// SOURCE_DATE_EPOCH, else the time of the commit.
pub fn epoch() -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => git(&["log", "-1", "--format=%ct"])?,
    };
    text.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH={text}: not a number of seconds"))
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(paths::workspace()).args(arguments).output()?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
