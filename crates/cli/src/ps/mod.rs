//! `mpiscope ps`: what every rank is doing at this moment.

mod elsewhere;
pub mod rows;
pub mod table;
pub mod target;

use crate::exit;
use anyhow::{Result, bail};
use mpiscope_job::clock::Moment;
use mpiscope_job::discover::{Found, Job};
use mpiscope_job::names::{Locate, Names};
use mpiscope_job::now::RankNow;
use mpiscope_job::{Process, RankSet, Worlds};
use mpiscope_target::{Core, Live};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::process::ExitCode;
use target::Target;

/// Show what every rank is doing: call, peer, tag, communicator, since when, where
///
/// Reads what the layer wrote down; the ranks are not stopped and not slowed. Works for jobs that were started
/// under `mpiscope run` by the same user. Ranks on other hosts are asked for as by `mpiscope procs`. Exit status: 0 all is well, 1 a rank is gone or has
/// aborted, 2 could not look.
#[derive(clap::Args)]
pub struct Options {
    /// A job, a process id of one of its ranks, a saved image, or a core file; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE")]
    target: Option<String>,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
    /// Do not ask other hosts
    #[arg(long)]
    here: bool,
}

/// What names the form of [`Report`].
const SCHEMA: &str = "mpiscope.ps/1";

/// What `--json` prints.
#[derive(Serialize, Deserialize)]
struct Report {
    schema: String,
    job: String,
    /// Processes that run under the layer and have not called MPI.
    silent: usize,
    ranks: Vec<RankNow>,
    /// Images that could not be read.
    errors: Vec<String>,
}

/// What `--json` prints when there are several jobs to choose from.
#[derive(Serialize)]
struct Jobs {
    schema: &'static str,
    jobs: Vec<JobLine>,
}

#[derive(Serialize)]
struct JobLine {
    job: String,
    ranks: RankSet,
    size: Option<u32>,
    host: String,
    command: String,
}

/// Shows a job, or the jobs.
pub fn ps(options: &Options) -> Result<ExitCode> {
    let report = match target::find(options.target.as_deref())? {
        Target::Job(job) => look(&job, !options.here),
        Target::Jobs(jobs) => return choose(&jobs, options.json),
        Target::File(path) => file(&path)?,
    };
    if report.ranks.is_empty() && !report.errors.is_empty() {
        bail!("{}", report.errors.join("; "));
    }
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        for line in table::lines(&rows::rows(&report.ranks)) {
            writeln!(out, "{line}")?;
        }
        if report.silent > 0 {
            writeln!(out, "{} of the job's processes have not called MPI (yet)", report.silent)?;
        }
        for error in &report.errors {
            eprintln!("mpiscope ps: {error}");
        }
    }
    out.flush()?;
    let problem = !report.errors.is_empty() || report.ranks.iter().any(|r| r.problem);
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// All ranks of a job.
fn look(job: &Job, elsewhere: bool) -> Report {
    let mut report = empty(&job.name);
    let symbols = target::symbols();
    let mut processes = Vec::new();
    for found in &job.images {
        match rank(found, &*symbols) {
            Ok(Some((process, rank))) => {
                processes.push(process);
                report.ranks.push(rank);
            }
            Ok(None) => report.silent += 1,
            // The process ended since the list was made: nothing is wrong, and nothing is there to be shown.
            Err(_) if !found.held() => {}
            Err(e) => report.errors.push(format!("{e:#}")),
        }
    }
    let mut worlds = Worlds::of(processes.iter());
    if elsewhere {
        elsewhere::add(&mut report);
    }
    report.ranks.iter_mut().for_each(|rank| rank.world_number = worlds.number_or_add(&rank.world));
    report.ranks.sort_by_key(|r| (r.world_number, r.rank.is_none(), r.rank, r.pid));
    report
}

fn empty(job: &str) -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        job: job.to_owned(),
        silent: 0,
        ranks: Vec::new(),
        errors: Vec::new(),
    }
}

fn rank(found: &Found, symbols: &dyn Locate) -> Result<Option<(Process, RankNow)>> {
    let image = match found.open() {
        Ok(image) => image,
        // A wrapper made the file and nobody has written to it.
        Err(mpiscope_job::Error::Image { why: mpiscope_image::Error::NotAnImage, .. }) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let mut process = Process::read(&image, Some(Moment::now()))?;
    if !process.called_mpi() {
        return Ok(None);
    }
    if process.calls_through_binding()
        && let Some(Ok(live)) = found.outer_pid(process.pid).map(Live::open)
    {
        process.see_through_bindings(&image, &live);
    }
    let names = Names::new(&image, &process, symbols);
    let now = RankNow::new(&process, &names, found.alive(process.pid));
    drop(names);
    Ok(Some((process, now)))
}

/// A saved image or a core file: the process is not there any more, but that is no problem found.
fn file(path: &std::path::Path) -> Result<Report> {
    let image = target::open(path)?;
    let mut process = Process::read(&image, None)
        .map_err(|why| mpiscope_job::Error::Image { what: path.display().to_string(), why })?;
    if process.calls_through_binding()
        && let Ok(core) = Core::open(path)
    {
        process.see_through_bindings(&image, &core);
    }
    let symbols = target::symbols();
    let names = Names::new(&image, &process, &*symbols);
    let mut report = empty(&process.job);
    report.ranks.push(RankNow::new(&process, &names, true));
    Ok(report)
}

/// Several jobs: the user must name one.
fn choose(jobs: &[Job], json: bool) -> Result<ExitCode> {
    let jobs: Vec<JobLine> = jobs.iter().map(job_line).collect();
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&Jobs { schema: "mpiscope.jobs/1", jobs })?)?;
        return Ok(ExitCode::from(exit::FINE));
    }
    let head = ["JOB", "RANKS", "SIZE", "HOST", "COMMAND"].map(str::to_owned).to_vec();
    let mut lines = vec![head];
    lines.extend(jobs.into_iter().map(|j| {
        let size = j.size.map_or_else(|| "-".to_owned(), |n| n.to_string());
        vec![j.job, j.ranks.to_string(), size, j.host, j.command]
    }));
    for line in table::align(&lines) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "name one: mpiscope ps JOB")?;
    out.flush()?;
    Ok(ExitCode::from(exit::FINE))
}

fn job_line(job: &Job) -> JobLine {
    let read = |found: &Found| Process::read(&found.open().ok()?, None).ok();
    let processes: Vec<Process> = job.images.iter().filter_map(read).collect();
    let first = processes.iter().find(|p| p.called_mpi());
    JobLine {
        job: job.name.clone(),
        ranks: processes.iter().filter_map(|p| p.rank).collect(),
        size: first.and_then(|p| p.size),
        host: first.map_or_else(|| "-".to_owned(), |p| p.host.clone()),
        command: first.map_or_else(|| "(has not called MPI yet)".to_owned(), |p| p.command.clone()),
    }
}
