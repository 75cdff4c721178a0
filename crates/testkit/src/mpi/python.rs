//! mpi4py, whose wheel runs on any of the libraries.

use std::path::PathBuf;
use std::process::Command;

use super::Library;
use super::fetch;
use crate::paths;

/// mpi4py, unpacked.
#[derive(Debug, Clone)]
pub struct Mpi4py {
    /// To be in `PYTHONPATH`.
    pub path: PathBuf,
    /// The interpreter whose version the wheel was chosen for.
    pub python: PathBuf,
}

impl Mpi4py {
    /// Sets what makes mpi4py use `library`.
    pub fn set_environment(&self, library: &Library, command: &mut Command) {
        library.set_environment(command);
        command.env("PYTHONPATH", &self.path).env("MPI4PY_LIBMPI", &library.libmpi);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
    }
}

/// mpi4py, when it was fetched.
#[must_use]
pub fn mpi4py() -> Option<Mpi4py> {
    let path = fetch::fetched("mpi4py").ok()?;
    let python = paths::in_path("python3")?;
    Some(Mpi4py { path, python })
}

/// The program that runs mpi4py's own tests; else why it is not there.
///
/// # Errors
/// When the tests were not fetched, with the reason.
pub fn mpi4py_tests() -> Result<PathBuf, String> {
    Ok(fetch::fetched("mpi4py-tests")?.join("main.py"))
}
