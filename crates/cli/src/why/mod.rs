//! `mpiscope why`: the verdict on a job in one sentence, with the evidence and the next thing to try.

mod compare;
pub mod evidence;
pub mod output;

use crate::core::files;
use crate::evidence_files::EvidenceFiles;
use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, while_working};
use crate::seconds::{self, DAY};
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use compare::{compared, nothing};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::evidence::Evidence;
use mpiscope_job::jobs::job::{Job, names};
use mpiscope_job::model::locate::Locate;
use mpiscope_job::questions::live::{Look, look, settle};
use mpiscope_job::questions::process_file::{OneJob, ProcessFile};
use mpiscope_job::questions::stacks::{self, Stacks, Symbolizer, Taken};
use mpiscope_job::questions::why::{self as question, Snapshot, Verdict, snapshot};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Explain why nothing happens: hung or slow, which rank is waited for, which message was never sent
///
/// Reads every rank twice and compares; no rank is stopped or slowed, except with --stacks. Prints the
/// verdict in one sentence, its evidence, and the next thing to try. Reports "deadlock" only if no process is
/// left that could release the waiting ranks. An evidence file holds both snapshots; core files and saved
/// images hold one. Exit status: 0 nothing is wrong, 1 a problem was found or part of the job could not be
/// read, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, an evidence file, the directory of `run --out`, or
    /// core files and directories with core files; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    targets: Vec<OsString>,
    /// Seconds between the two snapshots
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = seconds::between(0.0, DAY))]
    seconds: f64,
    /// Also show the stacks of all threads that call MPI, merged over the ranks. Each thread is stopped for
    /// less than a millisecond, after both snapshots
    #[arg(long)]
    stacks: bool,
    #[command(flatten)]
    host_scope: HostScope,
    /// Print everything as JSON (schema mpiscope.why/1)
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Answer {
    #[serde(flatten)]
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<Stacks>,
}

/// Why a rank of a running job is not seen.
const ELSEWHERE: &str = "it has no readable image (another host, or started without the layer)";
/// The same if a host was asked in vain.
const UNANSWERED: &str = "its host did not answer, or it was started without the layer";

/// Returns why a rank of a running job is not seen, given what other hosts have sent.
fn unseen_because(elsewhere: &Elsewhere) -> &'static str {
    if elsewhere.unanswered { UNANSWERED } else { ELSEWHERE }
}

/// Prints the verdict.
pub fn why(options: &Options) -> Result<ExitCode> {
    let Judged { found, stacks } = while_working("observing the ranks twice", || judge(options))?;
    let stacks = stacks.map(|taken| stacks::merge(&taken));
    let status = exit::answer(found.problem, found.partial);
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&Answer { verdict: found, stacks })?;
    } else {
        let stacks = stacks.map_or_else(Vec::new, |stacks| stacks.lines());
        let title = (!stacks.is_empty()).then(|| "stacks:".to_owned());
        for line in output::lines(&found).into_iter().chain(title).chain(stacks) {
            screen.line(&line)?;
        }
    }
    screen.finish()?;
    Ok(status)
}

/// The verdict and the stacks of a job.
struct Judged {
    found: Verdict,
    /// The stacks, if requested.
    stacks: Option<Vec<Taken>>,
}

fn judge(options: &Options) -> Result<Judged> {
    let pause = Duration::from_secs_f64(options.seconds);
    let (host_scope, stacks) = (options.host_scope, options.stacks);
    match options.targets.as_slice() {
        [] => everywhere(job("why", None)?, pause, host_scope, stacks),
        [one] if !selection::is_path(one)? => everywhere(job("why", Some(one))?, pause, host_scope, stacks),
        paths => of_paths(paths, stacks),
    }
}

fn of_paths(paths: &[OsString], stacks: bool) -> Result<Judged> {
    selection::missing(paths)?;
    match EvidenceFiles::of(paths) {
        Some(kept) => of_evidence(&kept, stacks),
        None => of_files(&paths.iter().map(PathBuf::from).collect::<Vec<_>>(), stacks),
    }
}

fn job(verb: &str, name: Option<&OsStr>) -> Result<Job> {
    match selection::find_one(name)? {
        Target::Job(job) => Ok(job),
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), &format!("mpiscope {verb} "), ""));
        }
        Target::Files(files) => bail!("{}: not a running job", selection::shown(&files)),
    }
}

/// Judges a job on all its hosts by two snapshots. Other hosts are queried once, including their stacks;
/// local stacks are taken after both snapshots.
fn everywhere(mut job: Job, pause: Duration, host_scope: HostScope, stacks: bool) -> Result<Judged> {
    let (found, _) = twice(&mut job, pause, |job| host_scope.join(job, pause, stacks))?;
    Ok(Judged { found, stacks: stacks.then(|| stacks::of_job(&job, &*job.symbols())) })
}

/// Judges a job by two snapshots of its local part, between which `join` adds the snapshots of other hosts. A
/// job reconstructed as of an earlier time has only one snapshot.
pub fn twice(
    job: &mut Job,
    pause: Duration,
    join: impl FnOnce(&mut Job) -> Elsewhere,
) -> Result<(Verdict, Elsewhere)> {
    let began = Instant::now();
    let before = look(job, &*job.symbols());
    if let Some(stood) = job.stood {
        let found = compared(&before.observations.clone(), before, stood.as_secs_f64(), ELSEWHERE)?;
        return Ok((found, Elsewhere::default()));
    }
    let mut before = before.observations;
    // Other hosts take their two snapshots while this one waits.
    let elsewhere = join(job);
    before.extend(elsewhere.before.iter().cloned());
    settle(&mut before);
    thread::sleep(pause.saturating_sub(began.elapsed()));
    let seconds = began.elapsed().as_secs_f64();
    let mut after = look(job, &*job.symbols());
    after.errors.extend(elsewhere.not_seen.iter().cloned());
    Ok((compared(&before, after, seconds, unseen_because(&elsewhere))?, elsewhere))
}

/// Returns one snapshot of the named target: a job, an evidence file, core files or saved images.
pub fn once(verb: &str, targets: &[OsString], host_scope: HostScope) -> Result<(Snapshot, Vec<String>)> {
    let paths = || targets.iter().map(PathBuf::from).collect::<Vec<_>>();
    let (look, unseen) = match targets {
        [] => live(verb, None, host_scope)?,
        [one] if !selection::is_path(one)? => live(verb, Some(one), host_scope)?,
        _ => match EvidenceFiles::of(targets) {
            Some(files) => {
                let Evidence { manifest, job, .. } = files.open()?;
                let mut seen = look(&job, &*job.symbols());
                seen.errors.extend(manifest.not_seen);
                (seen, evidence::UNSEEN)
            }
            None => {
                let mut seen = kept(&paths(), &*selection::symbols())?;
                question::one_world(&mut seen.observations);
                (seen, question::NOT_GIVEN)
            }
        },
    };
    if look.observations.is_empty() {
        bail!("{}", nothing(&look));
    }
    Ok((snapshot(&look.observations, unseen), look.errors))
}

/// Returns one snapshot of a running job, and why ranks may be missing in it.
fn live(verb: &str, name: Option<&OsStr>, host_scope: HostScope) -> Result<(Look, &'static str)> {
    let mut job = job(verb, name)?;
    let elsewhere = host_scope.join(&mut job, Duration::ZERO, false);
    let mut seen = look(&job, &*job.symbols());
    let unseen = unseen_because(&elsewhere);
    seen.errors.extend(elsewhere.not_seen);
    Ok((seen, unseen))
}

fn of_evidence(files: &EvidenceFiles, stacks: bool) -> Result<Judged> {
    let (job, found) = evidence::verdict(files)?;
    Ok(Judged { found, stacks: stacks.then(|| stacks::of_job(&job, &*job.symbols())) })
}

/// Returns the verdict on core files and saved images.
fn of_files(paths: &[PathBuf], stacks: bool) -> Result<Judged> {
    let symbols = selection::symbols();
    let seen = kept(paths, &*symbols)?;
    if seen.observations.is_empty() {
        bail!("{}", seen.errors.join("\nmpiscope: "));
    }
    let stacks = if stacks { Some(stacks_of_files(paths, &*symbols)?) } else { None };
    Ok(Judged { found: question::of_files(seen.observations, &seen.errors), stacks })
}

fn stacks_of_files(paths: &[PathBuf], symbols: &dyn Locate) -> Result<Vec<Taken>> {
    let (files, words) = (files::expand(paths)?, Symbolizer::new());
    let opened = files.iter().filter_map(|path| ProcessFile::open(path).ok());
    Ok(opened.map(|file| stacks::of_file(&file, &words, symbols)).collect())
}

/// Returns one snapshot of core files and saved images.
fn kept(paths: &[PathBuf], symbols: &dyn Locate) -> Result<Look> {
    let (mut seen, words, mut one_job) = (Look::default(), Symbolizer::new(), OneJob::default());
    for path in files::expand(paths)? {
        match ProcessFile::open(&path) {
            Ok(file) => {
                seen.errors.extend(one_job.other(&path, &file.process));
                seen.errors.extend(file.truncated());
                seen.observations.push(file.observation(symbols, &words));
            }
            Err(error) => seen.errors.push(error.to_string()),
        }
    }
    Ok(seen)
}
