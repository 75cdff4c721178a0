//! A prefix with everything in it, as an installation has it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

use super::compile::{Architecture, Built};
use super::{man, notices};
use crate::build;

/// The libraries; the command finds them here, and they find each other.
pub const LIBRARIES: [&str; 3] = ["libmpiscope.so", "libmpiscope_handles.so", "libmpiscope_queues.so"];
/// Where they lie in the prefix.
pub const LIB: &str = "lib/mpiscope";
/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/mpiscope"),
    ("zsh", "share/zsh/site-functions/_mpiscope"),
    ("fish", "share/fish/vendor_completions.d/mpiscope.fish"),
];

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Fills `prefix`; debug information goes to `debug`, if it is wanted.
pub fn fill(prefix: &Path, built: &Built, debug: Option<&Path>) -> Result<()> {
    if prefix.exists() {
        fs::remove_dir_all(prefix)?;
    }
    let of = built.architecture;
    binary(of, &built.folder.join("mpiscope"), &prefix.join("bin/mpiscope"), debug)?;
    for library in LIBRARIES {
        binary(of, &built.folder.join(library), &prefix.join(LIB).join(library), debug)?;
    }
    let root = paths::workspace();
    copy_all(&root.join("include/mpiscope"), &prefix.join("include/mpiscope"))?;
    copy_all(&root.join("share"), &prefix.join("share/mpiscope"))?;
    copy_all(&root.join("examples"), &prefix.join("share/doc/mpiscope/examples"))?;
    let doc = prefix.join("share/doc/mpiscope");
    copy_all(&root.join("docs"), &doc.join("docs"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(file), &doc.join(file))?;
    }
    notices::write(&doc, built.epoch)?;
    for (name, file) in [("mpiscope.pc", "lib/pkgconfig/mpiscope.pc"), ("modulefile", &module_file())] {
        let text = fs::read_to_string(root.join("packaging").join(name))?;
        write(&prefix.join(file), &text.replace("@VERSION@", VERSION))?;
    }
    made_by_the_command(&built.command, prefix)
}

fn module_file() -> String {
    format!("share/modulefiles/mpiscope/{VERSION}")
}

/// Completions and manual pages.
fn made_by_the_command(mpiscope: &Path, prefix: &Path) -> Result<()> {
    for (shell, file) in COMPLETIONS {
        let output = Command::new(mpiscope).args(["completions", shell]).output()?;
        ensure!(output.status.success(), "mpiscope completions {shell}: {}", output.status);
        write(&prefix.join(file), &String::from_utf8(output.stdout)?)?;
    }
    man::write(mpiscope, &prefix.join("share/man/man1"))
}

/// Copies a program or library without what only debuggers need; that goes to `debug`.
fn binary(of: Architecture, from: &Path, to: &Path, debug: Option<&Path>) -> Result<()> {
    copy(from, to)?;
    if let Some(debug) = debug {
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = debug.join(format!("{name}.debug"));
        fs::create_dir_all(debug)?;
        build::run(of.utility("objcopy").arg("--only-keep-debug").arg(from).arg(&kept))?;
        build::run(of.utility("strip").arg("--strip-unneeded").arg(to))?;
        let link = format!("--add-gnu-debuglink={}", kept.display());
        build::run(of.utility("objcopy").arg(link).arg(to))?;
    } else {
        build::run(of.utility("strip").arg("--strip-unneeded").arg(to))?;
    }
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

fn write(to: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

/// Copies a folder; what Python leaves behind is not part of it.
pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        copy(&file, &to.join(file.strip_prefix(from)?))?;
    }
    Ok(())
}

/// All files below a folder, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true if path.ends_with("__pycache__") => {}
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}
