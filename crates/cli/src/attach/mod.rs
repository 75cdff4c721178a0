//! `mpiscope attach`: opens the user's debugger on chosen ranks of a job, one each, or runs one command in
//! all of them and groups equal answers.

pub mod batch;
mod debugger;
mod group;
pub mod tmux;

use crate::render::complain;
use crate::{exit, procs};
use anyhow::{Result, bail};
use debugger::Debugger;
use mpiscope_job::RankSet;
use mpiscope_job::jobs::acquire::{self, Acquired, Entry, Hosts, SystemHosts};
use mpiscope_job::jobs::evidence::is_evidence;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use tmux::Session;

/// Open a debugger on ranks of a job, or run one command in all of them
///
/// Starts from the job or any one process of it, like `mpiscope procs`. Without --batch, every chosen rank
/// gets a debugger in a tmux pane, on its own host. With --batch, the command runs in every chosen rank on
/// all hosts, and equal answers are shown once with their ranks. Attaching briefly stops a rank. Exit status:
/// 0 all is well, 1 some processes could not be read, 2 none could.
#[derive(clap::Args)]
pub struct Options {
    /// Process ids, a job, or one core file; not needed if there is only one job
    #[arg(value_name = "PID|JOB")]
    targets: Vec<OsString>,
    /// Only these ranks (of every world), for example 0,4-31 or 0-60:4
    #[arg(long, value_name = "SET")]
    ranks: Option<RankSet>,
    /// Only this world: its name in `mpiscope procs`, or a prefix of it
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// Run this debugger command in every rank, and exit
    #[arg(long, value_name = "COMMAND")]
    batch: Option<String>,
    /// With --batch: print each answer separately, as JSON
    #[arg(long, requires = "batch")]
    json: bool,
    /// Only release ranks that are held in MPI_Init
    #[arg(long, conflicts_with = "batch")]
    release: bool,
    /// Only processes of this host
    #[arg(long)]
    here: bool,
    /// Only the named processes, not the rest of their job
    #[arg(long)]
    only: bool,
    #[command(flatten)]
    whose: procs::Whose,
    /// The debugger and its options: gdb (the default) or lldb
    #[arg(last = true, value_name = "DEBUGGER")]
    debugger: Vec<String>,
}

/// Attaches to the chosen processes.
pub fn attach(options: &Options) -> Result<ExitCode> {
    if let Some(file) = options.targets.iter().find(|target| is_evidence(Path::new(target))) {
        bail!(
            "{}: an evidence file, without processes to attach to; `mpiscope ps` and `mpiscope why` read it",
            file.display()
        );
    }
    let (found, hosts) = procs::look_by(&options.targets, !options.here, &options.whose)?;
    for problem in &found.problems {
        complain("attach", problem);
    }
    let chosen = chosen(options, &found, &hosts)?;
    let debugger = Debugger::new(&options.debugger);
    if options.release {
        let problems = release(&chosen, &hosts);
        problems.iter().for_each(|problem| complain("attach", problem));
        return Ok(ExitCode::from(if problems.is_empty() { exit::FINE } else { exit::PROBLEM }));
    }
    match &options.batch {
        Some(command) => {
            let answers = batch::run(&chosen, &debugger, hosts.remote(), command, options)?;
            let failed = answers.iter().filter(|answer| !answer.is_there()).count();
            if failed > 0 && failed == answers.len() {
                return Ok(ExitCode::from(exit::COULD_NOT_READ));
            }
            Ok(exit::answer(failed > 0, !found.problems.is_empty()))
        }
        None => {
            tmux::open(&chosen, &debugger, Some(hosts.remote()))?;
            Ok(ExitCode::from(exit::FINE))
        }
    }
}

/// Returns the processes that the user selected.
fn chosen(options: &Options, found: &Acquired, hosts: &SystemHosts) -> Result<Vec<Entry>> {
    let wanted = |entry: &&Entry| {
        let rank =
            options.ranks.as_ref().is_none_or(|set| entry.rank.is_some_and(|rank| set.0.contains(&rank)));
        let world = options.world.as_ref().is_none_or(|world| entry.world.starts_with(world.as_str()));
        // Another host may have a process with the same number.
        let this =
            || hosts.here(&entry.place.host) && options.targets.contains(&entry.place.pid.to_string().into());
        let named = !options.only || this();
        rank && world && named && !entry.gone
    };
    let chosen: Vec<Entry> = found.processes.iter().filter(wanted).cloned().collect();
    if chosen.is_empty() {
        let ranks: RankSet = found.processes.iter().filter(|e| !e.gone).filter_map(|e| e.rank).collect();
        bail!(
            "--ranks and --world match none of the {} processes; ranks {ranks} are running",
            found.processes.len()
        );
    }
    Ok(chosen)
}

/// Releases processes that are held in `MPI_Init`, on all hosts. Returns the problems.
pub fn release(entries: &[Entry], hosts: &SystemHosts) -> Vec<String> {
    let mut problems = Vec::new();
    let (here, elsewhere) = batch::split(entries);
    for pid in here.iter().map(|entry| entry.place.pid) {
        match acquire::release(pid) {
            Ok(true) => {}
            Ok(false) => problems.push(format!("process {pid} has no MPIR_debug_gate")),
            Err(error) => problems.push(error.to_string()),
        }
    }
    for (host, entries) in elsewhere {
        let options = ["attach", "--release", "--here", "--only"].map(str::to_owned);
        let pids = entries.iter().map(|entry| entry.place.pid.to_string());
        let words: Vec<String> = options.into_iter().chain(pids).collect();
        problems.extend(hosts.remote().command(&host, &words).err().map(|error| error.to_string()));
    }
    problems
}

/// Opens debuggers on the processes of this host, which are held in `MPI_Init`, and opens their gates.
/// Processes of other hosts stay held and are reported. Returns the session of the debuggers if one was opened.
pub fn debug(entries: &[Entry]) -> Result<Option<Session>> {
    let (here, elsewhere) = batch::split(entries);
    for (host, entries) in elsewhere {
        let ranks: RankSet = entries.iter().filter_map(|entry| entry.rank).collect();
        complain(
            "",
            &format!(
                "ranks {ranks} are held on {host}: run `mpiscope attach PID --release` or a debugger there"
            ),
        );
    }
    tmux::open(&here, &Debugger::new(&[]), None)
}
