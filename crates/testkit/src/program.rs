//! The test programs: what each requires of a library and how it is launched.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::mpi::{Abi, Family, Library};
use crate::paths;

/// A program's requirement of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing beyond MPI 3.1.
    Nothing,
    /// Sessions, partitioned communication, persistent collectives.
    Mpi4Parts,
    /// The `_c` variants.
    LargeCounts,
    /// `mpif.h`.
    Fortran,
    /// `mpi_f08`.
    F08,
}

impl Needs {
    /// The reason why `library` cannot run the program, if any.
    #[must_use]
    pub fn missing_in(self, library: &Library) -> Option<&'static str> {
        // Open MPI 5 reports MPI 3.1 but has these parts of 4.0.
        let parts = library.has(4, 0) || library.version.starts_with("Open MPI v5");
        match self {
            Self::Mpi4Parts if !parts => Some("the library is older than MPI 4.0"),
            Self::LargeCounts if !library.has(4, 0) => Some("the library has no large counts"),
            Self::Fortran if library.fortran.is_none() => Some("no Fortran binding is installed"),
            Self::F08 if !library.fortran.as_ref().is_some_and(|fortran| fortran.f08) => {
                Some("no mpi_f08 module is installed")
            }
            _ => None,
        }
    }
}

/// A program with known call counts.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Name of the source file, without its extension.
    pub name: &'static str,
    /// Number of ranks it runs with.
    pub ranks: usize,
    /// The requirement.
    pub needs: Needs,
}

const fn program(name: &'static str, ranks: usize, needs: Needs) -> Program {
    Program { name, ranks, needs }
}

/// All programs that end normally.
pub const PROGRAMS: [Program; 24] = [
    program("p2p_modes", 4, Needs::Nothing),
    program("p2p_completion", 2, Needs::Nothing),
    program("collectives", 4, Needs::Nothing),
    program("collectives_nonblocking", 4, Needs::Nothing),
    program("collectives_persistent", 4, Needs::Mpi4Parts),
    program("large_count", 2, Needs::LargeCounts),
    program("rma", 4, Needs::Nothing),
    program("mpi_io", 2, Needs::Nothing),
    program("sessions", 2, Needs::Mpi4Parts),
    program("partitioned", 2, Needs::Mpi4Parts),
    program("spawn", 2, Needs::Nothing),
    program("threads", 2, Needs::Nothing),
    program("callbacks", 4, Needs::Nothing),
    program("attributes", 2, Needs::Nothing),
    program("datatypes", 2, Needs::Nothing),
    program("groups_comms", 4, Needs::Nothing),
    program("topologies", 4, Needs::Nothing),
    program("misc", 2, Needs::Nothing),
    program("errors_return", 2, Needs::Nothing),
    program("descriptors", 2, Needs::Nothing),
    program("descriptors_all", 2, Needs::Nothing),
    program("intercomm", 4, Needs::Nothing),
    program("fortran_mpif", 2, Needs::Fortran),
    program("fortran_f08", 2, Needs::F08),
];

impl Program {
    /// The source file.
    #[must_use]
    pub fn source(&self) -> PathBuf {
        let ending = if self.is_fortran() { "f90" } else { "c" };
        paths::programs().join(format!("{}.{ending}", self.name))
    }

    /// Whether it is written in Fortran.
    #[must_use]
    pub fn is_fortran(&self) -> bool {
        matches!(self.needs, Needs::Fortran | Needs::F08)
    }

    /// Compiles the program for `library` into `dir`.
    ///
    /// # Errors
    /// If the compiler fails.
    pub fn build(&self, library: &Library, dir: &Path) -> Result<PathBuf> {
        let out = dir.join(self.name);
        if self.is_fortran() {
            library.fc(&self.source(), &out)?;
        } else {
            library.cc(&[&self.source()], &out)?;
        }
        Ok(out)
    }

    /// Whether it makes calls that fail, to check that it receives the errors.
    #[must_use]
    pub fn fails_on_purpose(&self) -> bool {
        matches!(self.name, "errors_return" | "callbacks")
    }

    /// Variables that the library needs to run this program.
    #[must_use]
    pub fn environment(&self, library: &Library) -> &'static [(&'static str, &'static str)] {
        match (self.name, library.family) {
            // "shm fabric does not support Spawns, please use shm:ofi fabric instead"
            ("spawn", Family::Intel) => &[("I_MPI_FABRICS", "shm:ofi")],
            _ => &[],
        }
    }

    /// The observed reason why the program fails on `library` even without the layer; `None` if it
    /// has to work.
    #[must_use]
    pub fn known_fault(&self, library: &Library) -> Option<&'static str> {
        match (self.name, library.family, library.abi) {
            ("spawn", Family::Mpich, _) if library.bin.is_none() && !library.has(4, 1) => {
                Some("Debian's MPICH 4.0 fails in MPI_Comm_spawn (\"Error in spawn call\")")
            }
            ("errors_return", Family::Intel, Abi::Standard) => {
                Some("Intel's libmpi_abi treats the standard's MPI_ERRORS_RETURN as MPI_ERRORS_ABORT")
            }
            _ => None,
        }
    }
}
