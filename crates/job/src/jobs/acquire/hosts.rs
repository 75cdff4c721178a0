//! The processes of this host, and the command that asks other hosts.

use super::images::{self, ImageEntry};
use super::model::JobKey;
use super::remote::Remote;
use super::{Acquired, Error, Users};
use crate::base::host_name::same_host;
use crate::jobs::announced;
use crate::jobs::scan::Scan;
use crate::jobs::started_by::StartedBy;
use crate::sources::process_tree::Families;
use mpiscope_target::{Files, Live, Target, procfs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What [`acquire`](super::acquire) needs of the system; tests substitute their own.
pub trait Hosts {
    /// The name of this host.
    fn host(&self) -> String;
    /// Whether the name denotes this host.
    fn here(&self, host: &str) -> bool;
    /// The user that owns a process of this host; `None` if there is no such process.
    fn owner(&self, pid: u32) -> Option<u32>;
    /// Opens a process of this host, which must run the program `executable` if that is known.
    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error>;
    /// The descendants of a process of this host.
    fn descendants(&self, pid: u32) -> Vec<u32>;
    /// All processes of this host that have an image.
    fn records(&self) -> Vec<ImageEntry>;
    /// Other hosts on which this job has ranks, according to the process that started the job from here or
    /// gathers it.
    fn announced(&self, job: &JobKey) -> Vec<String>;
    /// Asks another host what it knows of the processes of these users.
    fn ask(&self, host: &str, whom: &Whom, users: &Users) -> Result<Acquired, Error>;
}

/// Where another host starts searching.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whom {
    /// Process ids there.
    pub pids: BTreeSet<u32>,
    /// Jobs, by name: a host may have ranks of a job that no table names.
    pub jobs: BTreeSet<String>,
}

impl Whom {
    /// Whether nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pids.is_empty() && self.jobs.is_empty()
    }

    /// Returns what is not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self { pids: &self.pids - &other.pids, jobs: &self.jobs - &other.jobs }
    }

    /// Adds everything in `other`.
    pub fn extend(&mut self, other: Self) {
        self.pids.extend(other.pids);
        self.jobs.extend(other.jobs);
    }

    fn words(&self) -> impl Iterator<Item = String> {
        self.pids.iter().map(u32::to_string).chain(self.jobs.iter().cloned())
    }
}

/// The real system.
#[derive(Debug, Clone)]
pub struct SystemHosts {
    host: String,
    remote: Remote,
    /// Data shared by all processes of this host, read once.
    files: Arc<Files>,
    families: OnceLock<Families>,
    /// The scan of this host; made when first needed, unless there is one already.
    scan: OnceLock<Arc<Scan>>,
}

impl SystemHosts {
    /// Creates a system that asks other hosts with `MPISCOPE_SSH`, or `ssh` if unset, to run `program` there.
    pub fn new(program: PathBuf) -> Self {
        let host = procfs::hostname().unwrap_or_default();
        Self {
            host,
            remote: Remote::new(program),
            files: Arc::default(),
            families: OnceLock::new(),
            scan: OnceLock::new(),
        }
    }

    /// Declares that other hosts belong to a job started by `what`: they are reached the way it reached them,
    /// unless `MPISCOPE_SSH` names another command.
    #[must_use]
    pub fn started_by(mut self, what: StartedBy) -> Self {
        self.remote.as_started_by(what);
        self
    }

    /// Declares that this host has just been scanned.
    #[must_use]
    pub fn scanned(self, scan: Option<Arc<Scan>>) -> Self {
        let scan = scan.map_or_else(OnceLock::new, OnceLock::from);
        Self { scan, ..self }
    }

    /// The scan of this host that serves everything asked of it.
    pub fn scan(&self) -> &Scan {
        self.scan.get_or_init(|| Arc::new(Scan::now()))
    }

    /// How other hosts are reached.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }
}

impl Hosts for SystemHosts {
    fn host(&self) -> String {
        self.host.clone()
    }

    fn here(&self, host: &str) -> bool {
        same_host(host, &self.host) || ["localhost", "127.0.0.1", "::1"].contains(&host)
    }

    fn owner(&self, pid: u32) -> Option<u32> {
        procfs::user(pid).ok()
    }

    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error> {
        let live = Live::open_briefly(pid, self.files.clone())?;
        let now = live.executable().unwrap_or_default();
        let name = |path: &Path| {
            let text = path.as_os_str().to_string_lossy().into_owned();
            text.strip_suffix(" (deleted)").unwrap_or(&text).to_owned()
        };
        // The pid of a process that has ended may have been reused.
        if !executable.as_os_str().is_empty()
            && Path::new(&name(&now)).file_name() != Path::new(&name(executable)).file_name()
        {
            return Err(mpiscope_target::Error::NoProcess { pid }.into());
        }
        Ok(Box::new(live))
    }

    fn descendants(&self, pid: u32) -> Vec<u32> {
        self.families.get_or_init(Families::now).descendants(pid)
    }

    fn records(&self) -> Vec<ImageEntry> {
        images::of_scan(self.scan())
    }

    fn announced(&self, job: &JobKey) -> Vec<String> {
        announced::all()
            .into_iter()
            .find(|found| (found.owner, &found.name) == (job.0, &job.1))
            .map_or_else(Vec::new, |found| found.parts.map(|parts| parts.hosts).unwrap_or_default())
    }

    fn ask(&self, host: &str, whom: &Whom, users: &Users) -> Result<Acquired, Error> {
        let mut words = ["procs", "--json", "--here"].map(str::to_owned).to_vec();
        if !users.unnamed() {
            words.extend(["--user".to_owned(), users.to_string()]);
        }
        words.extend(whom.words());
        self.remote.run(host, &words, Duration::ZERO)
    }
}
