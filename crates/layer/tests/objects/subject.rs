//! Runs a program of the object tests under the preload library on every MPI library.

use crate::facts::Images;
use crate::said::Said;
use mpiscope_testkit::{mpi, paths, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);

/// The output of one run.
pub struct Run {
    dir: PathBuf,
    pub output: String,
}

impl Run {
    pub fn said(&self, rank: usize) -> Said {
        let file = self.dir.join(format!("{rank}.said"));
        Said::parse(&fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
    }

    /// A copy made while the program ran, if it got that far.
    pub fn image_if(&self, rank: usize, end: &str) -> Option<Images> {
        fs::read(self.dir.join(format!("{rank}.{end}")))
            .ok()
            .filter(|bytes| !bytes.is_empty())
            .map(Images::open)
    }

    pub fn image(&self, rank: usize, end: &str) -> Images {
        let file = self.dir.join(format!("{rank}.{end}"));
        Images::open(fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
    }
}

/// The library that cargo built for this test, or the one given by `MPISCOPE_LIB`.
fn layer() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let beside = exe.ancestors().skip(1).take(2).map(|dir| dir.join("libmpiscope.so"));
    std::env::var_os("MPISCOPE_LIB")
        .map(PathBuf::from)
        .into_iter()
        .chain(beside)
        .find(|file| file.is_file())
        .expect("cargo did not build libmpiscope.so")
}

/// Compiles and runs a program on each available library, and lets `check` inspect its output.
pub fn run_on_all(program: &str, ranks: usize, variables: &[(&str, &str)], check: impl Fn(&Run)) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let libraries = mpi::found();
    let only = std::env::var("MPISCOPE_TEST_ONLY").ok();
    assert!(!libraries.is_empty(), "no MPI library is installed; `cargo xtask mpi` lists the reasons");
    let wanted: Vec<_> = libraries.iter().filter(|l| only.as_ref().is_none_or(|o| *o == l.name)).collect();
    assert!(!wanted.is_empty(), "{only:?} is not among {:?}", mpi::skipped());
    for library in wanted {
        let dir = tempfile::tempdir_in(paths::target_dir()).unwrap();
        let binary = dir.path().join("program");
        library.cc(&[&source], &binary).unwrap();
        let mut command = library.launch(ranks);
        command.arg(&binary).env("LD_PRELOAD", layer()).env("OBJECTS_DIR", dir.path());
        command.envs(variables.iter().copied());
        let outcome = run::bounded(&mut command, LIMIT).unwrap();
        assert!(outcome.success(), "{} on {}\n{}", program, library.name, outcome.describe());
        println!("{program} on {}: {:.1} s", library.name, outcome.wall.as_secs_f64());
        check(&Run { dir: dir.path().to_owned(), output: outcome.stdout });
    }
}
