//! Installs the packages and tests them from there alone: the wheel in a fresh virtual environment, the
//! archive in a fresh folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{self, Library, Mpi4py};
use mpiscope_testkit::paths;
use mpiscope_testkit::run::bounded;

use super::compile::{self, Architecture, How, Systems};
use super::pages;
use super::tree::VERSION;
use crate::build;

const LIMIT: Duration = Duration::from_secs(180);
/// Modules whose documentation examples are run.
const DOCUMENTED: [&str; 3] = ["mpiscope.values", "mpiscope._record", "mpiscope._command"];

pub fn run(out: &Path, how: How) -> Result<()> {
    let (wheel, archive) = packed(out, how)?;
    let work = tempfile::tempdir()?;
    let began = Instant::now();
    let venv = environment(work.path(), &wheel)?;
    println!("installed in {:.1} s", began.elapsed().as_secs_f64());
    version(&venv.join("bin/mpiscope"), &venv.join("lib"))?;
    let target = work.path().join("target");
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check", "--target"]).arg(&target);
    build::run(pip.arg(&wheel))?;
    version(&target.join("bin/mpiscope"), &target.join("lib64"))?;
    examples(&venv, work.path())?;
    refusals(&venv, work.path())?;
    types(&venv)?;
    let unpacked = unpack(&archive, work.path())?;
    version(&unpacked.join("bin/mpiscope"), &unpacked.join("lib"))?;
    let (libraries, _) = mpi::survey();
    let mut asked = 0;
    // mpi4py's wheel has no module for the standard ABI.
    for library in libraries.iter().filter(|library| !library.name.ends_with("-abi")) {
        asked += usize::from(on(library, &venv, &unpacked, work.path())?);
    }
    ensure!(
        asked > 0,
        "mpi4py runs on none of the installed MPI libraries; `cargo xtask mpi` lists the reasons"
    );
    of_pages(&wheel, &archive, &libraries, work.path(), how)
}

/// Only the pages for new users.
pub fn run_pages(out: &Path, how: How) -> Result<()> {
    let (wheel, archive) = packed(out, how)?;
    let work = tempfile::tempdir()?;
    of_pages(&wheel, &archive, &mpi::survey().0, work.path(), how)
}

fn of_pages(wheel: &Path, archive: &Path, libraries: &[Library], work: &Path, how: How) -> Result<()> {
    if how.systems == Systems::Native {
        println!(
            "pages: skipped: they name the wheel for old systems, but this one is only for this machine"
        );
        return Ok(());
    }
    pages::run(wheel, archive, libraries, work)
}

/// Builds the wheel and the archive.
fn packed(out: &Path, how: How) -> Result<(PathBuf, PathBuf)> {
    ensure!(
        how.architecture == Architecture::HERE,
        "to test packages for another architecture, use `cargo xtask aarch64 --archive FILE`"
    );
    let wheel = out.join(format!("mpiscope-{VERSION}-py3-none-{}.whl", how.platform()));
    let archive = out.join(format!("mpiscope-{VERSION}-{}.tar.xz", how.architecture.name()));
    for file in [&wheel, &archive] {
        ensure!(file.is_file(), "{} does not exist: `cargo xtask dist` makes it", file.display());
    }
    Ok((wheel, archive))
}

fn environment(work: &Path, wheel: &Path) -> Result<PathBuf> {
    let venv = work.join("venv");
    build::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/pip"));
    build::run(pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(wheel))?;
    Ok(venv)
}

fn unpack(archive: &Path, work: &Path) -> Result<PathBuf> {
    build::run(Command::new("tar").arg("-xf").arg(archive).arg("--directory").arg(work))?;
    // Under a different name than in the package.
    let place = work.join("elsewhere");
    fs::rename(work.join(format!("mpiscope-{VERSION}-{}", Architecture::HERE.name())), &place)?;
    Ok(place)
}

/// Checks that the command names its own layer and plug-ins.
fn version(mpiscope: &Path, libraries: &Path) -> Result<()> {
    let output = Command::new(mpiscope)
        .arg("--version")
        .env("COLUMNS", "400")
        .env_remove("MPISCOPE_LAYER")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let layer = libraries.canonicalize()?.join("mpiscope/libmpiscope.so");
    ensure!(
        text.contains(&layer.display().to_string()) && !text.contains("not found"),
        "{} did not find the files installed with it:\n{text}",
        mpiscope.display()
    );
    println!("{}", text.lines().next().unwrap_or_default());
    Ok(())
}

/// Runs the examples in the module's documentation.
fn examples(venv: &Path, work: &Path) -> Result<()> {
    let script = "import doctest, importlib, sys\n\
         failed, tried = map(sum, zip(*(doctest.testmod(importlib.import_module(m)) for m in sys.argv[1:])))\n\
         print(f'examples of the module: {tried - failed} of {tried}')\n\
         sys.exit(failed or not tried)";
    let mut python = Command::new(venv.join("bin/python"));
    build::run(python.current_dir(work).arg("-c").arg(script).args(DOCUMENTED))
}

/// Checks that requests that cannot be answered raise an error that says so.
fn refusals(venv: &Path, work: &Path) -> Result<()> {
    let mut python = Command::new(venv.join("bin/python"));
    python.current_dir(work).arg(paths::workspace().join("python/tests/refused.py"));
    expect_lines(&mut python, "refusals: passed", 1)
}

/// Runs a strict type checker on the module and its example programs.
fn types(venv: &Path) -> Result<()> {
    let Some(mpi4py) = mpi::mpi4py() else {
        println!("types: skipped: mpi4py was not fetched");
        return Ok(());
    };
    let mut mypy = Command::new(compile::type_checker()?);
    mypy.args(["--strict", "--cache-dir=/dev/null", "--package", "mpiscope", "--python-executable"]);
    mypy.arg(venv.join("bin/python")).env("MYPYPATH", &mpi4py.path);
    build::run(&mut mypy)?;
    let mut mypy = Command::new(compile::type_checker()?);
    mypy.args(["--strict", "--cache-dir=/dev/null", "--python-executable"]).arg(venv.join("bin/python"));
    build::run(mypy.env("MYPYPATH", &mpi4py.path).arg(paths::workspace().join("examples/python")))
}

/// Reads a hanging job from Python and through both installations, and runs the tool information interface on
/// one to four ranks, with and without the layer. Returns whether mpi4py runs on the library.
fn on(library: &Library, venv: &Path, unpacked: &Path, work: &Path) -> Result<bool> {
    let Some(mpi4py) = mpi::mpi4py() else {
        println!("{}: skipped: mpi4py was not fetched", library.name);
        return Ok(false);
    };
    let program = |name: &str| paths::workspace().join("python/tests").join(name);
    if !imports(library, &mpi4py, venv)? {
        println!("{}: skipped: mpi4py's wheel does not run on it", library.name);
        return Ok(false);
    }
    let ring = work.join(format!("ring-{}", library.name));
    library.cc_with(&[&paths::workspace().join("examples/ring.c")], &ring, &["-g"])?;
    for mpiscope in [venv, unpacked].map(|prefix| prefix.join("bin/mpiscope")) {
        let mut python = python(library, &mpi4py, venv, work);
        python.env("MPISCOPE", &mpiscope).arg(program("jobs_program.py")).arg(&ring);
        expect_lines(python.arg(&library.mpirun).args(library.launch_arguments(4)), "jobs: passed", 1)?;
    }
    for ranks in [1, 2, 4] {
        let words = [venv.join("bin/python"), program("mpit_program.py")];
        let mut bare = Command::new(&library.mpirun);
        bare.args(library.launch_arguments(ranks)).args(&words);
        let mut under = Command::new(venv.join("bin/mpiscope"));
        under
            .args(["run", "--quiet"])
            .arg(&library.mpirun)
            .args(library.launch_arguments(ranks))
            .args(&words);
        for command in [&mut bare, under.arg("layer")] {
            mpi4py.set_environment(library, command.current_dir(work));
            expect_lines(command, ": passed", ranks)?;
        }
        let mut example = Command::new(venv.join("bin/mpiscope"));
        example.args(["run", "--quiet"]).arg(&library.mpirun).args(library.launch_arguments(ranks));
        example
            .arg(venv.join("bin/python"))
            .arg(paths::workspace().join("examples/python/tool_interface.py"));
        mpi4py.set_environment(library, example.current_dir(work));
        expect_lines(&mut example, " with tag 7 at ", ranks)?;
    }
    println!("{}: jobs, and MPI_T with 1, 2 and 4 ranks, with the installed packages", library.name);
    Ok(true)
}

fn python(library: &Library, mpi4py: &Mpi4py, venv: &Path, work: &Path) -> Command {
    let mut command = Command::new(venv.join("bin/python"));
    mpi4py.set_environment(library, command.current_dir(work));
    command
}

fn imports(library: &Library, mpi4py: &Mpi4py, venv: &Path) -> Result<bool> {
    let mut command = python(library, mpi4py, venv, Path::new("/"));
    let outcome = bounded(command.args(["-c", "import mpi4py.MPI"]), LIMIT)?;
    Ok(outcome.success())
}

/// Runs the command; exactly `times` lines must end with `end`.
fn expect_lines(command: &mut Command, end: &str, times: usize) -> Result<()> {
    let outcome = bounded(command, LIMIT).with_context(|| format!("cannot start {command:?}"))?;
    let found = outcome.stdout.matches(end).count();
    ensure!(outcome.success() && found == times, "{command:?}: {}", outcome.describe());
    Ok(())
}
