//! Builds the shipped files, independently of the build path and against an old C library.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

use crate::build;

/// The C library of RHEL 7; all newer ones work too.
const OLDEST_GLIBC: &str = "2.17";
/// Zig's compiler is the linker; it includes the symbol versions of every C library.
const TOOLS: [&str; 4] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0", "auditwheel==6.8.2", "zopflipy==1.14"];
const TYPE_CHECKER: &str = "mypy==2.4.1";
const PACKAGES: [&str; 4] =
    ["mpiscope-layer", "mpiscope", "mpiscope-plugin-handles", "mpiscope-plugin-queues"];

/// The target of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    pub systems: Systems,
    pub architecture: Architecture,
}

/// The systems to support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Systems {
    /// Any system with a C library of the last ten years.
    Old,
    /// Systems like this one.
    Native,
}

/// The processors to support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Architecture {
    #[value(name = "x86_64")]
    X86,
    #[value(name = "aarch64")]
    Arm,
}

impl Architecture {
    /// The architecture of this machine.
    pub const HERE: Self = if cfg!(target_arch = "aarch64") { Self::Arm } else { Self::X86 };

    /// The name used in archives and wheels.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    /// Debian's name.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }

    fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// One of the binary utilities, for files of this architecture.
    pub fn utility(self, name: &str) -> Command {
        let foreign = self != Self::HERE;
        Command::new(if foreign { format!("{}-linux-gnu-{name}", self.name()) } else { name.to_owned() })
    }
}

impl How {
    /// The platform tag of a wheel.
    pub fn platform(self) -> String {
        let architecture = self.architecture.name();
        match self.systems {
            Systems::Old => format!("manylinux_2_17_{architecture}.manylinux2014_{architecture}"),
            Systems::Native => format!("linux_{architecture}"),
        }
    }
}

/// The result of a build.
pub struct Built {
    /// The folder with the command and the libraries.
    pub folder: PathBuf,
    /// The command for this machine, which writes manual pages and completions.
    pub command: PathBuf,
    pub architecture: Architecture,
    /// The modification time of all packed files, in seconds since 1970.
    pub epoch: u64,
}

/// Builds everything into `target`, a separate target directory.
pub fn run(how: How, target: &Path) -> Result<Built> {
    let commit = commit()?;
    let (old, name) = (how.systems == Systems::Old, how.architecture.target());
    let mut command = build::cargo();
    command.arg(if old { "zigbuild" } else { "build" });
    command.args(["--quiet", "--profile", "dist", "--locked", "--target-dir"]).arg(target);
    let triple = if old { format!("{name}.{OLDEST_GLIBC}") } else { name.clone() };
    command.args(["--target", &triple]);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.env("MPISCOPE_COMMIT", &commit).env("CARGO_INCREMENTAL", "0");
    // Encoded, because a path may contain spaces, at which RUSTFLAGS would be split.
    command.env("CARGO_ENCODED_RUSTFLAGS", flags(target)).env_remove("RUSTFLAGS");
    if old {
        command.env("PATH", path_with(&tools()?.join("bin"))?);
    }
    let here = how.architecture == Architecture::HERE;
    if !here {
        let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase().replace('-', "_"));
        if !old {
            command.env(linker, format!("{}-linux-gnu-gcc", how.architecture.name()));
        }
        build::add_target(&name)?;
    }
    build::run(&mut command)?;
    let folder = target.join(name).join("dist");
    let command = if here { folder.join("mpiscope") } else { command_for_here(&commit)? };
    Ok(Built { folder, command, architecture: how.architecture, epoch: epoch()? })
}

/// Builds the command for this machine when the shipped files are for another one.
fn command_for_here(commit: &str) -> Result<PathBuf> {
    let mut command = build::cargo();
    command.args(["build", "--quiet", "--release", "--locked", "--package", "mpiscope"]);
    build::run(command.env("MPISCOPE_COMMIT", commit))?;
    Ok(paths::target_dir().join("release/mpiscope"))
}

/// A virtual environment with the required packages from PyPI.
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

/// mypy, to check the types of the Python module.
pub fn type_checker() -> Result<PathBuf> {
    let folder = paths::target_dir().join("type-checker");
    let mypy = folder.join("bin/mypy");
    if !mypy.is_file() {
        build::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        build::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", TYPE_CHECKER]))?;
    }
    Ok(mypy)
}

/// PATH with this folder first.
fn path_with(folder: &Path) -> Result<OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(std::iter::once(folder.to_owned()).chain(env::split_paths(&rest)))?)
}

/// Flags that keep the build path out of the files, in the format of `CARGO_ENCODED_RUSTFLAGS`.
fn flags(target: &Path) -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let workspace = paths::workspace();
    let workspace = workspace.canonicalize().unwrap_or(workspace);
    let names = [(Some(workspace), "/mpiscope"), (home, "/cargo"), (Some(target.to_owned()), "/target")];
    let remapped = names
        .iter()
        .filter_map(|(from, to)| Some(format!("--remap-path-prefix={}={to}", from.as_ref()?.display())));
    remapped.collect::<Vec<_>>().join("\x1f")
}

/// The commit, marked if there are uncommitted changes.
fn commit() -> Result<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Ok(if changes.is_empty() { commit } else { format!("{commit}, with changes") })
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
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
