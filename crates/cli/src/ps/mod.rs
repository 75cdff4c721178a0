//! `mpiscope ps`: what every rank is doing right now.

pub mod rows;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, Table, complain, or_dash, while_working};
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use mpiscope_job::jobs::evidence::Symbols;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::job_image::JobImage;
use mpiscope_job::jobs::parallel_images::each_image;
use mpiscope_job::jobs::{live_process, losses, worlds};
use mpiscope_job::model::locate::Locate;
use mpiscope_job::model::rank_status::{RankStatus, share_names};
use mpiscope_job::observation::Context;
use mpiscope_job::questions::live::{self, Places};
use mpiscope_job::questions::process_file::{AtDeath, OneJob, ProcessFile};
use mpiscope_job::questions::stacks::{self, Stacks};
use mpiscope_job::{Process, RankSet, Worlds};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Show what every rank is doing: call, peer, tag, communicator, since when, where
///
/// Reads what the layer has recorded; ranks are not stopped or slowed. Covers jobs that the same user started
/// under `mpiscope run`; root sees the jobs of all users, as USER:JOB. Ranks on other hosts are found as by
/// `mpiscope procs`. Exit status: 0 all is well, 1 a rank is gone or has aborted, or part of the job could
/// not be read, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, an evidence file, the directory of `run --out`,
    /// saved images or core files, or directories with core files; needed only if there are several jobs
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    targets: Vec<OsString>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Also show the stacks of all threads that call MPI, merged over the ranks of this host. Each thread is
    /// stopped for less than a millisecond
    #[arg(long)]
    stacks: bool,
    #[command(flatten)]
    host_scope: HostScope,
}

/// Schema name of [`Report`].
const SCHEMA: &str = "mpiscope.ps/2";

/// The output of `--json`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: String,
    job: String,
    /// Number of processes that run under the layer but have not called MPI.
    silent: usize,
    ranks: Vec<RankStatus>,
    /// Images that could not be read.
    errors: Vec<String>,
    /// Merged stacks, if requested.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    stacks: Option<Stacks>,
}

/// The output of `--json` if there are several jobs to choose from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Jobs {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    jobs: Vec<JobLine>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobLine {
    job: String,
    /// Numeric user id.
    user: u32,
    ranks: RankSet,
    size: Option<u32>,
    host: String,
    command: String,
}

/// Shows a job, or the list of jobs.
pub fn ps(options: &Options) -> Result<ExitCode> {
    let report = match selection::find(&options.targets)? {
        Target::Job(mut job) => while_working("reading the ranks", || {
            let elsewhere = options.host_scope.join(&mut job, Duration::ZERO, options.stacks);
            let mut report = look(&job);
            report.errors.extend(elsewhere.not_seen);
            report.stacks = options.stacks.then(|| stacks::merge(&stacks::of_job(&job, &*job.symbols())));
            report
        }),
        Target::Jobs(jobs) => return choose(&jobs, options.json),
        Target::Files(paths) => while_working("reading the files", || files(&paths, options.stacks)),
    };
    if report.ranks.is_empty() && !report.errors.is_empty() {
        bail!("{}", report.errors.join("; "));
    }
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&report)?;
    } else {
        screen.table(rows::table(&rows::rows(&report.ranks)))?;
        if report.silent > 0 {
            screen.line(&format!("{} of the job's processes have not called MPI (yet)", report.silent))?;
        }
        for line in report.stacks.iter().flat_map(Stacks::lines) {
            screen.line(&line)?;
        }
    }
    if !options.json {
        let losses = report.ranks.iter().map(|rank| ((rank.world_number, rank.rank), &rank.losses));
        losses::joined(losses).iter().try_for_each(|lost| screen.line(&lost.to_string()))?;
    }
    screen.finish()?;
    if !options.json {
        report.errors.iter().for_each(|error| complain("ps", error));
    }
    let problem = !report.errors.is_empty() || report.ranks.iter().any(|r| r.problem);
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// Reads all ranks of a job.
fn look(job: &Job) -> Report {
    let mut report = empty(&job.name);
    let symbols = job.symbols();
    let (reader, places) = (live_process::Reader::default(), Places::default());
    let mut processes = Vec::new();
    let kept = |found: &JobImage, own: &Symbols| {
        status(found, &live_process::Reader::default(), &Places::default(), own)
    };
    let seen = each_image(job, kept, |found| status(found, &reader, &places, &*symbols));
    for (found, seen) in job.images.iter().zip(seen) {
        match seen {
            Ok(Some((status, process))) => {
                report.ranks.push(status);
                processes.push(process);
            }
            Ok(None) => report.silent += 1,
            // The process has ended since the list was made: not a problem, and nothing to show.
            Err(_) if !found.held() => {}
            Err(e) => report.errors.push(e.to_string()),
        }
    }
    settle(&mut report, &mut processes);
    add_silent(&mut report, job, &places);
    in_order(&mut report, &processes);
    report
}

/// Assigns each rank the name of its world, and gives shared objects the same name on all ranks.
fn settle(report: &mut Report, processes: &mut [Process]) {
    worlds::settle(&mut processes.iter_mut().collect::<Vec<_>>());
    for (rank, process) in report.ranks.iter_mut().zip(processes) {
        rank.world.clone_from(&process.world);
    }
    share_names(report.ranks.iter_mut());
}

/// Numbers the worlds and sorts the ranks.
fn in_order(report: &mut Report, processes: &[Process]) {
    let mut worlds = Worlds::of(processes.iter());
    report.ranks.iter_mut().for_each(|rank| rank.world_number = worlds.number_or_add(&rank.world));
    report.ranks.sort_by_key(|r| (r.world_number, r.rank.is_none(), r.rank, r.pid));
}

/// Returns the status of a rank; `None` for a process that has not called MPI.
fn status(
    found: &JobImage,
    reader: &live_process::Reader,
    places: &Places,
    symbols: &dyn Locate,
) -> Result<Option<(RankStatus, Process)>, mpiscope_job::Error> {
    let Some(living) = reader.read(found)? else { return Ok(None) };
    let mut status = living.status(symbols);
    let process = &living.process;
    let doing = |tid| live::doing(found, process, places, tid);
    status.outside(process, doing, |tid| live::stopped(found, process, places, tid));
    Ok(Some((status, living.process)))
}

/// Adds a row for each rank that has not called MPI, and no longer counts these as silent processes.
fn add_silent(report: &mut Report, job: &Job, places: &Places) {
    let is_it = |known: &RankStatus, host: &str, rank, pid| {
        known.rank == Some(rank) || (known.pid == pid && known.host == host)
    };
    let has_called = |host: &str, rank, pid| report.ranks.iter().any(|known| is_it(known, host, rank, pid));
    let found = live::silent_ranks(job, places, has_called);
    // All of them are assumed to be in one world.
    let world = report.ranks.first().map(|rank| rank.world.clone()).unwrap_or_default();
    report.silent = report.silent.saturating_sub(found.len());
    report.ranks.extend(found.into_iter().map(|silent| {
        let status = RankStatus::silent(silent.pid, Some(silent.rank), silent.host);
        RankStatus { world: world.clone(), ..status }
    }));
}

fn empty(job: &str) -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        job: job.to_owned(),
        silent: 0,
        ranks: Vec::new(),
        errors: Vec::new(),
        stacks: None,
    }
}

/// Reads saved images and core files. Their processes are gone, but that is not a problem.
fn files(paths: &[PathBuf], wants_stacks: bool) -> Report {
    let (symbols, words) = (selection::symbols(), stacks::Symbolizer::new());
    let (mut report, mut processes, mut taken) = (empty(""), Vec::new(), Vec::new());
    let mut one_job = OneJob::default();
    for path in paths {
        let kept = match ProcessFile::open(path) {
            Ok(kept) => kept,
            Err(why) => {
                report.errors.push(why.to_string());
                continue;
            }
        };
        report.errors.extend(one_job.other(path, &kept.process));
        report.errors.extend(kept.truncated());
        let at_death = AtDeath { file: &kept, words: &words };
        let mut status = kept.status(&*symbols, true);
        // What has stopped a process for its core file to be written says nothing about the calls.
        status.outside(&kept.process, |tid| at_death.doing(tid), |_| None);
        report.ranks.push(status);
        if wants_stacks {
            taken.push(stacks::of_file(&kept, &words, &*symbols));
        }
        processes.push(kept.process);
    }
    report.job = processes.first().map(|process| process.job.clone()).unwrap_or_default();
    report.stacks = wants_stacks.then(|| stacks::merge(&taken));
    settle(&mut report, &mut processes);
    in_order(&mut report, &processes);
    report
}

/// Lists several jobs, of which the user must name one.
fn choose(jobs: &[Job], json: bool) -> Result<ExitCode> {
    let several = selection::several_users(jobs);
    let jobs: Vec<JobLine> = jobs.iter().map(job_line).collect();
    let mut screen = Screen::paged();
    if json {
        screen.json(&Jobs { schema: "mpiscope.jobs/1", jobs })?;
    } else {
        let mut table =
            Table::new(&[if several { "USER:JOB" } else { "JOB" }, "RANKS", "SIZE", "HOST", "COMMAND"]);
        for job in jobs {
            let size = or_dash(job.size.map(|size| size.to_string()));
            let name = if several { format!("{}:{}", job.user, job.job) } else { job.job };
            table.push(vec![name, job.ranks.to_string(), size, job.host, job.command]);
        }
        screen.table(table)?;
        screen.line("name one: mpiscope ps JOB")?;
    }
    screen.finish()?;
    Ok(ExitCode::from(exit::FINE))
}

fn job_line(job: &Job) -> JobLine {
    let read = |found: &JobImage| Process::read(&found.open().ok()?, None).ok();
    let processes: Vec<Process> = job.images.iter().filter_map(read).collect();
    let first = processes.iter().find(|p| p.called_mpi());
    JobLine {
        job: job.name.clone(),
        user: job.owner,
        ranks: processes.iter().filter_map(|p| p.rank).collect(),
        size: first.and_then(|p| p.size),
        host: first.map_or_else(|| "-".to_owned(), |p| p.host.clone()),
        command: first.map_or_else(|| "(has not called MPI yet)".to_owned(), |p| p.command.clone()),
    }
}
