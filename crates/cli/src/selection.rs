//! Resolves what the user names: a job, a process, a file, or the only job there is.

use crate::core::files;
use crate::evidence_files::EvidenceFiles;
use anyhow::{Result, anyhow, bail};
use mpiscope_job::jobs::announced;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence;
use mpiscope_job::jobs::job::{Job, Parts};
use mpiscope_job::jobs::job_image::forked_from;
use mpiscope_job::jobs::live_process;
use mpiscope_job::jobs::scheduler::{self, Allocation, SlurmId};
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::model::locate::Locate;
use mpiscope_job::sources::process_tree::Families;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What to look at. There is only one per invocation, so its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Target {
    /// One job, running or in an evidence file.
    Job(Job),
    /// Several jobs, none of them named.
    Jobs(Vec<Job>),
    /// Saved images and core files.
    Files(Vec<PathBuf>),
}

const START_ONE: &str = "start one with `mpiscope run mpirun -n 4 ./app`";

/// Resolves names: no name means the only job; otherwise a running job, or files of one job and directories
/// with such files.
pub fn find(names: &[OsString]) -> Result<Target> {
    match names {
        [] => running(None),
        [one] => find_one(Some(one)),
        paths => kept(paths),
    }
}

/// Like [`find`], for at most one name.
pub fn find_one(name: Option<&OsStr>) -> Result<Target> {
    match name {
        Some(name) if is_path(name)? => kept(&[name.to_owned()]),
        _ => running(name),
    }
}

/// Whether a name refers to a file or directory: it contains a slash or exists. Names of jobs contain no
/// slash.
///
/// # Errors
/// If it is also the name or a process of a running job.
pub fn is_path(name: &OsStr) -> Result<bool> {
    let Some(text) = name.to_str() else { return Ok(true) };
    if text.contains('/') || !Path::new(name).exists() {
        return Ok(text.contains('/'));
    }
    let jobs = discover();
    match exactly(&jobs, text)?.and_then(|at| jobs.get(at)) {
        Some(job) => {
            bail!(
                "{text} is a file here, but also names the job {}; use ./{text} or the full name of the job",
                job.name
            )
        }
        None => Ok(true),
    }
}

/// Whether a name refers to a running job, where it could also be the name of a new file.
pub fn is_running(name: &OsStr) -> Result<bool> {
    let Some(text) = name.to_str().filter(|text| !text.contains('/')) else { return Ok(false) };
    let scheduled = || text.parse::<u32>().is_ok() || SlurmId::parse(text).is_some();
    Ok(scheduled() || exactly(&discover(), text)?.is_some())
}

/// Returns the path to show when a file is given where a running job is required.
pub fn shown(files: &[PathBuf]) -> String {
    files.first().map(|path| path.display().to_string()).unwrap_or_default()
}

/// Fails if one of several names does not exist: several names must be files.
pub fn missing<P: AsRef<Path>>(paths: &[P]) -> Result<()> {
    match paths.iter().map(AsRef::as_ref).find(|path| paths.len() > 1 && !path.exists()) {
        Some(path) => bail!(
            "{}: no such file or directory; several names must be files of one job; name a running job alone",
            path.display()
        ),
        None => Ok(()),
    }
}

fn kept(paths: &[OsString]) -> Result<Target> {
    missing(paths)?;
    if let Some(kept) = EvidenceFiles::of(paths) {
        return Ok(Target::Job(kept.open()?.job));
    }
    Ok(Target::Files(files::expand(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())?))
}

fn running(name: Option<&OsStr>) -> Result<Target> {
    let mut jobs = discover();
    for elsewhere in announced::all() {
        let same = |here: &&mut Job| (here.owner, &here.name) == (elsewhere.owner, &elsewhere.name);
        match jobs.iter_mut().find(same) {
            Some(here) => here.announced = elsewhere.parts.map(|parts| parts.hosts).unwrap_or_default(),
            // It was started from here, but has no process here.
            None => jobs.push(elsewhere),
        }
    }
    let Some(name) = name else {
        return match jobs.len() {
            0 => bail!("no job of this user runs under mpiscope on this host; {START_ONE}, or name a file"),
            1 => Ok(Target::Job(jobs.remove(0))),
            _ => Ok(Target::Jobs(jobs)),
        };
    };
    let Some(name) = name.to_str() else { bail!("{}: no such job, process or file", name.display()) };
    if let Some(at) = position(&jobs, name)? {
        return Ok(Target::Job(jobs.swap_remove(at)));
    }
    let written = SlurmId::number(name).filter(|id| id.is_more_than_a_number() && scheduler::is_here());
    if let Some(id) = SlurmId::parse(name).or(written) {
        return of_slurm(jobs, &id);
    }
    if let Some((id, one)) = name.rsplit_once(':').and_then(|(id, one)| Some((SlurmId::parse(id)?, one))) {
        return one_of_slurm(jobs, &id, one);
    }
    if let Ok(pid) = name.parse::<u32>() {
        // A process that belongs to no job may have the same number as a Slurm job.
        return match SlurmId::number(name).filter(|_| scheduler::is_here()).map(|id| of_slurm(jobs, &id)) {
            Some(Ok(found)) => Ok(found),
            Some(Err(why)) if !Path::new("/proc").join(name).exists() => {
                bail!("{}. As a Slurm job id: {why}", no_job_of(pid))
            }
            _ => bail!(no_job_of(pid)),
        };
    }
    let several = several_users(&jobs);
    let shown = |job: &Job| if several { full_name(job) } else { job.name.clone() };
    let known: Vec<String> = jobs.iter().map(shown).collect();
    let nothing = format!("{name}: no such job, process or file");
    if known.is_empty() {
        bail!(
            "{nothing}; no job of this user runs under mpiscope on this host: {START_ONE}. {}",
            if_ended(name)
        );
    }
    bail!("{nothing}; jobs on this host: {}. {}", known.join(", "), if_ended(name))
}

/// Returns advice on a job that no longer runs.
fn if_ended(job: &str) -> String {
    let saved = evidence::hang_file(job);
    if saved.is_file() {
        return format!("A job of this name hung; its state was saved: name the file {}", saved.display());
    }
    "For a job that has ended, name the DIR of `mpiscope run --out DIR` or a saved file".to_owned()
}

/// Finds the jobs that Slurm has started under this number: on this host, or else on the hosts that Slurm
/// names.
fn of_slurm(jobs: Vec<Job>, id: &SlurmId) -> Result<Target> {
    let meant = |job: &Job| job.slurm().filter(|found| id.covers(found));
    let mut here: Vec<(Job, SlurmId)> =
        jobs.into_iter().filter_map(|job| meant(&job).map(|found| (job, found))).collect();
    // Other tasks of an array may run elsewhere.
    let array = here.first().is_some_and(|(_, found)| id.is_array_of(found));
    if array && here.len() == 1 {
        drop(Allocation::of(id).map_err(|why| anyhow!("{id}: {why}"))?);
    }
    match here.len() {
        0 => {}
        1 => {
            let named = Some(id.clone()).filter(SlurmId::is_whole);
            return Ok(Target::Job(Job { named, ..here.remove(0).0 }));
        }
        _ => return Ok(Target::Jobs(here.into_iter().map(|(job, _)| job).collect())),
    }
    let found = Allocation::of(id).map_err(|why| anyhow!("{id}: it has no rank on this host, and {why}"))?;
    let name = found.id.to_string();
    Ok(elsewhere(name.clone(), name, found))
}

/// Finds the job of this name among those that run under a Slurm number.
fn one_of_slurm(jobs: Vec<Job>, id: &SlurmId, name: &str) -> Result<Target> {
    let meant = |job: &Job| job.name == name && job.slurm().is_some_and(|found| id.covers(&found));
    if let Some(here) = jobs.into_iter().find(meant) {
        return Ok(Target::Job(here));
    }
    let found =
        Allocation::of(id).map_err(|why| anyhow!("{id}:{name}: it has no rank on this host, and {why}"))?;
    let full = format!("{}:{name}", found.id);
    Ok(elsewhere(full.clone(), full, found))
}

/// Makes a Slurm job without ranks on this host.
fn elsewhere(name: String, there: String, found: Allocation) -> Target {
    let parts = Some(Parts { hosts: found.hosts(), name: there, slurm: Some(found.id), starter: None });
    Target::Job(Job { name, parts, ..Job::default() })
}

/// Whether the jobs belong to more than one user.
pub fn several_users(jobs: &[Job]) -> bool {
    jobs.iter().zip(jobs.iter().skip(1)).any(|(one, other)| one.owner != other.owner)
}

/// Returns the job's name, qualified by its owner.
pub fn full_name(job: &Job) -> String {
    format!("{}:{}", job.owner, job.name)
}

/// Explains why a process belongs to none of the jobs.
fn no_job_of(pid: u32) -> String {
    match live_process::may_read(pid) {
        Err(why) => why.to_string(),
        Ok(_) => format!("process {pid} runs without the layer, or has not called MPI yet; {START_ONE}"),
    }
}

/// Finds the job with this name, with this process, or with a descendant of it (if it is a launcher,
/// `mpiscope run` or a script). `USER:JOB` is the job of one user, by user id; otherwise the caller's own job
/// takes precedence.
fn exactly(jobs: &[Job], name: &str) -> Result<Option<usize>> {
    let called = |job: &Job| job.name == name || full_name(job) == name;
    let same: Vec<usize> = (0..jobs.len()).filter(|i| jobs.get(*i).is_some_and(called)).collect();
    let own = rustix::process::geteuid().as_raw();
    let ours = same.iter().find(|i| jobs.get(**i).is_some_and(|job| job.owner == own));
    match (ours, same.as_slice()) {
        (Some(only), _) | (None, [only]) => return Ok(Some(*only)),
        (None, []) => {}
        (None, several) => {
            let names: Vec<String> = several.iter().filter_map(|i| jobs.get(*i)).map(full_name).collect();
            bail!("{name}: several users have a job with this name; name one: {}", names.join(", "));
        }
    }
    if let Ok(pid) = name.parse::<u32>() {
        if let Some(parent) = forked_from(pid, jobs.iter().flat_map(|job| &job.images)) {
            bail!(
                "process {pid} was forked from the MPI process {parent} and is not one itself: name {parent}"
            );
        }
        let holds =
            |job: &Job| job.images.iter().any(|image| image.holders.iter().any(|holder| holder.pid == pid));
        if let Some(at) = jobs.iter().position(holds) {
            return Ok(Some(at));
        }
        let started: BTreeSet<u32> = Families::now().descendants(pid).into_iter().collect();
        let its = |job: &Job| {
            job.images.iter().any(|image| image.holders.iter().any(|holder| started.contains(&holder.pid)))
        };
        match jobs.iter().enumerate().filter(|(_, job)| its(job)).collect::<Vec<_>>().as_slice() {
            [] => {}
            [(at, _)] => return Ok(Some(*at)),
            several => {
                let names: Vec<&str> = several.iter().map(|(_, job)| job.name.as_str()).collect();
                bail!("process {pid} has started several jobs; name one: {}", names.join(", "));
            }
        }
    }
    Ok(None)
}

/// Like [`exactly`], but also accepts a unique prefix of a job's name.
fn position(jobs: &[Job], name: &str) -> Result<Option<usize>> {
    if let Some(at) = exactly(jobs, name)? {
        return Ok(Some(at));
    }
    let like: Vec<usize> =
        (0..jobs.len()).filter(|i| jobs.get(*i).is_some_and(|j| j.name.starts_with(name))).collect();
    match like.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        _ => bail!(
            "{name}: several jobs begin with this; type more of the name (`mpiscope ps` lists the jobs)"
        ),
    }
}

/// Returns the symbolizer that turns addresses into source lines.
pub fn symbols() -> Box<dyn Locate> {
    Box::new(FileSymbols::default())
}
