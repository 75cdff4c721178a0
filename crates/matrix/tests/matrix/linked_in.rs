//! Programs with a static MPI library, linked with the Makefile in `docs/install.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::program::{PROGRAMS, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::programs::{compared, same_behavior, same_calls};
use crate::skipped;
use crate::subject::{Form, LIMIT, Subject, word};

/// Together they cover callbacks, files, windows, threads and handles of every kind.
const LINKED: [&str; 10] = [
    "p2p_modes",
    "collectives",
    "rma",
    "mpi_io",
    "threads",
    "callbacks",
    "attributes",
    "groups_comms",
    "fortran_mpif",
    "fortran_f08",
];
/// These are linked a second time, with all calls by `PMPI_` names.
const PROFILED: [&str; 2] = ["p2p_modes", "collectives"];

/// The names by which the program calls MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Mpi,
    Pmpi,
}

/// The trials of a library.
pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    // Of the tested libraries, only the distribution's MPICH may have a static one.
    if library.family != Family::Mpich || library.bin.is_some() {
        return Vec::new();
    }
    let trial = |(program, names): (Program, Names)| {
        let by = if names == Names::Pmpi { "_by_pmpi_names" } else { "" };
        let name = format!(
            "{}::{}{by}_with_the_library_linked_in_counts_every_call_once",
            library.name, program.name
        );
        if !archive(library).is_file() {
            return skipped(name, "the library is not installed as an archive");
        }
        if let Some(why) = program.needs.missing_in(library) {
            return skipped(name, why);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, &program, names))
    };
    let of = |names, listed: &'static [&str]| {
        let programs = PROGRAMS.into_iter().filter(move |program| listed.contains(&program.name));
        programs.map(move |program| (program, names))
    };
    let second = second(subject, library);
    of(Names::Mpi, &LINKED).chain(of(Names::Pmpi, &PROFILED)).map(trial).chain([second]).collect()
}

/// A program that is linked with the layer of one installation and started with that of another.
fn second(subject: &Arc<Subject>, library: &Arc<Library>) -> Trial {
    let name = format!("{}::two_layers_with_the_library_linked_in_count_every_call_once", library.name);
    if !archive(library).is_file() {
        return skipped(name, "the library is not installed as an archive");
    }
    let (subject, library) = (Arc::clone(subject), Arc::clone(library));
    checked(name, move || {
        let program =
            PROGRAMS.into_iter().find(|program| program.name == "callbacks").context("no such program")?;
        let (dir, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let copy = other.path().join("libmpiscope.so");
        fs::copy(paths::libmpiscope().context("no libmpiscope.so")?, &copy)?;
        let binary = link(&library, &program, Names::Mpi, dir.path(), &copy)?;
        agrees(&subject, &library, &program, &binary)
    })
}

fn archive(library: &Library) -> PathBuf {
    library.lib_dir().join("libmpich.a")
}

fn check(subject: &Subject, library: &Library, program: &Program, names: Names) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let layer = paths::libmpiscope().context("no libmpiscope.so")?;
    let binary = link(library, program, names, dir.path(), &layer)?;
    agrees(subject, library, program, &binary)?;
    doctor_says_so(library, &binary)
}

fn agrees(subject: &Subject, library: &Library, program: &Program, binary: &Path) -> Result<()> {
    let launch = |form| subject.launch(library, program.ranks, form, &[word(binary)], &|_| {});
    // The bare run has the layer too, but it passes everything on.
    let run = || Ok((launch(Form::Bare)?, launch(Form::AroundLauncher)?));
    let (bare, seen) = compared(run, same_behavior)?;
    ensure!(bare.outcome.success(), "{}", bare.outcome.describe());
    same_calls(&seen, program.ranks)
}

/// Links the program with the page's Makefile.
fn link(library: &Library, program: &Program, names: Names, dir: &Path, layer: &Path) -> Result<PathBuf> {
    let page = fs::read_to_string(paths::workspace().join("docs/install.md"))?;
    let rules = page.split("```make\n").nth(1).and_then(|rest| rest.split("```").next());
    fs::write(dir.join("Makefile"), rules.context("docs/install.md has no Makefile")?)?;
    let target = compile(library, program, dir)?;
    let make = |target: &str| {
        let mut make = Command::new("make");
        make.current_dir(dir).arg(target).arg(format!("LIBMPICH={}", archive(library).display()));
        make.arg(format!("MPISCOPE={}", layer.parent().unwrap_or(Path::new(".")).display()));
        succeeds(&mut make)
    };
    if names == Names::Pmpi {
        by_pmpi_names(dir)?;
        make("app.seen.o")?;
        fs::rename(dir.join("app.seen.o"), dir.join("app.o"))?;
    }
    make(target)?;
    Ok(dir.join(target))
}

/// Compiles the program and returns the Makefile's target for it.
fn compile(library: &Library, program: &Program, dir: &Path) -> Result<&'static str> {
    let target = if program.is_fortran() { "fortran-app" } else { "app" };
    let fortran = library.fortran.as_ref().filter(|_| program.is_fortran());
    let mut compile = Command::new(fortran.map_or(&library.compiler, |fortran| &fortran.compiler));
    compile.args(["-g", "-O1", "-pthread", "-c", "-I"]).arg(paths::programs());
    compile.current_dir(dir).arg(program.source()).arg("-o").arg(format!("{target}.o"));
    if fortran.is_none() {
        compile.arg("-std=gnu11");
    }
    succeeds(&mut compile)?;
    Ok(target)
}

/// Changes the calls in `app.o` to `PMPI_` names.
fn by_pmpi_names(dir: &Path) -> Result<()> {
    let mut nm = Command::new("nm");
    let listed = run::bounded(nm.current_dir(dir).args(["-u", "app.o"]), LIMIT)?;
    let called = listed.stdout.split_whitespace().filter(|word| word.starts_with("MPI_"));
    let names: String = called.map(|name| format!("{name} P{name}\n")).collect();
    ensure!(!names.is_empty(), "app.o does not call MPI: {}", listed.describe());
    fs::write(dir.join("pmpi.names"), names)?;
    let mut objcopy = Command::new("objcopy");
    succeeds(objcopy.current_dir(dir).args(["--redefine-syms=pmpi.names", "app.o"]))
}

fn succeeds(command: &mut Command) -> Result<()> {
    let outcome = run::bounded(command, LIMIT)?;
    ensure!(outcome.success(), "{command:?}: {}", outcome.describe());
    Ok(())
}

fn doctor_says_so(library: &Library, binary: &Path) -> Result<()> {
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    command.args(["doctor", "--json"]).arg(&library.mpirun).args(library.launch_arguments(1)).arg(binary);
    let outcome = run::bounded(&mut command, LIMIT)?;
    let report: Value = serde_json::from_str(&outcome.stdout).with_context(|| outcome.describe())?;
    let checks = report["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let program =
        checks.iter().find(|check| check["check"] == "program").context("no check of the program")?;
    ensure!(program["result"] == "fine" && program["found"].to_string().contains("linked in"), "{program}");
    Ok(())
}
