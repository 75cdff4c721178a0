//! The tool information interface's header, conformance programs and example tools compile with every installed
//! library without a warning.
//!
//! This test needs no layer. Whether they pass is tested in the matrix.

use std::path::{Path, PathBuf};

use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::paths;

/// Compiler options under which our own sources must compile.
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
    // Selected by the file name: `-x c++` would make the compiler read the library as a source too.
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

/// With every library, without a warning.
fn all_compile(files: &[PathBuf]) {
    let failures: Vec<String> = mpi::found()
        .iter()
        .flat_map(|library| files.iter().filter_map(|file| compile_with(library, file, &STRICT).err()))
        .collect();
    report(&failures);
}

#[test]
fn every_conformance_program_compiles_without_a_warning_with_every_library() {
    let files = c_files(&sources());
    assert!(files.len() > 15, "too few programs: {files:?}");
    all_compile(&files);
}

#[test]
fn every_example_tool_compiles_without_a_warning_with_every_library_and_is_short() {
    let files = c_files(&paths::workspace().join("examples/mpi_t"));
    assert_eq!(files.len(), 4, "{files:?}");
    for file in &files {
        let lines = std::fs::read_to_string(file).expect("a source file").lines().count();
        assert!(lines < 150, "{} has {lines} lines", file.display());
    }
    all_compile(&files);
}

#[test]
fn the_example_in_the_documentation_is_the_tested_example() {
    let read = |file: &str| std::fs::read_to_string(paths::workspace().join(file)).expect("a text file");
    let page = read("docs/tools.md");
    let shown = page.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).map(|(code, _)| code);
    assert_eq!(shown, Some(read("examples/mpi_t/unexpected_queue_tool.c").as_str()));
}
