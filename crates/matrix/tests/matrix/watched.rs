//! `mpiscope procs --watch` on a job that loses a rank.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::inspected::job::Job;
use crate::subject::{LIMIT, Subject};

/// The trial of a library.
pub fn trial(subject: &Arc<Subject>, library: &Arc<Library>) -> Trial {
    let name = format!("{}::procs_watch_names_the_lost_rank", library.name);
    if library.family == Family::Intel {
        return crate::skipped(name, "if its launcher is ended, leftover processes keep the output open");
    }
    let (subject, library) = (Arc::clone(subject), Arc::clone(library));
    checked(name, move || loses_a_rank(&subject, &library))
}

fn loses_a_rank(subject: &Subject, library: &Library) -> Result<()> {
    let program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };
    let mut job = Job::start_of(&program, subject, library, &["two_receives"], &[])?;
    let (mpiscope, target) = (paths::mpiscope().context("no mpiscope command")?, job.target());
    let mut pids = Vec::new();
    job.until("both ranks wait", || {
        let outcome = run::bounded(Command::new(&mpiscope).args(["ps", &target, "--json"]), LIMIT)?;
        let Ok(seen) = serde_json::from_str::<Value>(&outcome.stdout) else { return Ok(false) };
        pids = waiting(&seen);
        Ok(pids.len() == 2)
    })?;
    let (out, err) = (job.path().join("watch.out"), job.path().join("watch.err"));
    let mut watch = Command::new(&mpiscope);
    // Tests search for whole lines.
    watch
        .env("COLUMNS", "400")
        .args(["procs", "--here", "--watch"])
        .args(pids.iter().map(|(_, pid)| pid.to_string()));
    let mut watch =
        watch.stdout(File::create(&out)?).stderr(File::create(&err)?).stdin(Stdio::null()).spawn()?;
    job.until("the processes are listed", || Ok(fs::read_to_string(&out)?.lines().count() > 2))?;
    let (_, lost) = pids.iter().find(|(rank, _)| *rank == 1).context("no rank 1")?;
    kill_process(Pid::from_raw(*lost).context("no process")?, Signal::KILL)?;
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = watch.try_wait()? {
            break status;
        }
        if Instant::now() > end {
            watch.kill()?;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = fs::read_to_string(&err)?;
    ensure!(status.code() == Some(1), "{status}\n{said}{}", fs::read_to_string(&out)?);
    let wanted = format!("(process {lost}) ended without MPI_Finalize");
    ensure!(said.contains("rank 1 of ") && said.contains(&wanted), "no {wanted:?} in\n{said}");
    job.finish()
}

/// Rank and process of the ranks that are inside a call.
fn waiting(seen: &Value) -> Vec<(i64, i32)> {
    let ranks = seen["ranks"].as_array().map_or(&[][..], Vec::as_slice);
    let inside = |rank: &&Value| rank["threads"][0]["call"]["function"] == "MPI_Recv";
    let both = |rank: &Value| Some((rank["rank"].as_i64()?, i32::try_from(rank["pid"].as_i64()?).ok()?));
    ranks.iter().filter(inside).filter_map(both).collect()
}
