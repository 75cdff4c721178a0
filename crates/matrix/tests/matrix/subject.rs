//! The tested files, and the ways to run a program with them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context, Result};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::run::{self, Outcome};
use mpiscope_testkit::{paths, program::Program};
use tempfile::TempDir;

/// Time limit of a single run; the longest takes a few seconds on an idle machine.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The way a program is run under the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// No layer.
    Bare,
    /// `mpiscope run mpirun -n 4 ./app`
    AroundLauncher,
    /// `mpirun -n 4 mpiscope run ./app`
    UnderLauncher,
}

/// The command and the library under test, and the programs compiled for this run.
pub struct Subject {
    binaries: TempDir,
    /// Serializes compilations, so that two trials of one program do not write the same file at
    /// once.
    compiling: Mutex<()>,
}

/// One run with the directories it wrote to.
pub struct Ran {
    /// The result.
    pub outcome: Outcome,
    /// The folder of the layer's `--out` and of the program's own counts.
    pub dir: TempDir,
}

impl Ran {
    /// The folder of the report.
    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    /// The folder where the program wrote the calls it made.
    pub fn expectations(&self) -> PathBuf {
        self.dir.path().join("expect")
    }
}

impl Subject {
    /// Creates a subject without compiled programs.
    pub fn new() -> Self {
        let binaries = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary directory: {error}"));
        Self { binaries, compiling: Mutex::new(()) }
    }

    /// The folder of compiled files.
    pub fn folder(&self) -> &Path {
        self.binaries.path()
    }

    /// Waits until no other compilation is running.
    pub fn alone(&self) -> Result<MutexGuard<'_, ()>> {
        self.compiling.lock().map_err(|_| anyhow::anyhow!("another compilation panicked"))
    }

    /// Returns the program compiled for the library.
    pub fn binary(&self, program: &Program, library: &Library) -> Result<PathBuf> {
        let dir = self.binaries.path().join(&library.name);
        let file = dir.join(program.name);
        let _one = self.alone()?;
        if !file.is_file() {
            fs::create_dir_all(&dir)?;
            program.build(library, &dir)?;
        }
        Ok(file)
    }

    /// Runs `what` on `n` ranks.
    pub fn launch(
        &self,
        library: &Library,
        n: usize,
        form: Form,
        what: &[OsString],
        adjust: &dyn Fn(&mut Command),
    ) -> Result<Ran> {
        self.launch_for(LIMIT, library, n, form, what, adjust)
    }

    /// Like [`Subject::launch`], with another time limit.
    pub fn launch_for(
        &self,
        limit: Duration,
        library: &Library,
        n: usize,
        form: Form,
        what: &[OsString],
        adjust: &dyn Fn(&mut Command),
    ) -> Result<Ran> {
        let dir = tempfile::tempdir()?;
        let expect = dir.path().join("expect");
        fs::create_dir(&expect)?;
        let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
        let out = dir.path().join("out");
        let layer = |command: &mut Command| {
            command.args(["run", "--out"]).arg(&out);
        };
        let mut command = match form {
            Form::Bare => {
                let mut command = library.launch(n);
                command.args(what);
                command
            }
            Form::AroundLauncher => {
                let mut command = Command::new(&mpiscope);
                layer(&mut command);
                library.set_environment(&mut command);
                command.arg(&library.mpirun).args(library.launch_arguments(n)).args(what);
                command
            }
            Form::UnderLauncher => {
                let mut command = library.launch(n);
                command.arg(&mpiscope);
                layer(&mut command);
                command.args(what);
                command
            }
        };
        command.env("MPISCOPE_EXPECT_DIR", &expect).env("MPISCOPE_TEST_TMP", dir.path());
        adjust(&mut command);
        let outcome = run::bounded(&mut command, limit)?;
        Ok(Ran { outcome, dir })
    }
}

/// Converts a path to a word of a command.
pub fn word(path: &Path) -> OsString {
    path.as_os_str().to_owned()
}
