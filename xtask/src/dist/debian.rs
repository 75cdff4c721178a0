//! A Debian package of the files in the archive.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use mpiscope_testkit::paths;

use super::compile::{self, Architecture, How};
use super::tree;
use crate::build;

pub fn run(out: &Path, how: How) -> Result<()> {
    let built = compile::run(how, &paths::target_dir().join("dist-build"))?;
    let folder = out.join("deb");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let prefix = folder.join("usr");
    tree::fill(&prefix, &built, None)?;
    compress(&prefix, built.epoch)?;
    fs::create_dir_all(folder.join("DEBIAN"))?;
    fs::write(folder.join("DEBIAN/control"), control(&prefix, how.architecture)?)?;
    fs::write(folder.join("DEBIAN/md5sums"), sums(&folder)?)?;
    let package = out.join(format!("mpiscope_{}_{}.deb", tree::VERSION, how.architecture.debian()));
    let mut command = Command::new("dpkg-deb");
    command.env("SOURCE_DATE_EPOCH", built.epoch.to_string());
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(&folder).arg(&package);
    build::run(&mut command)?;
    println!("{} ({} kB)", package.display(), package.metadata()?.len() / 1000);
    Ok(())
}

/// Debian's policy requires compressed manual pages and the license under this name.
fn compress(prefix: &Path, epoch: u64) -> Result<()> {
    let doc = prefix.join("share/doc/mpiscope");
    let mut copyright = String::from(
        "mpiscope is licensed under the MIT License or the Apache License 2.0, at your choice.\n\n",
    );
    copyright += &fs::read_to_string(doc.join("LICENSE-MIT"))?;
    copyright += "\nThe Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n";
    copyright += "Notices of the libraries linked into it are in /usr/share/doc/mpiscope/LICENSES.txt.\n";
    fs::write(doc.join("copyright"), copyright)?;
    fs::remove_file(doc.join("LICENSE-MIT"))?;
    fs::remove_file(doc.join("LICENSE-APACHE"))?;
    let pages = tree::files(&prefix.join("share/man"))?;
    build::run(Command::new("gzip").args(["-9", "-n"]).args(&pages))?;
    // gzip keeps the times of the files; all other times are set when the package is built.
    let mut touch = Command::new("find");
    touch.arg(prefix).args(["-newermt", &format!("@{epoch}"), "-exec", "touch", "--no-dereference"]);
    build::run(touch.arg(format!("--date=@{epoch}")).args(["{}", "+"]))
}

fn control(prefix: &Path, architecture: Architecture) -> Result<String> {
    let mut size = 0;
    for file in tree::files(prefix)? {
        size += file.metadata()?.len();
    }
    Ok(format!(
        "Package: mpiscope\nVersion: {}\nArchitecture: {}\nSection: devel\nPriority: optional\n\
         Maintainer: The mpiscope authors <mpiscope@example.org>\nInstalled-Size: {}\n\
         Depends: libc6 (>= 2.17)\nSuggests: gdb\n\
         Description: See inside any MPI job, without rebuilding it\n \
         One preload library and one command: why a job hangs, what each rank is\n \
         doing, where the time went, what is behind a handle. For MPICH and its\n \
         family, Open MPI, and libraries of the MPI standard ABI.\n",
        tree::VERSION,
        architecture.debian(),
        size.div_ceil(1024)
    ))
}

fn sums(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for file in tree::files(&folder.join("usr"))? {
        let output = Command::new("md5sum").arg("--binary").stdin(fs::File::open(&file)?).output()?;
        let sum = String::from_utf8(output.stdout)?;
        let sum = sum.split_whitespace().next().context("md5sum printed nothing")?;
        writeln!(text, "{sum}  {}", file.strip_prefix(folder)?.display())?;
    }
    Ok(text)
}
