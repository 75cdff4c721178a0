//! Manual pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use mpiscope_testkit::paths;

use crate::build;

pub fn run(out: &Path) -> Result<()> {
    build::run(build::cargo().args(["build", "--quiet", "--release", "--package", "mpiscope"]))?;
    write(&paths::target_dir().join("release/mpiscope"), out)?;
    println!("{}", out.display());
    Ok(())
}

/// Writes the manual pages of this command.
pub fn write(mpiscope: &Path, out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    build::run(Command::new(mpiscope).arg("man-pages").arg(out))
}
