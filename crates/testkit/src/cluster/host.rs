//! A host: the first process of its namespaces, and commands run in them.

use super::until;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The script of the first process: turns the namespaces into a separate host and reaps all children that end
/// there. `$1` is the folder of the cluster, `$2` the name. The host has its own /run for services. Shell
/// startup files are masked: several at once may wait for each other, or for one that was killed.
const FIRST: &str = r#"
home=$(getent passwd "$(id -u)" | cut -d: -f6)
for file in .bashrc .bash_profile .bash_login .profile .zshenv .zprofile .zshrc .cshrc .tcshrc .kshrc; do
    [ ! -e "$home/$file" ] || mount --bind /dev/null "$home/$file" || exit 1
done
hostname "$2" && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run && mkdir -p /run/sshd &&
mount --bind "$1/hosts" /etc/hosts && ip link set lo up && : > "$1/$2.up" || exit 1
while :; do sleep 1000 & wait; done
"#;

/// A host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Host {
    /// The host name.
    pub name: String,
    /// The address in the cluster's network.
    pub address: String,
    /// The process that created the namespaces; everything in them ends with it.
    keeper: u32,
    /// The start time of that process, since its number may be reused.
    started: String,
    /// The process number, on this machine, of the first process in the namespaces.
    pub first: u32,
}

impl Host {
    /// Creates the namespaces. Real hosts differ in uptime, so `CLOCK_MONOTONIC` is `clock_s` seconds ahead
    /// of this machine's.
    pub(super) fn make(dir: &Path, name: &str, address: String, clock_s: usize) -> anyhow::Result<Self> {
        let up = dir.join(format!("{name}.up"));
        let _old = fs::remove_file(&up);
        let mut keeper = Command::new("unshare");
        keeper.args([
            "-n",
            "-m",
            "-p",
            "-u",
            "-T",
            "--monotonic",
            &clock_s.to_string(),
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            FIRST,
            "host",
        ]);
        keeper.arg(dir).arg(name).stdin(Stdio::null()).process_group(0);
        let log = fs::File::create(dir.join(format!("{name}.log")))?;
        let mut child = keeper.stdout(log.try_clone()?).stderr(log).spawn()?;
        let pid = child.id();
        let started = start_of(pid).unwrap_or_default();
        // It is our child while this process lives, then the init process's.
        std::thread::spawn(move || child.wait());
        let host = Self { name: name.to_owned(), address, keeper: pid, started, first: 0 };
        let first =
            || fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?.trim().parse().ok();
        if !until(|| up.exists() || !host.lives()) || !host.lives() {
            host.end();
            let said = fs::read_to_string(dir.join(format!("{name}.log"))).unwrap_or_default();
            anyhow::bail!("host {name} does not start: {}", said.trim());
        }
        let _seen = fs::remove_file(&up);
        match first() {
            Some(first) => Ok(Self { first, ..host }),
            None => {
                host.end();
                anyhow::bail!("the first process of host {name} was not found")
            }
        }
    }

    /// A command that runs `program` on this host, in the current folder.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.first.to_string(), "-n", "-m", "-p", "-u", "-T"]);
        if let Ok(folder) = std::env::current_dir() {
            command.arg(format!("--wdns={}", folder.display()));
        }
        command.args(["--", program]);
        command
    }

    /// Whether the host is up.
    #[must_use]
    pub fn lives(&self) -> bool {
        start_of(self.keeper).is_some_and(|started| started == self.started)
    }

    /// Ends the host and everything that runs on it.
    pub(super) fn end(&self) {
        let pid = i32::try_from(self.keeper).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.lives()) {
            // It ignores SIGTERM while it waits for its child.
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            until(|| !self.lives());
        }
    }
}

/// The start time of a running process, in the kernel's ticks since boot.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let running = words.next().is_some_and(|state| state != "Z");
    words.nth(18).filter(|_| running).map(str::to_owned)
}
