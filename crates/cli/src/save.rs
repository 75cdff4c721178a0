//! `mpiscope save`: a job in one file.

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{self, Screen, complain, while_working};
use crate::seconds::{self, DAY};
use crate::selection::{self, Target};
use crate::whole_file::{self, Way};
use anyhow::{Context, Result, bail};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::base::shell;
use mpiscope_job::jobs::evidence::is_evidence;
use mpiscope_job::jobs::job::{Job, names};
use mpiscope_job::save;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Save everything known about a job in one file, to be read elsewhere
///
/// The file contains the images of all ranks, source lines, and what the threads did and when. Every verb
/// that shows ended jobs can read it on any machine, without the program and long after the job. Ranks are
/// not stopped or slowed, except with --stacks. Dead ranks are saved as long as `mpiscope run` holds their
/// images. The file contains command lines but not the environment. Exit status: 0 saved, 1 some ranks are
/// missing, 2 nothing could be read.
#[derive(clap::Args)]
#[command(override_usage = "mpiscope save [OPTIONS] [JOB|PID] [FILE]")]
pub struct Options {
    /// A job or the process id of a rank or of its launcher (not needed if there is only one job), and the
    /// file to write, by convention ending in .mpiscope; the default is mpiscope-JOB.mpiscope. A number alone
    /// is a process. `-` is standard output
    // One argument instead of two: with options between them, the first would be taken for the file.
    #[arg(value_name = "JOB|PID FILE", num_args = 0..=2)]
    names: Vec<OsString>,
    /// Seconds between the two snapshots that `why` compares
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = seconds::between(0.0, DAY))]
    seconds: f64,
    /// Also save the stacks of all threads that call MPI; each is stopped for less than a millisecond
    #[arg(long)]
    stacks: bool,
    #[command(flatten)]
    host_scope: HostScope,
}

impl Options {
    /// Returns the job and the file, if named.
    fn job_and_file(&self) -> Result<(Option<&OsStr>, Option<&Path>)> {
        match self.names.as_slice() {
            [] => Ok((None, None)),
            [job] if selection::is_running(job)? => Ok((Some(job), None)),
            [file] => Ok((None, Some(Path::new(file)))),
            [job, file, ..] => Ok((Some(job), Some(Path::new(file)))),
        }
    }
}

/// Returns the default file for a job.
fn file_of(job: &Job) -> PathBuf {
    PathBuf::from(format!("mpiscope-{}.mpiscope", job.name.replace(['/', ':'], "-")))
}

/// Refuses to replace a file that is not an evidence file, such as the program.
fn refuse_to_replace(file: &Path) -> Result<()> {
    let has_content = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() > 0);
    if has_content && !is_evidence(file) {
        bail!(
            "{}: not a file that `mpiscope save` wrote; name another file, or remove it first",
            file.display()
        );
    }
    Ok(())
}

pub fn save(options: &Options) -> Result<ExitCode> {
    let (name, target) = options.job_and_file()?;
    let mut job = exit::explained(options.host_scope.is_here(), job(name))?;
    let target = target.map_or_else(|| file_of(&job), Path::to_owned);
    let pause = Duration::from_secs_f64(options.seconds);
    let is_output = target.as_os_str() == "-";
    let way = if is_output { Way::Into(target.clone()) } else { Way::to(&target) };
    if let Way::Whole(file) = &way {
        refuse_to_replace(file)?;
    }
    // Writing an archive requires seeking, which a pipe does not support.
    let copied = if matches!(way, Way::Into(_)) { Some(temporary()?) } else { None };
    let saved = while_working("saving the ranks", || {
        let elsewhere = options.host_scope.join(&mut job, pause, options.stacks);
        let (symbols, stacks) = (job.symbols(), options.stacks);
        let saved = match (&copied, &way) {
            (Some(file), _) => {
                save::write(&job, pause, stacks, &*symbols, elsewhere, (file, &std::env::temp_dir()))
            }
            (None, Way::Whole(file) | Way::Into(file)) => {
                save::save(&job, pause, stacks, &*symbols, elsewhere, file)
            }
        };
        Ok::<_, anyhow::Error>(saved?)
    });
    let saved = exit::explained(options.host_scope.is_here(), saved)?;
    let status = if saved.not_seen.is_empty() { exit::FINE } else { exit::PROBLEM };
    if let Some(mut saved) = copied {
        saved.rewind()?;
        let copied = match is_output {
            true => io::copy(&mut saved, &mut io::stdout().lock()),
            false => whole_file::open(&target).and_then(|mut there| io::copy(&mut saved, &mut there)),
        };
        let name = if is_output { render::NOT_WRITTEN.to_owned() } else { target.display().to_string() };
        copied.context(name)?;
    } else {
        let mut screen = Screen::stdout();
        let name = target.display();
        let word = shell::quoted(&name.to_string());
        screen.line(&format!(
            "{name}: {}, {}; read it with `mpiscope why {word}`",
            render::count(saved.processes, "rank"),
            render::bytes(saved.bytes)
        ))?;
        screen.finish()?;
    }
    saved.not_seen.iter().for_each(|why| complain("save", why));
    Ok(ExitCode::from(status))
}

/// Makes a file that will be copied elsewhere. It has no name, so nothing of it remains if this process is killed.
fn temporary() -> Result<File> {
    tempfile::tempfile().context("no temporary file can be made; set TMPDIR to a folder that exists")
}

fn job(name: Option<&OsStr>) -> Result<Job> {
    match selection::find_one(name)? {
        Target::Job(job) if job.runs_here() => Ok(job),
        Target::Job(_) => bail!("it is already saved: copy the file"),
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), "mpiscope save ", " FILE"));
        }
        Target::Files(files) => {
            bail!("{}: not a running job; core files and images are already files", selection::shown(&files))
        }
    }
}
