//! `mpiscope inspect` and gdb, queried for everything that the program created.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::program::Running;

/// Time limit of one query, and of everything that gdb is asked.
const LIMIT: Duration = Duration::from_secs(60);
/// Section number of communicators in an image, which is part of a key's handle.
const COMM_SECTION: u64 = 16;

/// Returns objects by name, with kind and handle in the form of the command.
fn objects(running: &Running) -> Result<Vec<(&String, &str, u64)>> {
    let is_object =
        |kind: &str| !kind.starts_with("fortran-") && !matches!(kind, "address" | "number" | "status");
    let all = running.handles.keys().filter(|(_, kind)| is_object(kind));
    let objects = all.map(|(name, kind)| {
        let handle = running.value(name, kind)?;
        // The plug-in numbers kinds differently.
        let handle = if kind == "keyval" { COMM_SECTION << 32 | handle & 0xffff_ffff } else { handle };
        Ok((name, kind.as_str(), handle))
    });
    objects.collect()
}

/// Returns the command's answer for each object of a process or core file.
pub fn inspect(target: &str, running: &Running) -> Result<BTreeMap<String, Value>> {
    let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut answers = BTreeMap::new();
    for (name, kind, handle) in objects(running)? {
        if !lists.contains_key(kind) {
            lists.insert(kind, ask(&[target, "--kind", kind, "--freed"])?);
        }
        let list = lists.get(kind).map(Vec::as_slice).unwrap_or_default();
        let text = format!("{handle:#x}");
        // The last one with this handle is meant. A predefined object that was never touched is in no list.
        let found = match list.iter().rev().find(|object| object["handle"] == *text) {
            Some(found) => found.clone(),
            None => {
                let found = ask(&[target, "--kind", kind, "--handle", &text])?;
                found.first().with_context(|| format!("no {kind} {text}, which is {name}"))?.clone()
            }
        };
        answers.insert(name.clone(), found);
    }
    Ok(answers)
}

/// Returns the objects in an answer about one process.
fn ask(arguments: &[&str]) -> Result<Vec<Value>> {
    let mpiscope = paths::mpiscope().context("no mpiscope command: build it, or name it in MPISCOPE_BIN")?;
    let mut command = Command::new(&mpiscope);
    command.args(["inspect", "--json"]).args(arguments);
    let outcome = run::bounded(&mut command, LIMIT)?;
    let answer: Value = serde_json::from_str(&outcome.stdout).with_context(|| outcome.describe())?;
    let objects = answer["ranks"][0]["objects"].as_array();
    Ok(objects.with_context(|| format!("{arguments:?}: {answer}"))?.clone())
}

/// Returns gdb's answer for each object: `files` are its arguments that name the process or the core file.
pub fn gdb(files: &[OsString], running: &Running) -> Result<BTreeMap<String, String>> {
    const MARK: &str = "--- object ";
    let script = paths::workspace().join("share").join("mpiscope-gdb.py");
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set width 0"]);
    // Symbols of the MPI library are not needed and slow to load.
    command.args(["-iex", "set auto-solib-add off"]);
    command.arg("-ex").arg(format!("source {}", script.display()));
    for (name, kind, handle) in objects(running)? {
        command.arg("-ex").arg(format!("echo {MARK}{name}\\n"));
        command.arg("-ex").arg(format!("info mpi handle {handle:#x} {kind}"));
    }
    command.args(files).env("MPISCOPE", paths::mpiscope().context("no mpiscope command")?);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(!outcome.timed_out, "gdb does not end: {}", outcome.describe());
    let output = outcome.stdout.split(MARK).skip(1).filter_map(|part| {
        let (name, text) = part.split_once('\n')?;
        Some((name.to_owned(), text.to_owned()))
    });
    Ok(output.collect())
}
