//! The tool information interface's header, conformance programs and example tools, for every library at hand.
//!
//! That they compile without a warning needs no layer and is always tested. That they pass needs a built layer and
//! minutes of time: `cargo test -p mpiscope-testkit --test mpi_t_programs -- --ignored`. There,
//! `MPISCOPE_CONFORM_PROGRAM` and `MPISCOPE_CONFORM_LIBRARY` pick one of each, by name.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::run::{self, Outcome};

/// Any single run; the programs end themselves before that.
const LIMIT: Duration = Duration::from_secs(100);
/// What our own sources have to pass.
const STRICT: [&str; 4] = ["-Wextra", "-Werror", "-pedantic", "-fsyntax-only"];
/// The same for C++. The options of [`Library::cc`] name a C standard, at which the compiler warns, so no `-Werror`.
const STRICT_CXX: [&str; 9] = [
    "-Wextra",
    "-pedantic-errors",
    "-Werror=unused",
    "-Werror=return-type",
    "-Werror=redundant-decls",
    "-Werror=missing-field-initializers",
    "-std=c++11",
    "-DOMPI_SKIP_MPICXX",
    "-fsyntax-only",
];

/// How a program is run.
struct Way {
    program: &'static str,
    ranks: usize,
    arguments: &'static [&'static str],
}

const fn way(program: &'static str, ranks: usize, arguments: &'static [&'static str]) -> Way {
    Way { program, ranks, arguments }
}

/// The programs that try one group of functions in every phase.
const GROUPS: [&str; 13] = [
    "pvar_info",
    "pvar_sessions",
    "pvar_handles",
    "pvar_startstop",
    "pvar_values",
    "cvars",
    "enums",
    "strings",
    "categories",
    "event_types",
    "event_handles",
    "event_callbacks",
    "event_instances",
];

fn ways() -> Vec<Way> {
    let mut all = vec![way("header", 1, &[]), way("lifecycle", 0, &[])];
    for program in GROUPS {
        all.push(way(program, 2, &["--threads", "1"]));
        all.push(way(program, 1, &["--threads", "4"]));
        for phase in ["before", "between", "after"] {
            let arguments: &'static [&'static str] = match phase {
                "before" => &["--phase", "before"],
                "between" => &["--phase", "between"],
                _ => &["--phase", "after"],
            };
            all.push(way(program, 1, arguments));
        }
    }
    all.push(way("event_dropped", 1, &[]));
    all.push(way("event_dropped", 1, &["--threads", "4"]));
    all.push(way("event_hammer", 1, &[]));
    all.push(way("hammer", 1, &[]));
    all.push(way("sampler", 2, &[]));
    all.push(way("long_queue", 3, &[]));
    all.extend((1..=4).map(|ranks| way("counters", ranks, &[])));
    all
}

fn sources() -> PathBuf {
    paths::programs().join("mpi_t")
}

fn include() -> String {
    format!("-I{}", paths::workspace().join("include").display())
}

fn c_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of sources")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    files.sort();
    files
}

fn compile_with(library: &Library, source: &Path, strictness: &[&str]) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let include = include();
    let mut options = strictness.to_vec();
    options.push(&include);
    library
        .cc_with(&[source], &dir.path().join("out"), &options)
        .map_err(|error| format!("{} on {}: {error:#}", source.display(), library.name))
}

fn report(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_header_compiles_as_c_and_cxx_with_every_library() {
    let source = sources().join("header.c");
    // Told by its name: `-x c++` would make the compiler read the library as a source too.
    let dir = tempfile::tempdir().expect("a temporary directory");
    let as_cxx = dir.path().join("header.cc");
    std::fs::copy(&source, &as_cxx).expect("a copy of the source");
    let failures: Vec<String> = mpi::found()
        .iter()
        .flat_map(|library| {
            [compile_with(library, &source, &STRICT), compile_with(library, &as_cxx, &STRICT_CXX)]
        })
        .filter_map(Result::err)
        .collect();
    report(&failures);
}

#[test]
fn every_conformance_program_compiles_without_a_warning_with_every_library() {
    let files = c_files(&sources());
    assert!(files.len() > 15, "the programs are there: {files:?}");
    let failures: Vec<String> = mpi::found()
        .iter()
        .flat_map(|library| files.iter().filter_map(|file| compile_with(library, file, &STRICT).err()))
        .collect();
    report(&failures);
}

#[test]
fn every_example_tool_compiles_without_a_warning_with_every_library_and_is_short() {
    let files = c_files(&paths::workspace().join("examples/mpi_t"));
    assert_eq!(files.len(), 4, "{files:?}");
    for file in &files {
        let lines = std::fs::read_to_string(file).expect("a source file").lines().count();
        assert!(lines < 150, "{} has {lines} lines", file.display());
    }
    let failures: Vec<String> = mpi::found()
        .iter()
        .flat_map(|library| files.iter().filter_map(|file| compile_with(library, file, &STRICT).err()))
        .collect();
    report(&failures);
}

/// A program alone, or under the library's launcher, with the layer in every process.
fn command(library: &Library, way: &Way, program: &Path, layer: &Path) -> Command {
    let preload = format!("LD_PRELOAD={}", layer.display());
    let mut command = if way.ranks < 2 {
        let mut command = Command::new("env");
        library.set_environment(&mut command);
        command
    } else {
        let mut command = library.launch(way.ranks);
        command.arg("env");
        command
    };
    command.arg(preload).arg(program).args(way.arguments).env("CONFORM_SECONDS", "80");
    command
}

fn lines_of_failure(outcome: &Outcome) -> String {
    let lines: Vec<&str> = outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("FAIL") || line.starts_with("not here"))
        .collect();
    if lines.is_empty() { outcome.describe() } else { lines.join("\n") }
}

fn wanted(variable: &str, name: &str) -> bool {
    env::var(variable).map_or(true, |only| only.is_empty() || only == name)
}

#[test]
#[ignore = "needs a built layer and several minutes"]
fn every_conformance_program_passes_on_every_library() {
    let layer = paths::libmpiscope().expect("a built libmpiscope.so; run `cargo build -p mpiscope-layer`");
    let mut failures = Vec::new();
    for library in mpi::found().iter().filter(|l| wanted("MPISCOPE_CONFORM_LIBRARY", &l.name)) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for way in ways().iter().filter(|way| wanted("MPISCOPE_CONFORM_PROGRAM", way.program)) {
            let binary = dir.path().join(way.program);
            if !binary.is_file() {
                let source = sources().join(format!("{}.c", way.program));
                library.cc_with(&[&source], &binary, &[&include()]).expect("the program compiles");
            }
            let outcome =
                run::bounded(&mut command(library, way, &binary, &layer), LIMIT).expect("it starts");
            if !outcome.success() {
                failures.push(format!(
                    "== {} on {} with {} ranks {:?}\n{}",
                    way.program,
                    library.name,
                    way.ranks,
                    way.arguments,
                    lines_of_failure(&outcome)
                ));
            }
        }
    }
    report(&failures);
}

/// What `long_queue --tool` and the example tool have to say of each other, with the preloads in this order.
fn tool_agrees(library: &Library, dir: &Path, preloads: &[&Path]) -> Result<(), String> {
    let order: Vec<String> = preloads.iter().map(|path| path.display().to_string()).collect();
    let mut command = library.launch(3);
    command.arg("env").arg(format!("LD_PRELOAD={}", order.join(" ")));
    command.arg(dir.join("long_queue")).arg("--tool");
    let outcome = run::bounded(&mut command, LIMIT).map_err(|error| error.to_string())?;
    let expected = outcome.stdout.lines().find_map(|line| line.strip_prefix("expected: "));
    let said = outcome.stdout.lines().find_map(|line| line.strip_prefix("rank 0: "));
    if expected.is_some() && expected == said {
        return Ok(());
    }
    Err(format!(
        "{} with {order:?}: {expected:?}, and the tool {said:?}\n{}",
        library.name,
        outcome.describe()
    ))
}

#[test]
#[ignore = "needs a built layer"]
fn the_example_tool_finds_the_receives_with_long_queues_in_either_order_of_preloading() {
    let layer = paths::libmpiscope().expect("a built libmpiscope.so; run `cargo build -p mpiscope-layer`");
    let example = paths::workspace().join("examples/mpi_t/unexpected_queue_tool.c");
    let mut failures = Vec::new();
    for library in mpi::found().iter().filter(|l| wanted("MPISCOPE_CONFORM_LIBRARY", &l.name)) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let tool = dir.path().join("unexpected_queue_tool.so");
        library.cc_with(&[&example], &tool, &["-shared", "-fPIC"]).expect("the tool compiles");
        let source = sources().join("long_queue.c");
        library.cc_with(&[&source], &dir.path().join("long_queue"), &[&include()]).expect("it compiles");
        for preloads in [[tool.as_path(), layer.as_path()], [layer.as_path(), tool.as_path()]] {
            failures.extend(tool_agrees(library, dir.path(), &preloads).err());
        }
    }
    report(&failures);
}
