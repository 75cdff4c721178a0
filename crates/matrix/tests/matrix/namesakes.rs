//! A program that defines functions with the names of C library functions: the layer must call the C
//! library's.
//!
//! The names are all undefined symbols of the tested layer, so that none can be forgotten.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;
use object::{Object, ObjectSymbol};

use crate::subject::{Form, Subject, word};

/// Functions that a program cannot replace with a forwarding wrapper, or that the test itself needs: memory,
/// which must come from one allocator in a process, functions that inspect their caller, and functions that
/// come with the compiler.
const LEFT_OUT: [&str; 20] = [
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "reallocarray",
    "dlsym",
    "dlvsym",
    "dladdr",
    "dladdr1",
    "dlopen",
    "snprintf",
    "strstr",
    "vfork",
    "setjmp",
    "longjmp",
    "sigsetjmp",
];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    [Form::AroundLauncher, Form::UnderLauncher].map(|form| {
        let by = if form == Form::AroundLauncher { "around" } else { "under" };
        let name = format!("{}::functions_of_the_program_with_names_of_the_c_librarys_are_not_called_by_the_layer_{by}_the_launcher", library.name);
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, form))
    }).into()
}

fn check(subject: &Subject, library: &Library, form: Form) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
    let names = undefined(&layer)?;
    ensure!(
        ["getrlimit", "open64", "fstat", "connect"]
            .iter()
            .filter(|n| names.iter().any(|name| name == *n))
            .count()
            > 1,
        "{names:?}"
    );
    let mut listed = String::new();
    for name in &names {
        writeln!(listed, "NAME({name})")?;
    }
    fs::write(dir.path().join("names.inc"), listed)?;
    let source = |name: &str| paths::programs().join("namesakes").join(name);
    let (include, program) = (format!("-I{}", dir.path().display()), dir.path().join("program"));
    // Without the compiler's built-in knowledge of these names.
    let options = [include.as_str(), "-fno-builtin", "-rdynamic", "-w"];
    library.cc_with(&[&source("program.c"), &source("names.c")], &program, &options)?;
    let words: [OsString; 1] = [word(&program)];
    let bare = subject.launch(library, 2, Form::Bare, &words, &|_| {})?;
    ensure!(bare.outcome.success(), "without the layer: {}", bare.outcome.describe());
    let seen = subject.launch(library, 2, form, &words, &|_| {})?;
    ensure!(seen.outcome.success(), "with the layer: {}", seen.outcome.describe());
    let lines = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    ensure!(lines(&bare.outcome.stdout) == lines(&seen.outcome.stdout), "{}", seen.outcome.describe());
    ensure!(seen.out().join("report.json").is_file(), "no report: {}", seen.outcome.describe());
    Ok(())
}

/// C library functions that a file refers to, except those chosen by the processor.
fn undefined(file: &Path) -> Result<Vec<String>> {
    let bytes = fs::read(file)?;
    let file = object::File::parse(&*bytes)?;
    let wanted = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined() && symbol.kind() == object::SymbolKind::Text);
    let names = wanted.filter_map(|symbol| symbol.name().ok());
    let is_one = |name: &&str| {
        !name.is_empty() && !name.starts_with('_') && !LEFT_OUT.contains(name) && !chosen_by_processor(name)
    };
    let mut names: Vec<String> = names.filter(is_one).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Whether the function is an indirect one, which stays bound to the implementation that the program's
/// compiler also calls.
fn chosen_by_processor(name: &str) -> bool {
    ["mem", "str", "bcmp", "wmem"].iter().any(|start| name.starts_with(start)) && name != "memfd_create"
}
