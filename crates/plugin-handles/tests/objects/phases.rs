//! The plug-in and the command, queried when there are no objects: before `MPI_Init`, after `MPI_Finalize`.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use debugger_host::handles::Handles;
use debugger_host::process::Process;
use mpiscope_target::Live;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run};
use serde_json::Value;
use std::process::Command;

use crate::program::{self, Running};
use crate::{LIMIT, ask};

/// The expected answers in one phase.
struct Phase {
    name: &'static str,
    /// For `MPI_COMM_WORLD`, the program's communicator and its datatype: the flags or the code in the answer.
    world: &'static str,
    mine: &'static str,
    datatype: &'static str,
    /// For another communicator, which is not pinned.
    other: &'static str,
    garbage: &'static str,
    /// The exit status of `mpiscope inspect`, and words in its output.
    status: i32,
    words: &'static str,
}

const UNAVAILABLE: &str = "MPIDBG_ERR_UNAVAILABLE";
const NOT_FOUND: &str = "MPIDBG_ERR_NOT_FOUND";
const PHASES: [Phase; 4] = [
    Phase {
        name: "unborn",
        world: UNAVAILABLE,
        mine: UNAVAILABLE,
        datatype: UNAVAILABLE,
        other: UNAVAILABLE,
        garbage: UNAVAILABLE,
        status: 2,
        words: "has not called MPI yet",
    },
    Phase {
        name: "before",
        // Its name and its handle are always known.
        world: "predefined",
        mine: UNAVAILABLE,
        datatype: UNAVAILABLE,
        other: UNAVAILABLE,
        garbage: UNAVAILABLE,
        status: 2,
        words: "has not completed MPI_Init yet",
    },
    Phase {
        name: "between",
        world: "predefined",
        mine: "live",
        datatype: "live",
        other: "live",
        garbage: NOT_FOUND,
        status: 0,
        words: "made by MPI_Comm_dup",
    },
    Phase {
        name: "after",
        world: "freed object, live",
        mine: "freed object",
        datatype: "freed object",
        other: NOT_FOUND,
        garbage: NOT_FOUND,
        status: 0,
        words: "freed by MPI_Comm_free",
    },
];

/// Runs all phases.
pub fn everything(library: &Library, layer: &Path) -> Result<()> {
    // Freed objects are forgotten at once unless pinned.
    let none_kept = [("MPISCOPE_TOMBSTONES", "0")];
    let mut running = program::start(library, layer, "phases.c", 1, &none_kept, LIMIT)?;
    let beside = layer.with_file_name("libmpiscope_handles.so");
    for phase in PHASES {
        running.enter(phase.name)?;
        if phase.name == "between" {
            ensure!(ask::plugins(&running, layer)?.handles.canonicalize()? == beside.canonicalize()?);
        }
        phase.plugin(&running, &beside).with_context(|| phase.name)?;
        phase.command(&running).with_context(|| phase.name)?;
        if phase.name == "between" {
            pin(&running, &beside, &[("mine", "comm"), ("type", "datatype")])?;
        }
        running.leave(phase.name)?;
    }
    Ok(())
}

/// Acts like a debugger that can write memory but call nothing.
fn pin(running: &Running, plugin: &Path, objects: &[(&str, &str)]) -> Result<()> {
    let pid = running.pid()?;
    let process = Process::new(Arc::new(Live::open(pid)?), 0);
    let _one = ask::ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let handles = Handles::load(plugin.as_os_str(), &process)?;
    let memory = OpenOptions::new().write(true).open(format!("/proc/{pid}/mem"))?;
    for (name, kind) in objects {
        let address = handles.pin_address(kind, running.value(name, kind)?)?;
        memory.write_all_at(&1u16.to_ne_bytes(), address)?;
    }
    let never_freed = handles.pin_address("comm", running.value("world", "comm")?);
    ensure!(never_freed.is_err_and(|error| error.to_string().contains("NOT_SUPPORTED")));
    Ok(())
}

impl Phase {
    fn plugin(&self, running: &Running, plugin: &Path) -> Result<()> {
        let process = Process::new(Arc::new(Live::open(running.pid()?)?), 0);
        let _one = ask::ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let handles = Handles::load(plugin.as_os_str(), &process)?;
        let questions = [
            ("world", "comm", running.value("world", "comm")?, self.world),
            ("mine", "comm", running.value("mine", "comm")?, self.mine),
            ("type", "datatype", running.value("type", "datatype")?, self.datatype),
            ("other", "comm", running.value("other", "comm")?, self.other),
            ("garbage", "comm", 0x0bad_cafe, self.garbage),
            ("garbage", "request", 0x0bad_cafe, self.garbage),
        ];
        for (name, kind, handle, wanted) in questions {
            let said = match handles.object(kind, handle) {
                Ok(answer) => flags(&answer),
                Err(error) => error.to_string(),
            };
            let all = wanted.split(", ").all(|word| said.contains(word));
            ensure!(all, "{name}: {said}, not {wanted}");
        }
        Ok(())
    }

    fn command(&self, running: &Running) -> Result<()> {
        let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
        let handle = format!("{:#x}", running.value("mine", "comm")?);
        command.args(["inspect", &running.pid()?.to_string(), "--kind", "comm", "--handle", &handle]);
        let outcome = run::bounded(&mut command, LIMIT)?;
        let output = format!("{}{}", outcome.stdout, outcome.stderr);
        let output: Vec<&str> = output.split_whitespace().collect();
        let right = outcome.code() == self.status && output.join(" ").contains(self.words);
        ensure!(right, "wanted {} and {:?}: {}", self.status, self.words, outcome.describe());
        Ok(())
    }
}

/// Returns the flags in an answer, and `live` if it is not freed.
fn flags(answer: &Value) -> String {
    let lists = answer.as_object().into_iter().flatten().filter_map(|(_, part)| part["flags"].as_array());
    let mut words: Vec<&str> = lists.flatten().filter_map(Value::as_str).collect();
    if !words.contains(&"freed handle") {
        words.push("live");
    }
    words.join(", ")
}
