//! An MPI library: how to compile and launch with it.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run;

/// Our programs compile quickly; this only bounds a broken compiler.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// The family of a library, which determines how its launcher is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// MPICH, launched by hydra.
    Mpich,
    /// Open MPI, launched by ORTE (4) or PRRTE (5).
    OpenMpi,
    /// Intel MPI, launched by its own hydra.
    Intel,
}

/// The binary interface that programs are compiled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// Handles are `int`.
    Mpich,
    /// Handles are addresses of the library's objects.
    OpenMpi,
    /// The ABI of MPI 5.0.
    Standard,
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mpich => "mpich",
            Self::OpenMpi => "openmpi",
            Self::Standard => "standard",
        })
    }
}

/// The Fortran binding of a library.
#[derive(Debug, Clone)]
pub struct Fortran {
    /// The compiler wrapper.
    pub compiler: PathBuf,
    /// Whether `use mpi_f08` compiles.
    pub f08: bool,
}

/// An MPI library.
#[derive(Debug, Clone)]
pub struct Library {
    /// The name, short and unique, such as `mpich-5.0`.
    pub name: String,
    /// The family.
    pub family: Family,
    /// The ABI that programs are compiled to.
    pub abi: Abi,
    /// The first line returned by `MPI_Get_library_version`.
    pub version: String,
    /// Version and subversion of the standard, as returned by `MPI_Get_version`.
    pub standard: (i32, i32),
    /// The shared library.
    pub libmpi: PathBuf,
    /// The launcher.
    pub mpirun: PathBuf,
    /// The C compiler or wrapper.
    pub compiler: PathBuf,
    /// Its arguments before and after the sources.
    pub(super) cflags: Vec<OsString>,
    pub(super) ldflags: Vec<OsString>,
    /// The Fortran binding, if there is one.
    pub fortran: Option<Fortran>,
    /// The library's own `bin`, which must be first in `PATH`; `None` for a library installed by the
    /// distribution.
    pub bin: Option<PathBuf>,
}

impl Library {
    /// Compiles C sources and links them to the library.
    ///
    /// # Errors
    /// If the compiler cannot be started or fails, with its output.
    pub fn cc(&self, sources: &[&Path], out: &Path) -> Result<()> {
        self.cc_with(sources, out, &[])
    }

    /// Like [`Library::cc`], with additional options.
    ///
    /// # Errors
    /// If the compiler cannot be started or fails, with its output.
    pub fn cc_with(&self, sources: &[&Path], out: &Path, options: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.compiler);
        command.args(["-O1", "-g", "-std=gnu11", "-Wall", "-pthread"]).args(options);
        command.args(&self.cflags).args(sources).arg("-o").arg(out).args(&self.ldflags).arg("-lm");
        compile(&mut command)
    }

    /// Compiles a Fortran source and links it to the library.
    ///
    /// # Errors
    /// If there is no Fortran binding, or the compiler fails, with its output.
    pub fn fc(&self, source: &Path, out: &Path) -> Result<()> {
        self.fc_with(&[source], out, &[])
    }

    /// Like [`Library::fc`], with several sources, which may include C, and additional options.
    ///
    /// # Errors
    /// As [`Library::fc`].
    pub fn fc_with(&self, sources: &[&Path], out: &Path, options: &[&str]) -> Result<()> {
        let fortran =
            self.fortran.as_ref().with_context(|| format!("{} has no Fortran binding here", self.name))?;
        let modules = out.parent().unwrap_or(Path::new("."));
        let mut command = Command::new(&fortran.compiler);
        command.args(["-O1", "-g", "-J"]).arg(modules).args(options).args(sources).arg("-o").arg(out);
        compile(&mut command)
    }

    /// A command that launches `n` processes, without the program and its arguments.
    #[must_use]
    pub fn launch(&self, n: usize) -> Command {
        let mut command = Command::new(&self.mpirun);
        command.args(self.launch_arguments(n));
        self.set_environment(&mut command);
        command
    }

    /// The launcher's own arguments for `n` processes.
    #[must_use]
    pub fn launch_arguments(&self, n: usize) -> Vec<OsString> {
        let mut arguments = Vec::new();
        // Even for few ranks: the machine may have one core, and spawned processes need slots too.
        if self.family == Family::OpenMpi {
            arguments.push("--oversubscribe".into());
        }
        arguments.extend(["-n".into(), n.to_string().into()]);
        arguments
    }

    /// Sets the environment as [`Library::launch`] does, for a command that runs another program in front of
    /// the launcher.
    pub fn set_environment(&self, command: &mut Command) {
        command.envs(self.environment());
    }

    /// The variables that a process of this library, or its launcher, needs.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut vars: Vec<(&'static str, OsString)> = Vec::new();
        if let Some(bin) = &self.bin {
            let old = env::var_os("PATH").unwrap_or_default();
            let dirs = std::iter::once(bin.clone()).chain(env::split_paths(&old));
            if let Ok(path) = env::join_paths(dirs) {
                vars.push(("PATH", path));
            }
        }
        if self.family == Family::OpenMpi {
            vars.push(("OMPI_ALLOW_RUN_AS_ROOT", "1".into()));
            vars.push(("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()));
            // Searching for a network that a test machine does not have takes most of MPI_Init: a second in
            // Open MPI 5.
            vars.push(("OMPI_MCA_mtl", "^ofi,psm,psm2".into()));
            vars.push(("OMPI_MCA_btl", "^ofi,openib,usnic".into()));
            // With it, in one of a hundred runs one rank opens a file and the others hang (seen in 5.0.11).
            vars.push(("OMPI_MCA_sharedfp", "^sm".into()));
        }
        if self.family == Family::Intel {
            // Core files contain its whole shared memory, two gigabytes by default.
            vars.push(("I_MPI_SHM_HEAP_VSIZE", "16".into()));
            vars.push(("I_MPI_SHM_CELL_EXT_NUM_TOTAL", "128".into()));
        }
        vars
    }

    /// The launcher's `bin` directory.
    #[must_use]
    pub fn launcher_dir(&self) -> &Path {
        self.mpirun.parent().unwrap_or(Path::new("/usr/bin"))
    }

    /// The directory of the shared library, for `LD_LIBRARY_PATH` of programs that were linked elsewhere.
    #[must_use]
    pub fn lib_dir(&self) -> &Path {
        self.libmpi.parent().unwrap_or(Path::new("/usr/lib"))
    }

    /// One of the Intel MPI Benchmarks, such as `IMB-MPI1`, if the library includes it.
    #[must_use]
    pub fn imb(&self, name: &str) -> Option<PathBuf> {
        let file = self.bin.as_ref()?.join(name);
        // The binaries are compiled for the MPICH ABI.
        (self.abi == Abi::Mpich && file.is_file()).then_some(file)
    }

    /// Whether it implements at least this version of the standard.
    #[must_use]
    pub fn has(&self, version: i32, subversion: i32) -> bool {
        self.standard >= (version, subversion)
    }
}

pub(super) fn compile(command: &mut Command) -> Result<()> {
    let outcome = run::bounded(command, COMPILE_LIMIT)?;
    if !outcome.success() {
        bail!("{command:?}\n{}", outcome.describe());
    }
    Ok(())
}
