//! Runs one debugger command in many processes, on all their hosts.

use super::Options;
use super::debugger::Debugger;
use super::group::{self, Answer};
use crate::host_scope;
use crate::render::{Screen, complain};
use anyhow::{Context, Result, bail};
use mpiscope_job::jobs::acquire::{Entry, Hosts, Remote};
use mpiscope_job::jobs::live_process::may_read;
use mpiscope_job::sources::procfs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Additional time that a debugger on another host may take.
const DEBUGGING: Duration = Duration::from_secs(600);

/// Timeout of one debugger: reading the debug information of a large program takes a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// The result for one process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Output {
    #[serde(flatten)]
    entry: Entry,
    /// The debugger's answer, or null.
    text: Option<String>,
    /// Why there is no answer.
    error: Option<String>,
}

/// The output of `--json`, also used as the answer of another host.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outputs {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: String,
    outputs: Vec<Output>,
}

impl Output {
    /// Whether there is an answer.
    pub fn is_there(&self) -> bool {
        self.text.is_some()
    }
}

/// Runs `command` in the chosen processes, shows the answers and returns them.
pub fn run(
    chosen: &[Entry],
    debugger: &Debugger,
    remote: &Remote,
    command: &str,
    options: &Options,
) -> Result<Vec<Output>> {
    let (here, elsewhere) = split(chosen);
    let mut outputs = all_here(&here, debugger, command)?;
    // In parallel, so that a host that does not answer does not delay the others.
    let answers = std::thread::scope(|scope| {
        let asked: Vec<_> = elsewhere
            .iter()
            .map(|(host, entries)| scope.spawn(|| ask(remote, host, entries, command, options)))
            .collect();
        asked.into_iter().map(|answer| answer.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    outputs.extend(answers.into_iter().flatten());
    if !options.json {
        show(&outputs)?;
        return Ok(outputs);
    }
    let report = Outputs { schema: "mpiscope.answers/1".into(), outputs };
    let mut screen = Screen::stdout();
    screen.json(&report)?;
    screen.finish()?;
    Ok(report.outputs)
}

/// Separates the processes of this host from those of other hosts, grouped by host.
pub fn split(chosen: &[Entry]) -> (Vec<Entry>, BTreeMap<String, Vec<Entry>>) {
    let system = host_scope::system();
    let mut elsewhere: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    let mut here = Vec::new();
    for entry in chosen {
        if system.here(&entry.place.host) {
            here.push(entry.clone());
        } else {
            elsewhere.entry(entry.place.host.clone()).or_default().push(entry.clone());
        }
    }
    (here, elsewhere)
}

fn show(outputs: &[Output]) -> Result<()> {
    let answer = |output: &Output| {
        Some(Answer {
            world: output.entry.world.clone(),
            rank: output.entry.rank,
            pid: output.entry.place.pid,
            text: output.text.clone()?,
        })
    };
    let answers: Vec<Answer> = outputs.iter().filter_map(answer).collect();
    let mut screen = Screen::stdout();
    for line in group::lines(&answers) {
        // Debuggers indent with tabs.
        screen.line(&line.replace('\t', "    "))?;
    }
    screen.finish()?;
    // Usually the same restriction applies to all processes; it is shown once.
    let errors: BTreeSet<&str> = outputs.iter().filter_map(|output| output.error.as_deref()).collect();
    for error in errors {
        complain("attach", error);
    }
    Ok(())
}

/// Runs the command in all processes of this host, a few at a time.
fn all_here(entries: &[Entry], debugger: &Debugger, command: &str) -> Result<Vec<Output>> {
    let waiting = Mutex::new(entries.iter().collect::<Vec<_>>());
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(entries.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(entry) = waiting.lock().ok().and_then(|mut waiting| waiting.pop()) {
                    let result = one(entry.place.pid, debugger, command);
                    let error = result.as_ref().err().map(|error| format!("{error:#}"));
                    let output = Output { entry: entry.clone(), text: result.ok(), error };
                    if let Ok(mut done) = done.lock() {
                        done.push(output);
                    }
                }
            });
        }
    });
    done.into_inner().map_err(|_| anyhow::anyhow!("a worker failed; try again"))
}

/// Runs the command in one process.
fn one(pid: u32, debugger: &Debugger, command: &str) -> Result<String> {
    // Names the restriction that forbids it; the debugger would only report that it is not
    // permitted.
    may_read(pid)?;
    if let Some(tracer) = tracer(pid) {
        bail!("process {pid} already has a debugger (process {tracer}); detach that one first");
    }
    let said = bounded(debugger.batch(pid, command), debugger.program())?;
    match debugger.answer(&said.printed, command) {
        // Some commands print nothing.
        Some(answer) if !answer.is_empty() || said.status.success() => Ok(answer),
        _ => {
            let line = said
                .errors
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("it printed nothing")
                .trim();
            bail!("process {pid}: {} gave no answer: {line}", debugger.program())
        }
    }
}

/// Returns the process that traces another one.
fn tracer(pid: u32) -> Option<u32> {
    procfs::status_lines(pid).ok()?.tracer()
}

/// The output of a debugger that has ended.
struct Said {
    printed: String,
    errors: String,
    status: ExitStatus,
}

/// Runs a command for at most [`PATIENCE`].
fn bounded(mut command: Command, name: &str) -> Result<Said> {
    let mut child = command.spawn().with_context(|| {
        format!("{name} cannot be started; install it, or name another debugger after `--`")
    })?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: &mut dyn Read| {
        let mut bytes = Vec::new();
        // A broken pipe has delivered all it had.
        let _broken = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let text = std::thread::scope(|scope| {
        let out = scope.spawn(move || out.as_mut().map_or_else(String::new, |pipe| read(pipe)));
        let err = scope.spawn(move || err.as_mut().map_or_else(String::new, |pipe| read(pipe)));
        let begin = Instant::now();
        let ended = loop {
            match child.try_wait() {
                Ok(None) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some(status)) => break Some(status),
                _ => {
                    // The kernel resumes a traced process when its tracer dies.
                    let _gone = child.kill().and_then(|()| child.wait().map(drop));
                    break None;
                }
            }
        };
        (out.join().unwrap_or_default(), err.join().unwrap_or_default(), ended)
    });
    match text {
        (printed, errors, Some(status)) => Ok(Said { printed, errors, status }),
        _ => bail!("{name} did not answer within {} s", PATIENCE.as_secs()),
    }
}

/// Runs the command in processes of another host, through the copy of this program there.
fn ask(remote: &Remote, host: &str, entries: &[Entry], command: &str, options: &Options) -> Vec<Output> {
    let mut arguments: Vec<String> =
        ["attach", "--here", "--only", "--json", "--batch"].map(str::to_owned).to_vec();
    arguments.push(command.to_owned());
    arguments.extend(entries.iter().map(|entry| entry.place.pid.to_string()));
    if !options.debugger.is_empty() {
        arguments.push("--".into());
        arguments.extend(options.debugger.iter().cloned());
    }
    let wanted = |output: &Output| entries.iter().any(|entry| entry.place.pid == output.entry.place.pid);
    match remote.run::<Outputs>(host, &arguments, DEBUGGING) {
        Ok(found) => found.outputs.into_iter().filter(wanted).collect(),
        Err(error) => {
            let output =
                |entry: &Entry| Output { entry: entry.clone(), text: None, error: Some(error.to_string()) };
            entries.iter().map(output).collect()
        }
    }
}
