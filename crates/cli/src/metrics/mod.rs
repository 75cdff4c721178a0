//! `mpiscope metrics`: exports running jobs to a site's monitoring, as OpenMetrics.

mod families;
mod serve;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{NOT_WRITTEN, complain, while_working};
use crate::seconds::{self, DAY};
use crate::selection::{self, Target};
use crate::whole_file;
use anyhow::{Context, Result, bail};
use families::{Families, Reported};
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::live_process::Reader;
use mpiscope_job::performance::snapshot;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Print metrics of running jobs as OpenMetrics, for Prometheus and similar tools
///
/// The values are those of the report, by job and function and never by rank. Ranks are not stopped or
/// slowed. Exit status: 0 done, 1 a part could not be seen, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, or the process id of a rank or of its launcher; without it, all jobs that run here
    #[arg(value_name = "JOB|PID")]
    target: Option<OsString>,
    /// Write this file atomically, for the textfile collector of the node exporter, which expects the suffix
    /// .prom
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Rewrite the file at this interval
    #[arg(long, value_name = "SECONDS", requires = "file", allow_negative_numbers = true, value_parser = seconds::between(1.0, DAY))]
    every: Option<f64>,
    /// Serve /metrics at this address; a port alone means the loopback interface. Anyone who can connect can
    /// read it
    #[arg(long, value_name = "[ADDRESS:]PORT", conflicts_with = "file", value_parser = serve::address)]
    listen: Option<std::net::SocketAddr>,
    #[command(flatten)]
    host_scope: HostScope,
}

/// Prints, writes or serves the metrics.
pub fn metrics(options: &Options) -> Result<ExitCode> {
    if let Some(address) = options.listen {
        let (mut known, mut reported) = (Vec::new(), Reported::default());
        return serve::serve(address, move || {
            let (text, errors) = text(options, &mut reported)?;
            // Not at every request: a host may stay silent for days.
            errors.iter().filter(|why| !known.contains(*why)).for_each(|why| complain("metrics", why));
            known = errors;
            Ok(text)
        });
    }
    let (mut reported, mut written) = (Reported::default(), false);
    loop {
        let read = while_working("reading the ranks", || text(options, &mut reported));
        let (text, errors) = match (read, &options.file) {
            // The job has ended: its last values must not stay in the file, as if it still ran.
            (Err(_), Some(path)) if written => {
                whole_file::write(path, Families::new().text()?.as_bytes())?;
                let job = options.target.as_deref().unwrap_or_default().display();
                complain(
                    "metrics",
                    &format!("{job} runs no longer; {} has no metrics any more", path.display()),
                );
                return Ok(ExitCode::from(exit::FINE));
            }
            (read, _) => read?,
        };
        match &options.file {
            None => io::stdout().lock().write_all(text.as_bytes()).context(NOT_WRITTEN)?,
            Some(path) => whole_file::write(path, text.as_bytes())?,
        }
        errors.iter().for_each(|why| complain("metrics", why));
        written = true;
        let Some(pause) = options.every else {
            return Ok(ExitCode::from(if errors.is_empty() { exit::FINE } else { exit::PROBLEM }));
        };
        thread::sleep(Duration::from_secs_f64(pause));
    }
}

/// Returns the current metrics, and what could not be read.
fn text(options: &Options, reported: &mut Reported) -> Result<(String, Vec<String>)> {
    let families = Families::new();
    reported.next();
    let mut errors = Vec::new();
    for mut job in jobs(options.target.as_deref())? {
        let elsewhere = options.host_scope.join(&mut job, Duration::ZERO, false);
        let found = snapshot::take(&job, &Reader::default(), &*job.symbols());
        errors.extend(elsewhere.not_seen);
        errors.extend(found.errors.iter().cloned());
        if !found.report.ranks.is_empty() {
            families.add(&job.name, job.owner, &found, reported);
        }
    }
    Ok((families.text()?, errors))
}

fn jobs(target: Option<&OsStr>) -> Result<Vec<Job>> {
    let Some(name) = target else { return Ok(discover()) };
    match selection::find_one(Some(name))? {
        Target::Job(job) => Ok(vec![job]),
        Target::Jobs(jobs) => Ok(jobs),
        Target::Files(files) => {
            bail!("{}: no such running job; `mpiscope report` shows files", selection::shown(&files))
        }
    }
}
