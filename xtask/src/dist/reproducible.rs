//! Checks that two builds of the same commit are equal, byte for byte.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use mpiscope_testkit::paths;

use super::archive;
use super::compile::How;
use super::tree::files;

pub fn run(out: &Path, how: How) -> Result<()> {
    let target = paths::target_dir();
    let one = archive::of_target(&out.join("one"), how, &target.join("dist-build"))?;
    let other = archive::of_target(&out.join("other"), how, &target.join("dist-build-again"))?;
    if fs::read(&one)? == fs::read(&other)? {
        println!("equal: {} and {}", one.display(), other.display());
        return Ok(());
    }
    let (one, other) = (out.join("one/tree"), out.join("other/tree"));
    for file in files(&one)? {
        let name = file.strip_prefix(&one)?;
        if fs::read(&file)? != fs::read(other.join(name))? {
            println!("differs: {}", name.display());
        }
    }
    bail!("two builds of the same sources differ")
}
