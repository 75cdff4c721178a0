//! Ranks that wait without spinning, for jobs that are only idle: waiting ranks occupy whole processors in
//! most MPI libraries, which would slow down concurrent trials and the command that inspects the ranks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use mpiscope_testkit::paths;

/// Makes the ranks that a command starts sleep while they wait. Not for programs that poll: they would poll
/// less often than usual.
pub fn have(command: &mut Command) -> Result<()> {
    command.env("LD_PRELOAD", library()?);
    Ok(())
}

/// The library that is preloaded for this, compiled once.
fn library() -> Result<&'static Path> {
    static LIBRARY: OnceLock<Result<PathBuf>> = OnceLock::new();
    let compiled = LIBRARY.get_or_init(compile).as_ref();
    compiled.map(PathBuf::as_path).map_err(|error| anyhow!("{error:#}"))
}

fn compile() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(folder)?;
    // A concurrent run of the tests may be using the file.
    let (file, made) =
        (folder.join("patience.so"), folder.join(format!("patience.{}.so", std::process::id())));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(paths::programs().join("patience.c"));
    ensure!(cc.status().context("cc")?.success(), "patience.c cannot be compiled");
    fs::rename(made, &file)?;
    Ok(file)
}
