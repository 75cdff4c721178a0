//! gdb with `mpiscope-gdb.py`, on a running process and on the core file that gdb makes of it.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run};

use super::PROGRAM;
use crate::subject::{LIMIT, Subject};

/// The reason why gdb cannot be used here, if any.
pub fn missing() -> Option<&'static str> {
    let python = Command::new("gdb").args(["-nx", "-batch", "-ex", "python print(40 + 2)"]).output();
    let speaks = python.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("42"));
    (!speaks).then_some("no gdb with Python is installed")
}

/// The commands in both cases.
const QUESTIONS: [&str; 15] = [
    "print comm",
    "print type",
    "print request",
    "print win",
    "print info",
    "print file",
    "print status",
    "info mpi",
    "info mpi datatype",
    "info mpi comm",
    "info mpi handle type",
    "info mpi handle fortran_comm comm",
    "info mpi handle fortran_file file",
    "info mpi handle comm",
    "info mpi leaks",
];

/// The expected output in both cases.
const ANSWERS: [&str; 15] = [
    " \"solver\": 1 process, rank 0",
    " \"particle\": struct of MPI_INT, MPI_DOUBLE, MPI_CHAR, 29 bytes in 40",
    " receive from 0 tag 42 on \"solver\" 10 x MPI_INT, completion not yet seen",
    " \"halo\": allocate on \"solver\", 80 bytes, unit 8, open: lock",
    " first_key=1, second_key=two words",
    "/data.0, create + rdwr",
    "  mode              create + rdwr",
    " = {MPI_SOURCE = 3, MPI_TAG = 42, MPI_ERROR = 0",
    "\"red ?[31m\": vector of \"particle\"",
    "datatype     3 live",
    "MPI_COMM_WORLD: 1 process, rank 0",
    "0  Iiii....DdddddddDdddddddDddddddd",
    "MPI_Comm \"solver\", handle 0x",
    "made by           MPI_Comm_dup at inspected.c:",
    "1 of kind op, MPI_Op_create at inspected.c:",
];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let program = subject.binary(&PROGRAM, library)?;
    let dir = tempfile::tempdir()?;
    let core = dir.path().join("core");
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
    let mut first: Vec<String> = vec![
        format!("set environment LD_PRELOAD {}", layer.display()),
        "set startup-with-shell off".into(),
        "break stopped".into(),
        format!("run stop {}", dir.path().display()),
        "up".into(),
    ];
    first.extend(QUESTIONS.map(str::to_owned));
    // The same through gdb's own access to memory, as for a process that mpiscope cannot read.
    first.push("python targets = lambda: iter([COPY.make])".into());
    first.push("python forget()".into());
    first.extend(["print win".into(), "echo ---copy\\n".into(), "print type".into()]);
    // Not every gdb can call a function on every processor.
    first.extend(
        ["set may-call-functions off", "mpi pin type", "info mpi handle type", "mpi release type"]
            .map(str::to_owned),
    );
    first.push(format!("generate-core-file {}", core.display()));
    first.push("kill".into());
    let live = gdb(library, &first, &[program.clone().into()], true)?;
    all(&live, "live")?;
    for said in ["kept from now on: 0x", "kept              for a debugger", "no longer kept: 0x"] {
        ensure!(live.contains(said), "no {said:?} in\n{live}");
    }
    let copied = live.split_once("---copy").map(|(_, after)| after).unwrap_or_default();
    ensure!(copied.contains(" \"particle\": struct"), "not read through gdb:\n{live}");
    let questions: Vec<String> = std::iter::once("up").chain(QUESTIONS).map(str::to_owned).collect();
    let dead = gdb(library, &questions, &[program.into(), core.into()], false)?;
    all(&dead, "core file")
}

fn gdb(library: &Library, commands: &[String], files: &[OsString], launched: bool) -> Result<String> {
    let mut command = if launched { library.launch(1) } else { Command::new("gdb") };
    if launched {
        command.arg("gdb");
    } else {
        library.set_environment(&mut command);
    }
    command.args(["-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set width 0"]);
    let script = paths::workspace().join("share").join("mpiscope-gdb.py");
    command.arg("-ex").arg(format!("source {}", script.display()));
    for line in commands {
        command.arg("-ex").arg(line);
    }
    command.args(files).env("MPISCOPE", paths::mpiscope().context("no mpiscope command")?);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(!outcome.timed_out, "gdb did not end: {}", outcome.describe());
    Ok(format!("{}\n{}", outcome.stdout, outcome.stderr))
}

fn all(shown: &str, which: &str) -> Result<()> {
    for wanted in ANSWERS {
        ensure!(shown.contains(wanted), "{which}: no {wanted:?} in\n{shown}");
    }
    ensure!(!shown.contains('\x1b'), "{which}: a name controls the terminal:\n{shown:?}");
    ensure!(!shown.contains("auto-load"), "{which}: gdb warns about the layer:\n{shown}");
    ensure!(!shown.contains("Traceback") && !shown.contains("Python Exception"), "{which}:\n{shown}");
    Ok(())
}
