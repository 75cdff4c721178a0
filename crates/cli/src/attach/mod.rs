//! `mpiscope attach`: the user's debugger on chosen ranks of a job, one each; or one command in all of them, with equal
//! answers folded.

mod batch;
mod debugger;
mod fold;
mod tmux;

use crate::{exit, procs};
use anyhow::{Result, bail};
use debugger::Debugger;
use mpiscope_job::RankSet;
use mpiscope_job::acquire::{self, Acquired, Entry};
use std::process::ExitCode;

/// Open a debugger on ranks of a job, or run one command in all of them
///
/// Begins at any one process of the job, like `mpiscope procs`. Without --batch every chosen rank of this host gets
/// a debugger in a pane of tmux. With --batch the command runs in every chosen rank, on all hosts, and equal answers are
/// shown once with the ranks that gave them. Attaching stops a rank for that moment. Exit status: 0 all is well, 1
/// some processes could not be looked at, 2 none could.
#[derive(clap::Args)]
pub struct Options {
    /// Process ids of the job, or one core file
    #[arg(value_name = "PID", required = true)]
    targets: Vec<String>,
    /// Only these ranks, such as 0,4-31 (of every world)
    #[arg(long, value_name = "SET")]
    ranks: Option<RankSet>,
    /// Only this world, by its name in `mpiscope procs` or the beginning of it
    #[arg(long, value_name = "NAME")]
    world: Option<String>,
    /// Run this command of the debugger in every rank, and end
    #[arg(long, value_name = "COMMAND")]
    batch: Option<String>,
    /// With --batch: every answer by itself, as JSON
    #[arg(long, requires = "batch")]
    json: bool,
    /// Let ranks go that are held in MPI_Init, and do nothing else
    #[arg(long, conflicts_with = "batch")]
    release: bool,
    /// Only processes of this host
    #[arg(long)]
    here: bool,
    /// Only the named processes, not the others of their job
    #[arg(long)]
    only: bool,
    /// The debugger and its options: gdb (as it is without this) or lldb
    #[arg(last = true, value_name = "DEBUGGER")]
    debugger: Vec<String>,
}

/// Attaches.
pub fn attach(options: &Options) -> Result<ExitCode> {
    let found = procs::look(&options.targets, !options.here)?;
    for problem in &found.problems {
        eprintln!("mpiscope attach: {problem}");
    }
    let chosen = chosen(options, &found)?;
    let debugger = Debugger::new(&options.debugger);
    if options.release {
        return release(&chosen);
    }
    match &options.batch {
        Some(command) => batch::run(&chosen, &debugger, command, options),
        None => {
            tmux::open(&chosen, &debugger, false)?;
            Ok(ExitCode::from(exit::FINE))
        }
    }
}

/// The processes that the user wants.
fn chosen(options: &Options, found: &Acquired) -> Result<Vec<Entry>> {
    let wanted = |entry: &&Entry| {
        let rank =
            options.ranks.as_ref().is_none_or(|set| entry.rank.is_some_and(|rank| set.0.contains(&rank)));
        let world = options.world.as_ref().is_none_or(|world| entry.world.starts_with(world.as_str()));
        let named = !options.only || options.targets.contains(&entry.place.pid.to_string());
        rank && world && named && !entry.gone
    };
    let chosen: Vec<Entry> = found.processes.iter().filter(wanted).cloned().collect();
    if chosen.is_empty() {
        let ranks: RankSet = found.processes.iter().filter(|e| !e.gone).filter_map(|e| e.rank).collect();
        bail!(
            "none of the {} processes is chosen by --ranks and --world; ranks {ranks} run",
            found.processes.len()
        );
    }
    Ok(chosen)
}

fn release(chosen: &[Entry]) -> Result<ExitCode> {
    let mut status = exit::FINE;
    let (here, elsewhere) = batch::split(chosen);
    for entry in here {
        match acquire::release(entry.place.pid) {
            Ok(true) => {}
            Ok(false) => {
                status = exit::PROBLEM;
                eprintln!("mpiscope attach: process {} has no gate", entry.place.pid);
            }
            Err(error) => {
                status = exit::PROBLEM;
                eprintln!("mpiscope attach: {error}");
            }
        }
    }
    for (host, entries) in elsewhere {
        let mut arguments: Vec<String> =
            ["attach", "--release", "--here", "--only"].map(str::to_owned).to_vec();
        arguments.extend(entries.iter().map(|entry| entry.place.pid.to_string()));
        // It prints nothing: no JSON is the answer that is wanted, an error text is not.
        if let Err(acquire::Error::Remote { why, .. }) = procs::system().run::<()>(&host, &arguments)
            && !why.contains("not understood")
        {
            status = exit::PROBLEM;
            eprintln!("mpiscope attach: host {host}: {why}");
        }
    }
    Ok(ExitCode::from(status))
}

/// Opens debuggers on processes of this host that are held in `MPI_Init`, and opens their gates.
pub fn debug(pids: &[u32]) -> Result<()> {
    let entries: Vec<Entry> = (0..)
        .zip(pids)
        .map(|(rank, pid)| Entry {
            world: String::new(),
            rank: Some(rank),
            place: acquire::Place { host: String::new(), pid: *pid },
            executable: std::path::PathBuf::new(),
            spawned: None,
            gone: false,
        })
        .collect();
    tmux::open(&entries, &Debugger::new(&[]), true)
}
