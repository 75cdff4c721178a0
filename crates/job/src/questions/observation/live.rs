//! Observing the processes of a job on this host, without stopping them.

use super::read::{Context, observe};
use super::{Observation, Stage};
use crate::discover::{Job, JobImage};
use crate::evidence::About;
use crate::names::Locate;
use crate::process::Process;
use crate::rank::{Rank, SymbolContext};
use mpiscope_image::Source;
use mpiscope_image::layout::State;
use mpiscope_target::Files;
use std::fs;
use std::sync::Arc;

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
    let calls = |found: &JobImage| {
        let process = Process::read(&found.open().ok()?, None).ok()?;
        let calls = process.threads.iter().map(|thread| thread.calls.saturating_sub(process.polls(thread)));
        Some(calls.fold(0, u64::saturating_add))
    };
    job.images.iter().filter_map(calls).reduce(u64::saturating_add)
}

/// Looks at all processes of a job on this host.
pub fn look(job: &Job, symbols: &dyn Locate) -> Look {
    let mut look = Look::default();
    let files = Arc::new(Files::default());
    for found in &job.images {
        match one(found, symbols, &files) {
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

fn one(found: &JobImage, symbols: &dyn Locate, files: &Arc<Files>) -> Result<Observation, crate::Error> {
    let Some((image, process)) = found.read(files)? else {
        return Ok(Observation { stage: Stage::Silent, ..Observation::default() });
    };
    let context = SymbolContext::new(&process, symbols);
    let rank = Rank::new(&image, &process, &context);
    if let Some(about) = found.about() {
        return Ok(observe_kept(&rank, about));
    }
    Ok(observe(&rank, &system(found, &process)))
}

/// Observes a process that an evidence file has kept.
pub fn observe_kept<S: Source>(rank: &Rank<'_, S>, about: &About) -> Observation {
    let ended = (!about.alive).then(|| gone(rank.process()));
    observe(rank, &Earlier { about, ended })
}

/// What a thread does outside of MPI.
pub fn doing(found: &JobImage, process: &Process, tid: u32) -> String {
    system(found, process).doing(tid)
}

fn system(found: &JobImage, process: &Process) -> System {
    let ended = (!found.alive(process.pid)).then(|| gone(process));
    System { pid: found.outer_pid(process.pid).unwrap_or(process.pid), ended }
}

/// What a host's kernel said of a process when it was saved.
struct Earlier<'a> {
    about: &'a About,
    ended: Option<String>,
}

impl Context for Earlier<'_> {
    fn doing(&self, tid: u32) -> String {
        self.about.doing.get(&tid).cloned().unwrap_or_default()
    }

    fn at(&self, _: u32) -> Option<String> {
        None
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }
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
