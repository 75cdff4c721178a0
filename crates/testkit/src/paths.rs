//! Where cargo puts the files that the tests use.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the workspace. Cargo passes the package's directory at run time; the path that was compiled in
/// may belong to another checkout if a target directory was copied.
#[must_use]
pub fn workspace() -> PathBuf {
    let compiled = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let by_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    by_cargo
        .as_deref()
        .and_then(containing)
        .or_else(|| containing(&compiled))
        .map_or_else(|| compiled.clone(), Path::to_path_buf)
}

/// The directory above `package` that contains this crate.
fn containing(package: &Path) -> Option<&Path> {
    package.ancestors().find(|dir| dir.join(PROGRAMS).is_dir())
}

/// The path of the test programs' sources in the workspace.
const PROGRAMS: &str = "crates/testkit/programs";

/// Cargo's target directory: `CARGO_TARGET_DIR`, or `target` in the workspace.
#[must_use]
pub fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => workspace().join(dir),
        None => workspace().join("target"),
    }
}

/// The directory of fetched MPI libraries: `MPISCOPE_MPI_DIR`, so that several checkouts can share one copy,
/// or `mpi` in the target directory.
#[must_use]
pub fn mpi_dir() -> PathBuf {
    match env::var_os("MPISCOPE_MPI_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => workspace().join(dir),
        None => target_dir().join("mpi"),
    }
}

/// The C and Fortran sources of the test programs.
#[must_use]
pub fn programs() -> PathBuf {
    workspace().join(PROGRAMS)
}

/// The first file named `name` in `PATH`.
#[must_use]
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// The `mpiscope` command to test: `MPISCOPE_BIN`, or the newest build in the target directory.
#[must_use]
pub fn mpiscope() -> Option<PathBuf> {
    built("MPISCOPE_BIN", "mpiscope")
}

/// The preload library to test: `MPISCOPE_LIB`, or the newest build in the target directory.
#[must_use]
pub fn libmpiscope() -> Option<PathBuf> {
    built("MPISCOPE_LIB", "libmpiscope.so")
}

/// The mock MPI library: `MPISCOPE_MOCK`, or the newest build in the target directory.
#[must_use]
pub fn mock_library() -> Option<PathBuf> {
    built("MPISCOPE_MOCK", "libmockmpi.so")
}

fn built(variable: &str, file: &str) -> Option<PathBuf> {
    if let Some(named) = env::var_os(variable).filter(|value| !value.is_empty()) {
        return Some(PathBuf::from(named)).filter(|path| path.is_file());
    }
    ["release", "debug"]
        .map(|profile| target_dir().join(profile).join(file))
        .into_iter()
        .filter(|path| path.is_file())
        .max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}
