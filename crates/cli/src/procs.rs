//! `mpiscope procs`: all processes of a job and of the jobs connected with it, found from any one of them.

use crate::evidence_files::EvidenceFiles;
use crate::host_scope::system;
use crate::render::{Screen, Table, complain, or_dash, unless_gone, while_working};
use crate::run::ended;
use crate::selection::{self, Target};
use crate::{exit, silent};
use anyhow::{Result, bail};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::jobs::acquire::{
    self, Acquired, Entry, Hosts, JobKey, LastStage, ProcessLocation, Scope, Start, SystemHosts, Users,
    images,
};
use mpiscope_job::jobs::connected;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::job;
use mpiscope_job::jobs::job_image::HeldImage;
use mpiscope_job::jobs::other_worlds::Connected;
use mpiscope_job::jobs::scan::{Found, Scan};
use mpiscope_job::jobs::scheduler::{Allocation, SlurmId};
use mpiscope_job::jobs::silent::job_of;
use mpiscope_job::jobs::started_by::StartedBy;
use mpiscope_job::sources::procfs;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Polling interval of `--watch`.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// List all processes of a job, and of the jobs that it spawned or is connected with
///
/// Starts from any process (a rank, a launcher, `mpiscope run`), a job or a core file, and follows the tables
/// that debuggers use (MPI2DD, MPIR). Other hosts are reached through `ssh`, or through the command in
/// MPISCOPE_SSH, where {host} stands for the host; MPISCOPE_REMOTE is the path of mpiscope there. Exit
/// status: 0 all is well, 1 a process is gone or could not be read, 2 no process could be read.
#[derive(clap::Args)]
pub struct Options {
    /// Process ids, a job, one core file, or the evidence files of a job; not needed if there is only one job
    #[arg(value_name = "PID|JOB|FILE|DIR")]
    targets: Vec<OsString>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Print the table again whenever it changes, until all processes have ended
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Do not ask other hosts
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    whose: Whose,
}

/// The users whose processes are followed.
#[derive(clap::Args, Debug, Default)]
pub struct Whose {
    /// Also follow tables to processes of these users (numeric user ids, or `all`); the default is only the
    /// owner of the named processes
    #[arg(long, value_name = "ID,...|all")]
    user: Option<Users>,
}

/// The output of `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report<'a> {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    #[serde(flatten)]
    found: &'a Acquired,
}

pub fn procs(options: &Options) -> Result<ExitCode> {
    if let Some(kept) =
        Some(&options.targets).filter(|targets| !targets.is_empty()).and_then(|all| EvidenceFiles::of(all))
    {
        return of_evidence(&kept, options.json);
    }
    let first = || look(&options.targets, !options.here, &options.whose);
    let mut found = exit::explained(options.here, while_working("finding the processes", first))?;
    let mut watched = Watched::default();
    // Before the table is shown: every process shown is also watched.
    if options.watch {
        watched.add(&found);
    }
    let shown = show(&found, options.json);
    if options.watch { shown } else { unless_gone(shown) }?;
    while options.watch && found.processes.iter().any(|entry| !entry.gone) {
        std::thread::sleep(POLL_INTERVAL);
        let Ok(now) = look(&options.targets, !options.here, &options.whose) else { break };
        if now != found {
            watched.add(&now);
            separate()?;
            show(&now, false)?;
            found = now;
        }
    }
    let lost = if options.watch { watched.lost(&found) } else { Vec::new() };
    lost.iter().for_each(|line| complain("procs", line));
    let problem =
        !lost.is_empty() || !found.problems.is_empty() || found.processes.iter().any(|entry| entry.gone);
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// Lists the processes in evidence files, as of the time when these were written.
fn of_evidence(files: &EvidenceFiles, json: bool) -> Result<ExitCode> {
    let kept = files.open()?;
    let mut found = images::of_kept(&kept.job);
    found.problems.extend(kept.manifest.not_seen);
    if found.processes.is_empty() {
        let why = match found.problems.is_empty() {
            true => "all had finalized MPI when the file was written".to_owned(),
            false => found.problems.join("; "),
        };
        bail!("{}: it contains no process that can be listed: {why}", kept.job.name);
    }
    show(&found, json)?;
    let worlds: BTreeSet<&str> = found.processes.iter().map(|entry| entry.world.as_str()).collect();
    if worlds.iter().filter(|world| !world.is_empty()).count() > 1 {
        complain("procs", "evidence files do not record which process spawned which world");
    }
    let problem = !found.problems.is_empty() || found.processes.iter().any(|entry| entry.gone);
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// The images of watched processes. They outlive the processes and tell how far each one got: a launcher that
/// kills the others removes all of them from its tables at once.
#[derive(Default)]
struct Watched(BTreeMap<u32, (Entry, Option<HeldImage>)>);

impl Watched {
    /// Records the processes just found, and opens the images of new ones on this host.
    fn add(&mut self, found: &Acquired) {
        let system = system();
        let new: Vec<&Entry> = found
            .processes
            .iter()
            .filter(|entry| system.here(&entry.place.host) && !self.0.contains_key(&entry.place.pid))
            .collect();
        if new.is_empty() {
            return;
        }
        let jobs = discover();
        for entry in new {
            let pid = entry.place.pid;
            let image = jobs.iter().flat_map(|job| &job.images).find(|image| image.is_of(pid));
            self.0.insert(pid, (entry.clone(), image.and_then(|image| HeldImage::of(image).ok())));
        }
    }

    /// Lists processes that have ended without reaching the end of `MPI_Finalize`.
    fn lost(&self, last: &Acquired) -> Vec<String> {
        let listed = |place: &ProcessLocation| last.processes.iter().find(|entry| entry.place == *place);
        let line = |(entry, image): &(Entry, Option<HeldImage>)| {
            let ended = has_ended(entry.place.pid);
            let stage = image.as_ref().and_then(HeldImage::stage);
            let finished = match stage {
                Some(stage) => matches!(stage, LastStage::Finalized | LastStage::Silent),
                // Without an image only the tables can tell: a process removed from them left regularly.
                None => listed(&entry.place).is_none_or(|entry| !entry.gone),
            };
            let rank = entry.rank.map_or_else(|| "a process".to_owned(), |rank| format!("rank {rank}"));
            let how = if stage == Some(LastStage::Aborted) {
                "called MPI_Abort"
            } else {
                "ended without MPI_Finalize"
            };
            (ended && !finished)
                .then(|| format!("{rank} of {} (process {}) {how}", entry.world, entry.place.pid))
        };
        self.0.values().filter_map(line).collect()
    }
}

/// Whether the process has ended. This includes zombies.
fn has_ended(pid: u32) -> bool {
    !procfs::exists(pid) || ended::of_zombie(pid).is_some()
}

/// Acquires the processes from what the user named.
pub fn look(targets: &[OsString], remote: bool, whose: &Whose) -> Result<Acquired> {
    look_by(targets, remote, whose).map(|(found, _)| found)
}

/// Like [`look`], but also returns how to reach the job's hosts: on a login node, no process shows what
/// started the job.
pub fn look_by(targets: &[OsString], remote: bool, whose: &Whose) -> Result<(Acquired, SystemHosts)> {
    let Beginning { start, owner, jobs, started_by, scan } = beginning(targets, remote)?;
    let users = whose.user.clone().unwrap_or(owner);
    let by_job = jobs.keys().next().is_some();
    let system = system().started_by(started_by).scanned(scan);
    let scope = Scope { remote, users, jobs };
    let mut found = acquire::acquire(&system, start, &scope)?;
    silent::add(&mut found, &scope.jobs, &system);
    let connected = connections(&found, &scope.jobs, &system);
    found.connected.extend(connected);
    // With only one host requested, the others are not missing.
    if remote {
        found.problems.extend(connected::unseen(&found.connected));
    }
    if found.processes.is_empty() {
        match found.problems.as_slice() {
            [] if by_job => bail!(Refusal::NoneHere),
            [] => bail!(
                "no process of a job was found: did it run under `mpiscope run`, and has it called MPI_Init?"
            ),
            problems => bail!("{}", problems.join("; ")),
        }
    }
    Ok((found, system))
}

/// Returns the jobs that the local processes are connected with.
fn connections(
    found: &Acquired,
    named: &BTreeMap<JobKey, BTreeSet<String>>,
    system: &SystemHosts,
) -> BTreeSet<Connected> {
    let here = found.processes.iter().filter(|entry| system.here(&entry.place.host) && !entry.gone);
    let pids: BTreeSet<u32> = here.map(|entry| entry.place.pid).collect();
    let scan = system.scan();
    let held = |image: &Found| image.image.holders.iter().any(|holder| pids.contains(&holder.pid));
    let mut jobs: BTreeSet<&JobKey> = scan.images().filter(|one| held(one)).map(|one| &one.job).collect();
    jobs.extend(named.keys());
    jobs.into_iter().flat_map(|job| connected::of_scanned(scan, job)).collect()
}

/// Like [`system`], for the job of these processes: hosts of a Slurm job are reached through Slurm.
pub fn system_of(entries: &[Entry]) -> SystemHosts {
    let system = system();
    let here = entries.iter().filter(|entry| system.here(&entry.place.host));
    let started_by = StartedBy::of_processes(here.map(|entry| entry.place.pid));
    system.started_by(started_by)
}

/// Where acquisition starts.
struct Beginning {
    start: Start,
    /// The users whose processes are followed by default. For a core file this is the file's owner.
    owner: Users,
    /// The jobs of which all processes are wanted.
    jobs: BTreeMap<JobKey, BTreeSet<String>>,
    /// The scheduler or launcher that started them.
    started_by: StartedBy,
    /// The scan of this host that found the jobs.
    scan: Option<Arc<Scan>>,
}

/// Resolves what the user named: processes and jobs, or one core file; without a name, the only job.
fn beginning(targets: &[OsString], remote: bool) -> Result<Beginning> {
    if let [file] = targets
        && selection::is_path(file)?
        && Path::new(file).is_file()
    {
        let owner = Users::only(std::fs::metadata(file)?.uid());
        let start = Start::core(Path::new(file))?;
        let (jobs, started_by) = (BTreeMap::new(), StartedBy::default());
        return Ok(Beginning { start, owner, jobs, started_by, scan: None });
    }
    let number = |target: &&OsString| target.to_str().and_then(|text| text.parse::<u32>().ok());
    let (pids, names): (Vec<&OsString>, Vec<&OsString>) =
        targets.iter().partition(|target| number(target).is_some());
    let pids: Vec<u32> = pids.iter().filter_map(number).collect();
    let mut started_by = StartedBy::of_processes(pids.iter().copied());
    let mut jobs: BTreeMap<JobKey, BTreeSet<String>> =
        pids.iter().filter_map(|pid| job_of(*pid)).map(|job| (job, BTreeSet::new())).collect();
    let (mut owner, mut scan) = (Users::default(), None);
    let scheduled = |name: &OsString| name.to_str().and_then(SlurmId::parse);
    let named = names.into_iter().map(|name| (scheduled(name), selection::find_one(Some(name))));
    let only = targets.is_empty().then(|| (None, selection::find_one(None)));
    for (scheduled, target) in named.chain(only) {
        let found = match target? {
            Target::Job(job) if job.runs_here() => vec![job],
            // For a scheduler's job all of its processes are meant; each one names its world.
            Target::Jobs(jobs) if scheduled.is_some() => jobs,
            Target::Jobs(jobs) => {
                bail!(Refusal::several(job::names(&jobs), "", ""));
            }
            Target::Files(files) if files.iter().all(|file| !file.exists()) => {
                bail!("{}: no such file; {NAME_ONE}", selection::shown(&files))
            }
            Target::Files(files) => bail!("{}: {NAME_ONE}", selection::shown(&files)),
            Target::Job(job) => bail!("{}: {NAME_ONE}", job.name),
        };
        for job in found {
            scan = job.scan.clone().or(scan);
            started_by = started_by.or_else(|| job.started_by());
            // The owner of a Slurm job is known on its hosts.
            if job.parts.as_ref().is_none_or(|parts| parts.slurm.is_none()) {
                owner.add(job.owner);
            }
            let others = scheduled.as_ref().filter(|_| remote && job.parts.is_none());
            if let Some(there) = others.and_then(|id| Allocation::of(id).ok()) {
                jobs.entry((job.owner, there.id.to_string())).or_default().extend(there.hosts());
            }
            let (name, hosts) = job.parts.map_or((job.name, Vec::new()), |parts| (parts.name, parts.hosts));
            jobs.entry((job.owner, name)).or_default().extend(hosts);
        }
    }
    if !owner.unnamed() {
        pids.iter().filter_map(|pid| system().owner(*pid)).for_each(|user| owner.add(user));
    }
    Ok(Beginning { start: Start::Pids(pids), owner, jobs, started_by, scan })
}

const NAME_ONE: &str = "name process ids, one job, one core file, or the evidence files of one job";

/// Prints an empty line between two tables.
fn separate() -> Result<()> {
    let mut screen = Screen::stdout();
    screen.line("")?;
    screen.finish_part()
}

fn show(found: &Acquired, json: bool) -> Result<()> {
    let mut screen = Screen::stdout();
    if json {
        screen.json(&Report { schema: "mpiscope.procs/1", found })?;
        return screen.finish_part();
    }
    screen.table(table(&found.processes))?;
    for place in &found.elsewhere {
        screen.line(&format!("not asked: process {} on {}", place.pid, place.host))?;
    }
    screen.finish_part()?;
    found.problems.iter().for_each(|problem| complain("procs", problem));
    Ok(())
}

/// Returns the table shown to people.
fn table(entries: &[Entry]) -> Table {
    let mut table = Table::new(&["WORLD", "RANK", "HOST", "PID", "EXECUTABLE", "SPAWNED BY"]);
    for entry in entries {
        let spawned = match &entry.spawned {
            None => "-".to_owned(),
            Some(by) if by.rank < 0 => "an unidentified parent".to_owned(),
            Some(by) => format!("rank {} of {}, spawn {}", by.rank, by.world, by.sequence),
        };
        table.push(vec![
            or_dash(Some(entry.world.clone())),
            or_dash(entry.rank.map(|rank| rank.to_string())),
            entry.place.host.clone(),
            entry.place.pid.to_string(),
            format!("{}{}", entry.executable.display(), remark(entry)),
            spawned,
        ]);
    }
    table
}

fn remark(entry: &Entry) -> &'static str {
    match (entry.gone, entry.silent) {
        (true, _) => " (gone)",
        (false, true) => " (has not called MPI)",
        (false, false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::jobs::acquire::Spawned;

    #[test]
    fn a_spawned_rank_names_its_parent_and_a_lost_one_is_marked() {
        let mut entry = Entry {
            world: "h:1:2".into(),
            rank: Some(0),
            place: ProcessLocation { host: "h".into(), pid: 17 },
            executable: "/a".into(),
            spawned: None,
            gone: true,
            silent: false,
        };
        let first = entry.clone();
        entry.spawned = Some(Spawned { world: "h:0:0".into(), rank: 3, sequence: 1 });
        let lines = table(&[first, entry]).lines(100);
        assert_eq!(lines[1], "h:1:2  0     h     17   /a (gone)   -");
        assert_eq!(lines[2], "h:1:2  0     h     17   /a (gone)   rank 3 of h:0:0, spawn 1");
    }
}
