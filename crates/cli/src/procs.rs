//! `mpiscope procs`: all processes of a job and of the jobs connected with it, found from any one of them.

use crate::exit;
use crate::ps::table::align;
use anyhow::{Result, bail};
use mpiscope_job::acquire::{self, Acquired, Entry, Start, System};
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_millis(500);

/// List all processes of a job, and of the jobs it spawned or is connected with
///
/// Begins at any one process: a rank, a launcher, `mpiscope run`, or a core file, and follows the tables that
/// debuggers use (MPI2DD, MPIR). Other hosts are asked by `ssh`, or by the command that MPISCOPE_SSH names, in which {host}
/// stands for the host; MPISCOPE_REMOTE is the path of mpiscope there. Exit status: 0 all is well, 1 a process is gone, 2 could not look.
#[derive(clap::Args)]
pub struct Options {
    /// Process ids, or one core file
    #[arg(value_name = "PID|CORE", required = true)]
    targets: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Print the table again whenever it changes, until all processes have ended
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Do not ask other hosts
    #[arg(long)]
    here: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    #[serde(flatten)]
    found: &'a Acquired,
}

/// Lists the processes.
pub fn procs(options: &Options) -> Result<ExitCode> {
    let mut found = look(&options.targets, !options.here)?;
    show(&found, options.json)?;
    while options.watch && found.processes.iter().any(|entry| !entry.gone) {
        std::thread::sleep(LOOK);
        let Ok(now) = look(&options.targets, !options.here) else { break };
        if now != found {
            println!();
            show(&now, false)?;
            found = now;
        }
    }
    let problem = !found.problems.is_empty() || found.processes.iter().any(|entry| entry.gone);
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// Acquires from what the user named.
pub fn look(targets: &[String], remote: bool) -> Result<Acquired> {
    let found = acquire::acquire(&system(), start(targets)?, remote)?;
    if found.processes.is_empty() {
        match found.problems.as_slice() {
            [] => bail!("no process of a job was found; has it called MPI_Init yet?"),
            problems => bail!("{}", problems.join("; ")),
        }
    }
    Ok(found)
}

/// This host, and how to reach others: this program is taken to be at the same place there, unless `MPISCOPE_REMOTE`
/// says where it is.
pub fn system() -> System {
    let program = std::env::var_os("MPISCOPE_REMOTE").map(PathBuf::from);
    System::new(program.or_else(|| std::env::current_exe().ok()).unwrap_or_else(|| "mpiscope".into()))
}

fn start(targets: &[String]) -> Result<Start> {
    let numbers: Option<Vec<u32>> = targets.iter().map(|target| target.parse().ok()).collect();
    match (numbers, targets) {
        (Some(pids), _) => Ok(Start::Pids(pids)),
        (None, [file]) if Path::new(file).is_file() => {
            Ok(Start::Target(Box::new(mpiscope_target::Core::open(file)?)))
        }
        _ => bail!("{}: name process ids, or one core file", targets.join(" ")),
    }
}

fn show(found: &Acquired, json: bool) -> Result<()> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&Report { schema: "mpiscope.procs/1", found })?)?;
    } else {
        for line in table(&found.processes) {
            writeln!(out, "{line}")?;
        }
        for place in &found.elsewhere {
            writeln!(out, "not asked: process {} on {}", place.pid, place.host)?;
        }
        for problem in &found.problems {
            eprintln!("mpiscope procs: {problem}");
        }
    }
    Ok(out.flush()?)
}

/// The table for people.
fn table(entries: &[Entry]) -> Vec<String> {
    let head = ["WORLD", "RANK", "HOST", "PID", "EXECUTABLE", "SPAWNED BY"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    rows.extend(entries.iter().map(|entry| {
        let spawned = match &entry.spawned {
            None => "-".to_owned(),
            Some(by) if by.rank < 0 => "a parent that did not say who it is".to_owned(),
            Some(by) => format!("rank {} of {}, spawn {}", by.rank, by.world, by.sequence),
        };
        vec![
            if entry.world.is_empty() { "-".to_owned() } else { entry.world.clone() },
            entry.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            entry.place.host.clone(),
            entry.place.pid.to_string(),
            format!("{}{}", entry.executable.display(), if entry.gone { " (gone)" } else { "" }),
            spawned,
        ]
    }));
    align(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::acquire::{Place, Spawned};

    #[test]
    fn a_spawned_rank_names_its_parent_and_a_lost_one_is_marked() {
        let mut entry = Entry {
            world: "h:1:2".into(),
            rank: Some(0),
            place: Place { host: "h".into(), pid: 17 },
            executable: "/a".into(),
            spawned: None,
            gone: true,
        };
        let first = entry.clone();
        entry.spawned = Some(Spawned { world: "h:0:0".into(), rank: 3, sequence: 1 });
        let lines = table(&[first, entry]);
        assert_eq!(lines[1], "h:1:2  0     h     17   /a (gone)   -");
        assert_eq!(lines[2], "h:1:2  0     h     17   /a (gone)   rank 3 of h:0:0, spawn 1");
    }
}
