//! Where the ranks of a Fortran program wait: `mpiscope ps` shows the program's line, for a process and for
//! its core file.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use super::fortran_lines::line_of;
use super::job::{Job, json};
use crate::subject::{LIMIT, Subject};

const MPIF: Program = Program { name: "fortran_waits", ranks: 3, needs: Needs::Fortran };
const F08: Program = Program { name: "fortran_waits_f08", ranks: 3, needs: Needs::F08 };

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    program(&MPIF, subject, library)
}

pub fn f08_check(subject: &Subject, library: &Library) -> Result<()> {
    program(&F08, subject, library)
}

fn program(program: &Program, subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(program, subject, library, &[], &[])?;
    let target = job.target();
    let ranks = || json(&["ps", &target, "--json"]).unwrap_or_default()["ranks"].take();
    job.until("ranks 1 and 2 wait", || {
        let ranks = ranks();
        Ok(call(&ranks, 1)["function"] == "MPI_Recv" && call(&ranks, 2)["function"] == "MPI_Waitall")
    })?;
    let ranks = ranks();
    for (rank, function) in [(1, "MPI_Recv"), (2, "MPI_Waitall")] {
        let line = line_of(program, &format!("{function}("))?;
        ensure!(call(&ranks, rank)["place"] == line, "rank {rank} at {line}: {ranks}");
        if paths::in_path("gcore").is_some() {
            let core = core_of(&of_rank(&ranks, rank)["pid"], job.path())?;
            let dead = json(&["ps", &core, "--json"])?["ranks"].take();
            ensure!(call(&dead, rank)["place"] == line, "the core of rank {rank} at {line}: {dead}");
        }
    }
    let world = ["inspect", &target, "--rank", "1", "--kind", "comm", "--handle", "MPI_COMM_WORLD", "--json"];
    let world = json(&world)?["ranks"][0]["objects"][0].take();
    let line = line_of(program, "MPI_Recv(")?;
    ensure!(world["calls"][0]["place"] == line, "a call on the communicator at {line}: {world}");
    job.signal("go")?;
    job.finish()
}

fn of_rank(ranks: &Value, rank: u64) -> &Value {
    let found = ranks.as_array().into_iter().flatten().find(|found| found["rank"] == rank);
    found.unwrap_or(&Value::Null)
}

fn call(ranks: &Value, rank: u64) -> &Value {
    &of_rank(ranks, rank)["threads"][0]["call"]
}

/// Makes a core file of a process that continues to run.
pub fn core_of(pid: &Value, dir: &Path) -> Result<String> {
    let (pid, core) = (pid.to_string(), dir.join("core"));
    let outcome = run::bounded(Command::new("gcore").arg("-o").arg(&core).arg(&pid), LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let core = core.to_str().context("the path is not valid text")?;
    Ok(format!("{core}.{pid}"))
}
