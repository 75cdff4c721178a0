//! Probing for a function finds the same with and without the layer.
//!
//! `programs/probing/probing.c` looks up every function of the standard in every possible way; its output, a
//! line for each function found, must not change.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// A program, and its arguments in addition to the library.
struct Case {
    name: &'static str,
    /// Linker options of the executable; `None`: not linked with MPI.
    linked: Option<&'static [&'static str]>,
    /// How a module is loaded later, if at all.
    module: Option<&'static str>,
}

const CASES: [Case; 6] = [
    Case {
        name: "a_program_finds_only_the_librarys_functions",
        linked: Some(&["-pie", "-fPIE"]),
        module: None,
    },
    Case {
        name: "a_program_at_a_fixed_address_finds_only_the_librarys_functions",
        linked: Some(&["-no-pie", "-fno-pie"]),
        module: None,
    },
    Case {
        name: "a_program_with_immediate_binding_finds_only_the_librarys_functions",
        linked: Some(&["-pie", "-fPIE", "-Wl,-z,now,-z,relro"]),
        module: None,
    },
    Case {
        name: "a_module_that_loads_the_library_privately_finds_only_its_functions",
        linked: None,
        module: Some("local"),
    },
    Case {
        name: "a_module_that_loads_the_library_globally_finds_only_its_functions",
        linked: None,
        module: Some("global"),
    },
    Case { name: "without_a_library_no_function_is_found", linked: None, module: None },
];

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let make = |case: &'static Case| {
        let library = Arc::clone(library);
        checked(format!("{}::probing::{}", library.name, case.name), move || check(case, &library))
    };
    CASES.iter().map(make).collect()
}

fn check(case: &Case, library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    names(dir.path())?;
    let program = build(case, library, &dir)?;
    let mut arguments = vec![OsString::from(&library.libmpi)];
    if let Some(scope) = case.module {
        let module = compile(dir.path(), "module.so", &shared("MODULE", &[]), Some(library))?;
        arguments.extend([module.into(), scope.into()]);
    }
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
    let answer = |preload: Option<&Path>| {
        let mut command = Command::new(&program);
        library.set_environment(&mut command);
        command.args(&arguments).envs(preload.map(|file| ("LD_PRELOAD", file)));
        run::bounded(&mut command, LIMIT)
    };
    let (bare, seen) = (answer(None)?, answer(Some(&layer))?);
    ensure!(bare.success(), "the bare program failed: {}", bare.describe());
    ensure!(seen.code() == bare.code(), "under the layer: {}", seen.describe());
    ensure!(seen.stderr == bare.stderr, "standard error changed: {}", seen.stderr);
    let found = bare.stdout.contains("MPI_Send ");
    ensure!(found == (case.linked.is_some() || case.module.is_some()), "the program looked up nothing");
    let news: Vec<&str> = seen.stdout.lines().filter(|line| !bare.stdout.contains(line)).collect();
    let gone: Vec<&str> = bare.stdout.lines().filter(|line| !seen.stdout.contains(line)).collect();
    ensure!(bare.stdout == seen.stdout, "only under the layer: {news:#?}\nonly bare: {gone:#?}");
    Ok(())
}

/// The functions to look up: all except `MPI_T_*`, which the layer implements itself.
fn names(dir: &Path) -> Result<()> {
    let mut text = String::new();
    for function in mpi_abi::FUNCTIONS.iter().filter(|f| !f.name.starts_with("MPI_T_")) {
        writeln!(text, "NAME({0})\nNAME(P{0})", function.name)?;
    }
    Ok(fs::write(dir.join("names.inc"), text)?)
}

fn build(case: &Case, library: &Library, dir: &TempDir) -> Result<PathBuf> {
    let Some(flags) = case.linked else { return compile(dir.path(), "program", &[], None) };
    // The library behind it is bound as strictly as the program.
    let strict: &[&str] = if flags.len() > 2 { &["-Wl,-z,now,-z,relro"] } else { &["-Wl,-z,lazy"] };
    compile(dir.path(), "libbehind.so", &shared("BEHIND", strict), Some(library))?;
    let mut words: Vec<OsString> = flags.iter().map(OsString::from).collect();
    let mut rpath = OsString::from("-Wl,-rpath,");
    rpath.push(dir.path());
    words.extend(["-DLINKED".into(), dir.path().join("libbehind.so").into(), rpath]);
    compile(dir.path(), "program", &words, Some(library))
}

fn shared(what: &str, flags: &[&str]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-shared".into(), "-fPIC".into(), format!("-D{what}").into()];
    words.extend(flags.iter().map(OsString::from));
    words
}

/// Compiles the single source, linking with the library even if nothing of it is needed.
fn compile(dir: &Path, name: &str, words: &[OsString], library: Option<&Library>) -> Result<PathBuf> {
    let file = dir.join(name);
    let mut compiler = Command::new("gcc");
    compiler
        .arg("-I")
        .arg(dir)
        .arg("-o")
        .arg(&file)
        .arg(paths::programs().join("probing/probing.c"))
        .args(words);
    if let Some(library) = library {
        let home = library.libmpi.parent().context("the library has no directory")?;
        let mut rpath = OsString::from("-Wl,-rpath,");
        rpath.push(home);
        compiler.arg("-Wl,--no-as-needed").arg(&library.libmpi).arg(rpath);
    }
    compiler.arg("-ldl");
    let outcome = run::bounded(&mut compiler, LIMIT)?;
    ensure!(outcome.success(), "gcc could not build {name}: {}", outcome.describe());
    Ok(file)
}
