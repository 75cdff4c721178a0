//! A cluster on one machine: hosts that are namespaces, a network between them, remote shells, Slurm.
//!
//! ```text
//! Cluster::make ──► head ─ bridge ─┬─ n1      each host: its own network, mounts, processes and name;
//!                                  ├─ n2      the folders of the machine are shared, but for /run and /dev/shm
//!                                  └─ n3
//! ```
//!
//! Everything lives below the first process of a host: when [`Cluster::end`] kills those few, by id, the kernel takes name
//! spaces, links and services away with them. What was made is written to `cluster.json`, so that another process can use
//! and end it.

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

/// How long a part of the cluster may take to come up.
const PATIENCE: Duration = Duration::from_secs(20);
/// What was made, in the folder of the cluster.
const STATE: &str = "cluster.json";
/// Between the clocks of two hosts, in seconds.
const APART_S: usize = 1000;

/// Hosts of one network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cluster {
    dir: PathBuf,
    /// The first one is the head: the bridge is there, and Slurm's controller.
    hosts: Vec<Host>,
    /// Whether the hosts reach each other by `ssh`.
    ssh: bool,
    /// Whether Slurm runs jobs on all hosts but the head.
    slurm: bool,
}

/// Why there can be no cluster here.
#[must_use]
pub fn unavailable() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("hosts cannot be made here: needs root".to_owned());
    }
    if let Some(tool) = ["unshare", "nsenter", "ip"].into_iter().find(|tool| !installed(tool)) {
        return Some(format!("hosts cannot be made here: {tool} is not installed"));
    }
    let spaces = ["-n", "-m", "-p", "-u", "-T", "--fork", "--mount-proc"];
    let may = |command: &[&str]| quiet("unshare", &[&spaces[..], command].concat());
    if !may(&["true"]) {
        return Some("hosts cannot be made here: needs namespaces (unshare)".to_owned());
    }
    let network =
        "ip link add b0 type bridge && ip link add v0 type veth peer name w0 && mount -t tmpfs tmpfs /run";
    let refused = || "hosts cannot be made here: no bridge, virtual link or mount may be made".to_owned();
    (!may(&["sh", "-c", network])).then(refused)
}

/// Why there can be no `ssh` between the hosts.
#[must_use]
pub fn no_ssh() -> Option<String> {
    unavailable().or_else(|| missing(&["sshd", "ssh", "ssh-keygen"]))
}

/// Why Slurm cannot run on them.
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

/// Waits for what takes a moment; false at the end of the patience.
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
    /// Makes hosts of these names, which see each other on a network; what they need is put into `dir`.
    ///
    /// # Errors
    /// With what could not be made; nothing is left then.
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

    /// Starts a remote shell on every host; `ssh HOST` works on all of them, with keys of this cluster.
    ///
    /// # Errors
    /// With the host whose shell does not answer.
    pub fn add_ssh(&mut self) -> anyhow::Result<()> {
        ssh::start(self)?;
        self.ssh = true;
        self.keep()
    }

    /// Starts Slurm, with all hosts but the first as its nodes.
    ///
    /// # Errors
    /// With what does not come up.
    pub fn add_slurm(&mut self) -> anyhow::Result<()> {
        slurm::start(self)?;
        self.slurm = true;
        self.keep()
    }

    /// What was made in `dir`, whether it is still there or not.
    ///
    /// # Errors
    /// When nothing was.
    pub fn made_in(dir: &Path) -> anyhow::Result<Self> {
        Ok(serde_json::from_str(&fs::read_to_string(dir.join(STATE))?)?)
    }

    /// The one that was made in `dir`.
    ///
    /// # Errors
    /// When there is none, or one of its hosts has ended.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let cluster = Self::made_in(dir)?;
        if let Some(gone) = cluster.hosts.iter().find(|host| !host.lives()) {
            anyhow::bail!("host {} is gone", gone.name);
        }
        Ok(cluster)
    }

    fn keep(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.dir.join(STATE), serde_json::to_vec_pretty(self)?)?)
    }

    /// Ends all hosts with everything that runs there.
    pub fn end(&self) {
        self.hosts.iter().for_each(Host::end);
        let _gone = fs::remove_file(self.dir.join(STATE));
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its hosts, the head first.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// A command that runs `program` on a host.
    ///
    /// # Errors
    /// When there is no such host.
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

    /// Takes a host off the network, without a word to anybody.
    ///
    /// # Errors
    /// When its link cannot be taken down.
    pub fn cut(&self, host: &str) -> anyhow::Result<()> {
        let status = self.on(host, "ip")?.args(["link", "set", network::LINK, "down"]).status()?;
        anyhow::ensure!(status.success(), "the link of {host} does not go down");
        Ok(())
    }

    /// Ends one host with everything that runs there.
    pub fn kill(&self, host: &str) {
        self.hosts.iter().filter(|one| one.name == host).for_each(Host::end);
    }
}

/// A cluster that ends with its scope. One by itself stays until somebody ends it.
#[derive(Debug)]
pub struct Ended(pub Cluster);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}
