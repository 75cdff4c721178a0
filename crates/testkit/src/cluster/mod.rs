//! A cluster on one machine: namespaces as hosts, a network between them, remote shells, Slurm.
//!
//! ```text
//! Cluster::make ──► head ─ bridge ─┬─ n1      each host: its own network, mounts, processes and name;
//!                                  ├─ n2      the folders of the machine are shared, but for /run and /dev/shm
//!                                  └─ n3
//! ```
//!
//! All processes of a host are descendants of its first process: when [`Cluster::end`] kills the first
//! processes by id, the kernel removes namespaces, links and services with them. The cluster is recorded in
//! `cluster.json`, so that another process can use and end it.

mod host;
mod network;
mod slurm;
mod ssh;

pub use host::Host;

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Time limit for a part of the cluster to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// The record of the cluster, in its folder.
const STATE: &str = "cluster.json";
/// Difference between the clocks of two hosts, in seconds.
const APART_S: usize = 1000;

/// Hosts on one network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cluster {
    dir: PathBuf,
    /// The hosts. The first is the head, which has the bridge and Slurm's controller.
    hosts: Vec<Host>,
    /// Whether the hosts reach each other by `ssh`.
    ssh: bool,
    /// Whether Slurm runs jobs on all hosts except the head.
    slurm: bool,
}

/// The reason why no cluster can be started here, if any.
#[must_use]
pub fn unavailable() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("cannot create hosts here: needs root".to_owned());
    }
    if let Some(tool) = ["unshare", "nsenter", "ip"].into_iter().find(|tool| !installed(tool)) {
        return Some(format!("cannot create hosts here: {tool} is not installed"));
    }
    let spaces = ["-n", "-m", "-p", "-u", "-T", "--fork", "--mount-proc"];
    let may = |command: &[&str]| quiet("unshare", &[&spaces[..], command].concat());
    if !may(&["true"]) {
        return Some("cannot create hosts here: needs namespaces (unshare)".to_owned());
    }
    let network =
        "ip link add b0 type bridge && ip link add v0 type veth peer name w0 && mount -t tmpfs tmpfs /run";
    let refused =
        || "cannot create hosts here: no permission to create a bridge, a virtual link or a mount".to_owned();
    (!may(&["sh", "-c", network])).then(refused)
}

/// The reason why `ssh` between the hosts is not possible, if any.
#[must_use]
pub fn no_ssh() -> Option<String> {
    unavailable().or_else(|| missing(&["sshd", "ssh", "ssh-keygen"]))
}

/// The reason why Slurm cannot run on the hosts, if any.
#[must_use]
pub fn no_slurm() -> Option<String> {
    unavailable().or_else(|| missing(&["slurmctld", "slurmd", "srun", "munged"]))
}

fn missing(programs: &[&str]) -> Option<String> {
    let missing = programs.iter().find(|program| !installed(program))?;
    Some(format!("{missing} is not installed"))
}

fn installed(program: &str) -> bool {
    let here = |folder: &str| Path::new(folder).join(program).is_file();
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].into_iter().any(here)
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).stdin(std::process::Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// Waits until `done` returns `true`; returns `false` on timeout.
fn until(mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

impl Cluster {
    /// Starts hosts with these names on a common network; their files are put into `dir`.
    ///
    /// # Errors
    /// Names the part that could not be created; nothing is left behind.
    pub fn make(dir: &Path, names: &[&str]) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let dir = dir.canonicalize()?;
        fs::write(dir.join("hosts"), network::names(names))?;
        let mut cluster = Self { dir, hosts: Vec::new(), ssh: false, slurm: false };
        let made = names.iter().enumerate().try_for_each(|(number, name)| {
            cluster.hosts.push(Host::make(&cluster.dir, name, network::address(number), APART_S * number)?);
            anyhow::Ok(())
        });
        let made = made.and_then(|()| network::connect(&cluster.hosts)).and_then(|()| cluster.keep());
        if let Err(why) = made {
            cluster.end();
            return Err(why);
        }
        Ok(cluster)
    }

    /// Starts a remote shell on every host; `ssh HOST` then works on all of them, with this cluster's keys.
    ///
    /// # Errors
    /// Names the host whose shell does not answer.
    pub fn add_ssh(&mut self) -> anyhow::Result<()> {
        ssh::start(self)?;
        self.ssh = true;
        self.keep()
    }

    /// Starts Slurm, with all hosts but the first as its nodes.
    ///
    /// # Errors
    /// Names the service that does not start.
    pub fn add_slurm(&mut self) -> anyhow::Result<()> {
        slurm::start(self)?;
        self.slurm = true;
        self.keep()
    }

    /// The cluster recorded in `dir`, whether it is still up or not.
    ///
    /// # Errors
    /// If there is no record.
    pub fn made_in(dir: &Path) -> anyhow::Result<Self> {
        Ok(serde_json::from_str(&fs::read_to_string(dir.join(STATE))?)?)
    }

    /// Opens the cluster that was started in `dir`.
    ///
    /// # Errors
    /// If there is none, or one of its hosts has ended.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let cluster = Self::made_in(dir)?;
        if let Some(gone) = cluster.hosts.iter().find(|host| !host.lives()) {
            anyhow::bail!("host {} has ended", gone.name);
        }
        Ok(cluster)
    }

    fn keep(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.dir.join(STATE), serde_json::to_vec_pretty(self)?)?)
    }

    /// Ends all hosts and everything that runs on them.
    pub fn end(&self) {
        self.hosts.iter().for_each(Host::end);
        let _gone = fs::remove_file(self.dir.join(STATE));
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The hosts, the head first.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// A command that runs `program` on a host.
    ///
    /// # Errors
    /// If there is no such host.
    pub fn on(&self, host: &str, program: &str) -> anyhow::Result<Command> {
        let Some(host) = self.hosts.iter().find(|one| one.name == host) else {
            anyhow::bail!("{host}: no such host");
        };
        let mut command = host.command(program);
        if self.ssh {
            ssh::environment(self, &mut command);
        }
        if self.slurm {
            slurm::environment(self, &mut command);
        }
        Ok(command)
    }

    /// Disconnects a host from the network, silently for all others.
    ///
    /// # Errors
    /// If its link cannot be taken down.
    pub fn cut(&self, host: &str) -> anyhow::Result<()> {
        let status = self.on(host, "ip")?.args(["link", "set", network::LINK, "down"]).status()?;
        anyhow::ensure!(status.success(), "could not take down the link of {host}");
        Ok(())
    }

    /// Ends one host and everything that runs on it.
    pub fn kill(&self, host: &str) {
        self.hosts.iter().filter(|one| one.name == host).for_each(Host::end);
    }
}

/// A cluster that ends when this is dropped. A [`Cluster`] itself stays up until it is ended.
#[derive(Debug)]
pub struct Ended(pub Cluster);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}
