//! Calls every function that takes a handle with a wrong one: the result must be the same as without the
//! layer.
//!
//! The calls are generated from the table of functions, as described in `programs/misuse/every_function.c`. A
//! result that a library repeats in three runs with different contents of uninitialized memory is considered
//! reliable and must be the same under the layer. Crashes and random results are the library's own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpi_abi::{Class, Dir, Function, Kind, Len, ObjectKind, Param};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};

const NAME: &str = "every_function_treats_a_wrong_handle_as_without_the_layer";

/// The contents of uninitialized memory: bytes, or words that are valid addresses.
const FILLINGS: [&str; 3] = ["0", "85", "address"];
/// The program takes some ten seconds, mostly waiting for calls that hang; ten times as long on a busy
/// machine.
const LIMIT: Duration = Duration::from_secs(600);
/// One library of each family is always tested, the others only in a complete run: they take minutes.
const ALWAYS: [&str; 2] = ["mpich-5.0", "openmpi-5.0"];

pub fn trial(library: &Arc<Library>) -> Trial {
    let name = format!("{}::{NAME}", library.name);
    if library.family == Family::Intel {
        return crate::skipped(name, "Intel's library hangs without the layer too");
    }
    if !ALWAYS.contains(&library.name.as_str()) && std::env::var_os("MPISCOPE_EVERY_SIZE").is_none() {
        return crate::skipped(name, "only with MPISCOPE_EVERY_SIZE=1");
    }
    let library = Arc::clone(library);
    checked(name, move || check(&library))
}

fn check(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("cases.inc"), cases()?)?;

    let program = dir.path().join("every_function");
    let include = format!("-I{}", dir.path().display());
    let source = paths::programs().join("misuse/every_function.c");
    library.cc_with(&[&source], &program, &["-O1", &include, "-ldl"])?;
    let run = |layer: bool, filling| lines(library, &program, layer, filling);
    let (bare, seen) = thread::scope(|scope| -> Result<_> {
        let bare = FILLINGS.map(|filling| scope.spawn(move || run(false, filling)));
        let seen = run(true, "85");
        let joined = |thread: thread::ScopedJoinHandle<'_, Result<_>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))
        };
        Ok((bare.map(joined).into_iter().collect::<Result<Vec<_>>>()?, seen?))
    })?;
    let wanted: BTreeSet<&String> = bare.iter().flatten().filter(|line| is_certain(line, &bare)).collect();
    ensure!(wanted.len() > 300, "only {} calls have the same result each time", wanted.len());
    let of = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let mut changed: Vec<_> = wanted.iter().filter(|line| !seen.contains(**line)).collect();
    // What a library reads from freed memory may be the same three times and differ the fourth time. Effects
    // of the layer occur every time.
    for filling in FILLINGS {
        if !changed.is_empty() {
            let again = run(true, filling)?;
            changed.retain(|line| !again.contains(**line));
        }
    }
    let instead: Vec<_> =
        changed.iter().filter_map(|line| seen.iter().find(|other| of(other) == of(line))).collect();
    ensure!(changed.is_empty(), "different under the layer: {changed:#?}\ninstead: {instead:#?}");
    Ok(())
}

/// Whether a result is reliable. If a freed handle is neither accepted nor refused like one that was never an
/// object, it has led the library into freed memory.
fn is_certain(line: &str, bare: &[BTreeSet<String>]) -> bool {
    let alike = |line: &str| bare.iter().all(|run| run.contains(line));
    let refused = |way: &str| alike(&line.replace(" freed:", way));
    let known =
        !line.contains(" freed:") || line.ends_with(": class 0") || refused(" null:") || refused(" none:");
    alike(line) && known && !line.contains(": signal")
}

/// The output of one run, without a launcher: no other rank is needed.
fn lines(library: &Library, program: &Path, layer: bool, filling: &str) -> Result<BTreeSet<String>> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    library.set_environment(&mut command);
    command
        .arg(filling)
        .env("MALLOC_PERTURB_", if filling == "0" { "0" } else { "85" })
        .current_dir(folder.path());
    if layer {
        let file = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
        command.env("LD_PRELOAD", file).env("MPISCOPE_RECORD_MESSAGES", "1");
    }
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.stdout.contains("all: asked"), "layer {layer}: {}", outcome.describe());
    Ok(outcome.stdout.lines().filter(|line| line.contains(": ")).map(str::to_owned).collect())
}

/// A row for each function and each of its handles.
fn cases() -> Result<String> {
    let mut text = String::new();
    for function in mpi_abi::FUNCTIONS.iter().filter(|f| can_be_asked(f)) {
        let letters: String = function.params.iter().map(|p| letter(function, p)).collect();
        for (at, param) in function.params.iter().enumerate() {
            if let Some(kind) = handle(function, param).filter(|_| param.dir != Dir::Out) {
                writeln!(text, "CASE({}, {at}, '{kind}', \"{letters}\")", function.name)?;
            }
        }
    }
    Ok(text)
}

/// Whether the function can be tested: not if it ends processes, starts or connects to others, or returns no
/// error code.
fn can_be_asked(function: &Function) -> bool {
    function.returns == Kind::ERROR_CODE
        && function.is_traced()
        && function.properties.class != Class::DYNAMIC
        && function.name != "MPI_Abort"
}

/// The letter of an input handle.
fn handle(function: &Function, param: &Param) -> Option<char> {
    const LETTERS: [(ObjectKind, char); 11] = [
        (ObjectKind::COMM, 'C'),
        (ObjectKind::GROUP, 'G'),
        (ObjectKind::DATATYPE, 'D'),
        (ObjectKind::REQUEST, 'Q'),
        (ObjectKind::MESSAGE, 'M'),
        (ObjectKind::OP, 'O'),
        (ObjectKind::ERRHANDLER, 'E'),
        (ObjectKind::INFO, 'I'),
        (ObjectKind::FILE, 'F'),
        (ObjectKind::WIN, 'W'),
        (ObjectKind::SESSION, 'S'),
    ];
    let kind = ObjectKind::from_c_type(param.kind.c_type(function.flags()))?;
    LETTERS.iter().find(|(each, _)| *each == kind).map(|(_, letter)| *letter)
}

/// The letter that encodes a parameter.
fn letter(function: &Function, param: &Param) -> char {
    let (kind, address) = (param.kind.name(), param.shape.contains('*'));
    match handle(function, param) {
        Some(letter) if param.dir != Dir::Out => {
            return if address { letter.to_ascii_lowercase() } else { letter };
        }
        _ => {}
    }
    match kind {
        "STRING" if param.dir == Dir::In && param.len == Len::One => 'k',
        _ if address && param.dir == Dir::In => 'z',
        _ if address => 'p',
        "TAG" => 't',
        "RANK" if matches!(param.name, "dest" | "source") => 'P',
        _ if kind.contains("NUM_ELEM") || kind.contains("ARRAY_LENGTH") => '1',
        _ => '0',
    }
}
