//! mpi4py, whose wheel runs on any of the libraries.

use std::path::PathBuf;
use std::process::Command;

use super::Library;
use super::fetch;
use crate::paths;

/// mpi4py, unpacked.
#[derive(Debug, Clone)]
pub struct Mpi4py {
    /// The directory for `PYTHONPATH`.
    pub path: PathBuf,
    /// The interpreter for whose version the wheel was chosen.
    pub python: PathBuf,
}

impl Mpi4py {
    /// Sets the environment that makes mpi4py use `library`.
    pub fn set_environment(&self, library: &Library, command: &mut Command) {
        library.set_environment(command);
        command.env("PYTHONPATH", &self.path).env("MPI4PY_LIBMPI", &library.libmpi);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
    }
}

/// mpi4py, if it was fetched.
#[must_use]
pub fn mpi4py() -> Option<Mpi4py> {
    let path = fetch::fetched("mpi4py").ok()?;
    let python = paths::in_path("python3")?;
    Some(Mpi4py { path, python })
}

/// The program that runs mpi4py's own tests.
///
/// # Errors
/// The reason, if the tests were not fetched.
pub fn mpi4py_tests() -> Result<PathBuf, String> {
    Ok(fetch::fetched("mpi4py-tests")?.join("main.py"))
}
