//! The wheel: the files of the archive as data, which pip installs into the environment's prefix, and the
//! Python module.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use mpiscope_testkit::paths;

use super::compile::{self, How, Systems};
use super::tree;
use crate::build;

/// Maximum size of a wheel for other systems: it is downloaded often, over connections of any speed.
const MOST_BYTES: u64 = 8_000_000;

/// Lays out the files for pip: `bin` is its `scripts`, everything else goes into the prefix.
pub fn run(out: &Path, how: How) -> Result<()> {
    let built = compile::run(how, &paths::target_dir().join("dist-build"))?;
    let root = paths::workspace();
    let folder = out.join("wheel");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let data = folder.join(format!("mpiscope-{}.data", tree::VERSION));
    tree::fill(&data.join("data"), &built, None)?;
    fs::rename(data.join("data/bin"), data.join("scripts"))?;
    // `pip install --target` omits a data folder named `lib`, mistaking it for the modules' folder.
    fs::rename(data.join("data/lib"), data.join("data/lib64"))?;
    tree::copy_all(&root.join("python/mpiscope"), &folder.join("mpiscope"))?;
    // A wheel for other systems is packed as tightly as its format allows; that takes half a minute.
    let mut pack = match how.systems {
        Systems::Native => Command::new("python3"),
        Systems::Old => Command::new(compile::tools()?.join("bin/python")),
    };
    pack.arg(root.join("packaging/pack_wheel.py")).arg(&folder).arg(out);
    pack.args([tree::VERSION, &how.platform(), &built.epoch.to_string()]);
    build::run(&mut pack)?;
    check(out, how)
}

/// Checks with `auditwheel` which systems the wheel supports.
fn check(out: &Path, how: How) -> Result<()> {
    let wheel = out.join(format!("mpiscope-{}-py3-none-{}.whl", tree::VERSION, how.platform()));
    let bytes = wheel.metadata()?.len();
    println!("{} ({} kB)", wheel.display(), bytes / 1000);
    if how.systems == Systems::Native {
        return Ok(());
    }
    ensure!(bytes <= MOST_BYTES, "the wheel has {bytes} bytes, more than {MOST_BYTES}");
    let output = Command::new(compile::tools()?.join("bin/auditwheel")).arg("show").arg(&wheel).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{}", text.trim());
    ensure!(
        text.replace('\n', " ").contains(&format!("\"manylinux_2_17_{}\"", how.architecture.name())),
        "according to auditwheel, the wheel does not support the systems that it names: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
