//! Observing the processes of a job on this host, without stopping them.

use super::read::{Context, observe};
use super::{Observation, Stage};
use crate::discover::{Found, Job};
use crate::living;
use crate::names::Locate;
use crate::process::Process;
use mpiscope_image::layout::State;
use std::fs;

/// One look at the processes of a job on this host.
#[derive(Debug, Default)]
pub struct Look {
    /// What was seen.
    pub observations: Vec<Observation>,
    /// What could not be read, and why.
    pub errors: Vec<String>,
}

/// How many calls that are no polling all processes of a job on this host have completed; `None` while no image can be read.
pub fn progress(job: &Job) -> Option<u64> {
    let calls = |found: &Found| {
        let process = Process::read(&found.open().ok()?, None).ok()?;
        let calls = process.threads.iter().map(|thread| thread.calls.saturating_sub(process.polls(thread)));
        Some(calls.fold(0, u64::saturating_add))
    };
    job.images.iter().filter_map(calls).reduce(u64::saturating_add)
}

/// Looks at all processes of a job on this host.
pub fn look(job: &Job, symbols: &dyn Locate) -> Look {
    let (mut look, reader) = (Look::default(), living::Reader::default());
    for found in &job.images {
        match one(found, &reader, symbols) {
            Ok(observation) => look.observations.push(observation),
            // It ended since the list was made.
            Err(_) if !found.held() => {}
            Err(error) => look.errors.push(error.to_string()),
        }
    }
    look.place_silent();
    look
}

impl Look {
    /// A process that has not called MPI does not know its world; where all others are in one, it is meant for that.
    fn place_silent(&mut self) {
        let mut worlds: Vec<&str> =
            self.observations.iter().map(|o| o.world.as_str()).filter(|world| !world.is_empty()).collect();
        worlds.sort_unstable();
        worlds.dedup();
        let [only] = worlds.as_slice() else { return };
        let only = (*only).to_owned();
        for observation in self.observations.iter_mut().filter(|o| o.world.is_empty()) {
            observation.world.clone_from(&only);
        }
    }
}

fn one(found: &Found, reader: &living::Reader, symbols: &dyn Locate) -> Result<Observation, crate::Error> {
    let Some(living) = reader.read_calls(found)? else {
        return Ok(Observation { stage: Stage::Silent, ..Observation::default() });
    };
    let ended = (!living.alive).then(|| gone(&living.process));
    let system = System { pid: living.outer_pid.unwrap_or(living.process.pid), ended };
    Ok(living.look(symbols, |rank| observe(rank, &system)))
}

/// How a process ended that is not there any more.
fn gone(process: &Process) -> String {
    match (process.state, process.abort_code) {
        (State::ABORTED, Some(code)) => format!("it called MPI_Abort with {code}"),
        _ => "it is gone without MPI_Finalize".to_owned(),
    }
}

/// What this host's kernel says of a process.
struct System {
    pid: u32,
    ended: Option<String>,
}

impl Context for System {
    fn doing(&self, tid: u32) -> String {
        let task = format!("/proc/{}/task/{tid}", self.pid);
        // Behind the name, which may hold anything, blanks and brackets too.
        let stat = fs::read_to_string(format!("{task}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        let text = match state {
            Some('R') => "computing",
            Some('D') => "waiting for a device or file system",
            Some('T') => "stopped by a signal",
            Some('t') => "stopped by a debugger",
            Some('S') => return sleeping(&task),
            _ => "",
        };
        text.to_owned()
    }

    fn at(&self, _: u32) -> Option<String> {
        None
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }
}

/// In which system call a thread sleeps, if we may know.
fn sleeping(task: &str) -> String {
    let syscall = fs::read_to_string(format!("{task}/syscall")).unwrap_or_default();
    let number = syscall.split_whitespace().next().and_then(|word| word.parse::<usize>().ok());
    match number.and_then(syscalls::Sysno::new) {
        Some(call) => format!("sleeping in the system call {call}"),
        None => "sleeping".to_owned(),
    }
}
