//! The sources of a report: a running job, the directory of a run, evidence files, saved images or core
//! files.

use crate::core::files::expand;
use crate::host_scope::HostScope;
use crate::run::hosts::join;
use crate::run::question;
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::jobs::evidence::{self, Evidence};
use mpiscope_job::jobs::job::{Job, names};
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::of_job::{Ends, Looked, of_files, of_job, of_running};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A report and its origin.
pub struct Source {
    /// Name of the job.
    pub job: String,
    pub report: JobReport,
    /// What could not be read.
    pub errors: Vec<String>,
}

/// The resolved target.
pub enum Kind {
    /// Processes of a job.
    Job {
        #[allow(missing_docs)]
        job: Box<Job>,
        /// How they ended; `None` for a running job.
        ends: Option<Ends>,
        /// What could not be seen of the job.
        errors: Vec<String>,
    },
    /// Core files and saved images.
    Files(Vec<PathBuf>),
}

/// Resolves the targets and makes the report.
pub fn read(targets: &[OsString], host_scope: HostScope) -> Result<Source> {
    match find("report", targets, host_scope)? {
        Kind::Job { job, ends: None, errors } => {
            // Ask before reading the ranks: anything later belongs to the next sample.
            let followed = question::ask(&job);
            made(&job, of_running(&job, followed.as_ref().map_err(Clone::clone)), errors)
        }
        Kind::Job { job, ends: Some(ends), errors } => made(&job, of_job(&job, &ends), errors),
        Kind::Files(files) => {
            let Looked { report, errors } = of_files(&files, &*selection::symbols());
            some(Source { job: String::new(), report, errors })
        }
    }
}

/// Resolves the targets; `verb` is the command in use.
pub fn find(verb: &str, targets: &[OsString], host_scope: HostScope) -> Result<Kind> {
    match targets {
        [] => live(verb, None, host_scope),
        [one] if !selection::is_path(one)? => live(verb, Some(one), host_scope),
        paths => kept(&paths.iter().map(PathBuf::from).collect::<Vec<_>>()),
    }
}

fn live(verb: &str, name: Option<&OsStr>, host_scope: HostScope) -> Result<Kind> {
    let mut job = match selection::find_one(name)? {
        Target::Job(job) => job,
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), &format!("mpiscope {verb} "), ""));
        }
        Target::Files(files) => bail!("{}: not a running job", selection::shown(&files)),
    };
    let elsewhere = host_scope.join(&mut job, Duration::ZERO, false);
    Ok(Kind::Job { job: Box::new(job), ends: None, errors: elsewhere.not_seen })
}

fn made(job: &Job, looked: Looked, mut errors: Vec<String>) -> Result<Source> {
    let Looked { mut report, errors: more } = looked;
    errors.extend(more);
    join::order(&mut report);
    some(Source { job: job.name.clone(), report, errors })
}

/// Fails if the report covers no ranks.
fn some(source: Source) -> Result<Source> {
    let Source { job, report, errors, .. } = &source;
    if report.ranks.is_empty() {
        let why = if errors.is_empty() {
            "none of its processes has called MPI".to_owned()
        } else {
            errors.join("; ")
        };
        bail!("{}{why}", if job.is_empty() { String::new() } else { format!("{job}: ") });
    }
    Ok(source)
}

/// Resolves files of one job and directories with such files: the evidence of a run, otherwise core files.
fn kept(paths: &[PathBuf]) -> Result<Kind> {
    selection::missing(paths)?;
    let mut files = Vec::new();
    let mut ends = Ends::default();
    for path in paths {
        if path.is_dir() {
            ends = ends_in(path)?.unwrap_or(ends);
        }
        match evidence::files(path) {
            Some(parts) => files.extend(parts),
            None => files.extend(expand(std::slice::from_ref(path))?),
        }
    }
    if files.iter().all(|path| !evidence::is_evidence(path)) {
        return Ok(Kind::Files(files));
    }
    let Evidence { manifest, job, .. } = evidence::open_all(&files)?;
    Ok(Kind::Job { job: Box::new(job), ends: Some(ends), errors: manifest.not_seen })
}

/// Returns how the processes of a run ended, from `report.json` in its directory.
fn ends_in(dir: &Path) -> Result<Option<Ends>> {
    let path = dir.join("report.json");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let read = Ends::read(&text);
    let ends = read.map_err(|why| anyhow::anyhow!("{}: not a readable report: {why}", path.display()))?;
    Ok(Some(ends))
}
