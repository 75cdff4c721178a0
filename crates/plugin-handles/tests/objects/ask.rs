//! Queries the plug-ins for everything that the program created.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use debugger_host::handles::Handles;
use debugger_host::process::Process;
use debugger_host::{memory, published, queues};
use mpiscope_target::{Live, Target};
use serde_json::{Map, Value, json};

use crate::program::Running;

/// The plug-ins under test.
#[derive(Clone)]
pub struct Plugins {
    pub handles: PathBuf,
    pub queues: PathBuf,
}

/// Finds the plug-ins as a debugger does: the process names them, and they are next to the layer.
pub fn plugins(running: &Running, layer: &Path) -> Result<Plugins> {
    let live = Live::open(running.pid()?)?;
    let home = layer.parent().context("the layer lies nowhere")?.canonicalize()?;
    let find = |variable: &str, name: &str| {
        let named = published::plugins(&live, variable)?;
        let own = named
            .first()
            .with_context(|| format!("{variable} names nothing: build {name} beside {}", layer.display()))?;
        ensure!(own.canonicalize()? == home.join(name), "{variable} names {}", own.display());
        Ok(own.clone())
    };
    Ok(Plugins {
        handles: find(published::HANDLES, "libmpiscope_handles.so")?,
        queues: find(published::QUEUES, "libmpiscope_queues.so")?,
    })
}

/// Plug-ins keep their debugger in a global, and memory is counted for all of them together.
pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Returns all answers of the plug-ins by object name, or the object's error.
pub fn everything(target: Arc<dyn Target>, running: &Running, plugins: &Plugins) -> Result<Value> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = Process::new(target, 0);
    let mut answers = Map::new();
    let before = memory::ledger();
    {
        let handles = Handles::load(plugins.handles.as_os_str(), &process)?;
        answers.insert("about".into(), handles.about()?);
        for (name, kind) in running.handles.keys() {
            if let Some(kind) = kind.strip_prefix("fortran-") {
                let number = running.word(name, &format!("fortran-{kind}"))?.parse()?;
                let found = handles.from_fortran(kind, number);
                let found = found.map_or_else(|e| e.to_string(), |handle| format!("{handle:#x}"));
                answers.insert(format!("{name} from fortran"), json!(found));
            } else if kind != "address" && kind != "number" {
                let answer =
                    about(&handles, kind, running.value(name, kind)?, running.value("int", "datatype")?);
                answers.insert(name.clone(), answer.unwrap_or_else(|error| json!(error.to_string())));
            }
        }
        let says = |kind: &str, handle: u64| {
            json!(
                handles
                    .object(kind, handle)
                    .map_or_else(|error| error.to_string(), |answer| answer.to_string())
            )
        };
        answers.insert("garbage".into(), says("comm", 0x1234_5678));
        answers.insert("other kind".into(), says("datatype", running.value("mine", "comm")?));
        answers.insert("no address".into(), says("status", 8));
        let numbered = handles.from_fortran("file", 4711);
        let output = numbered.map_or_else(|error| error.to_string(), |handle| format!("{handle:#x}"));
        answers.insert("no number".into(), json!(output));
    }
    let dump = queues::dump(plugins.queues.as_os_str(), &process)?;
    answers.insert("queues".into(), serde_json::to_value(dump)?);
    let after = memory::ledger();
    anyhow::ensure!(
        after.blocks == before.blocks,
        "{} blocks were not given back",
        after.blocks - before.blocks
    );
    anyhow::ensure!(
        after.wrong_frees == before.wrong_frees,
        "blocks were given back that were never handed out"
    );
    let mut answers = Value::Object(answers);
    forget_times(&mut answers);
    Ok(answers)
}

/// Returns everything that the plug-in knows of an object; `int` is the datatype in which statuses
/// are counted.
fn about(handles: &Handles<'_>, kind: &str, handle: u64, int: u64) -> Result<Value> {
    let mut answer = handles.object(kind, handle)?;
    if let Some(fields) = answer.as_object_mut() {
        let (name, more) = match kind {
            "status" => ("elements", json!(handles.elements(handle, int)?)),
            _ => ("calls", handles.calls(kind, handle)?),
        };
        fields.insert(name.into(), more);
    }
    Ok(answer)
}

/// Times depend on the last reading of the clock, which advances.
fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "ns" && !name.ends_with("_ns"));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}
