//! `mpiscope-VERSION-ARCHITECTURE.tar.xz`, and the debug information as a second archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use mpiscope_testkit::paths;

use super::compile::{self, How};
use super::tree;
use crate::build;

/// Builds and packs; returns the archive.
pub fn run(out: &Path, how: How) -> Result<PathBuf> {
    of_target(out, how, &paths::target_dir().join("dist-build"))
}

/// The same with this target directory.
pub fn of_target(out: &Path, how: How, target: &Path) -> Result<PathBuf> {
    let built = compile::run(how, target)?;
    let name = format!("mpiscope-{}-{}", tree::VERSION, how.architecture.name());
    let debug = format!("{name}-debug");
    std::fs::create_dir_all(out)?;
    let folder = out.join("tree");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    tree::fill(&folder.join(&name), &built, Some(&folder.join(&debug)))?;
    pack(&folder, &debug, &out.join(format!("{debug}.tar.xz")), built.epoch)?;
    let archive = out.join(format!("{name}.tar.xz"));
    pack(&folder, &name, &archive, built.epoch)?;
    Ok(archive)
}

/// Packs a folder reproducibly: equal files yield equal bytes.
fn pack(folder: &Path, name: &str, archive: &Path, epoch: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u=rwX,go=rX",
        "--format=gnu",
    ]);
    tar.arg(format!("--mtime=@{epoch}")).args(["--use-compress-program=xz -4 -T1", "--create", "--file"]);
    build::run(tar.arg(archive).arg("--directory").arg(folder).arg(name))?;
    println!("{} ({} kB)", archive.display(), archive.metadata()?.len() / 1000);
    Ok(())
}
