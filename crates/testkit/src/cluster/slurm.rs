//! Slurm on a cluster: its controller on the head, a node on every other host.

use super::{Cluster, until};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Starts Slurm and waits until all nodes accept jobs.
pub fn start(cluster: &Cluster) -> anyhow::Result<()> {
    let dir = cluster.dir.join("slurm");
    for folder in ["state", "spool"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755))?;
    let Some((head, nodes)) = cluster.hosts.split_first() else { return Ok(()) };
    fs::write(configuration(cluster), text(cluster, &dir))?;
    fs::write(dir.join("cgroup.conf"), "CgroupAutomount=no\n")?;
    authenticate(cluster, &dir)?;
    let mut controller = head.command("slurmctld");
    background(controller.args(["-D", "-i"]).env("SLURM_CONF", configuration(cluster)), &dir, "slurmctld")?;
    for node in nodes {
        let mut daemon = node.command("slurmd");
        daemon.args(["-D", "-N", &node.name]).env("SLURM_CONF", configuration(cluster));
        background(&mut daemon, &dir, &node.name)?;
    }
    let idle = || {
        let mut info = head.command("sinfo");
        environment(cluster, &mut info);
        let output = info.args(["-h", "-N", "-t", "idle", "-o", "%N"]).stderr(Stdio::null()).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).lines().count() >= nodes.len())
    };
    anyhow::ensure!(until(idle), "not all nodes accept jobs; see the logs in {}", dir.display());
    Ok(())
}

/// Sets up one key and one socket for all hosts: the socket is a file, and the folders are shared.
fn authenticate(cluster: &Cluster, dir: &Path) -> anyhow::Result<()> {
    let Some(head) = cluster.hosts.first() else { return Ok(()) };
    let key = dir.join("munge.key");
    if !key.exists() {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&key)?;
        std::io::copy(&mut std::io::Read::take(fs::File::open("/dev/urandom")?, 128), &mut file)?;
    }
    let socket = dir.join("munge.sock");
    let mut munge = head.command("munged");
    let option = |name: &str, file: &Path| format!("--{name}={}", file.display());
    munge.args(["--foreground", "--force", "--num-threads=2"]);
    munge.args([option("key-file", &key), option("socket", &socket)]);
    munge.args(
        ["pid", "log", "seed"]
            .map(|name| option(&format!("{name}-file"), &dir.join(format!("munge.{name}")))),
    );
    background(&mut munge, dir, "munged")?;
    anyhow::ensure!(until(|| socket.exists()), "munged did not start; see the logs in {}", dir.display());
    Ok(())
}

/// Starts a service, which ends with its host.
fn background(command: &mut Command, dir: &Path, name: &str) -> anyhow::Result<()> {
    let log = fs::File::create(dir.join(format!("{name}.log")))?;
    let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// The path of Slurm's configuration.
fn configuration(cluster: &Cluster) -> PathBuf {
    cluster.dir.join("slurm/slurm.conf")
}

/// Sets the environment that commands on the hosts need.
pub fn environment(cluster: &Cluster, command: &mut Command) {
    command.env("SLURM_CONF", configuration(cluster));
}

fn text(cluster: &Cluster, dir: &Path) -> String {
    let (mut text, dir) = (String::new(), dir.display());
    let Some((head, nodes)) = cluster.hosts.split_first() else { return text };
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let _infallible = write!(
        text,
        "ClusterName=test\nSlurmctldHost={}({})\nAuthType=auth/munge\nAuthInfo=socket={dir}/munge.sock\nCredType=cred/munge\n\
         SlurmUser=root\nSlurmdUser=root\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/linear\n\
         ReturnToService=2\nSlurmdParameters=config_overrides\nMpiDefault=pmi2\nKillWait=3\nSlurmdTimeout=30\n\
         StateSaveLocation={dir}/state\nSlurmdSpoolDir={dir}/spool/%n\nSlurmctldPidFile={dir}/slurmctld.pid\n\
         SlurmdPidFile={dir}/slurmd.%n.pid\n",
        head.name, head.address
    );
    for node in nodes {
        let _infallible = writeln!(
            text,
            "NodeName={0} NodeHostname={0} NodeAddr={1} CPUs=4 State=UNKNOWN",
            node.name, node.address
        );
    }
    let _infallible = writeln!(
        text,
        "PartitionName=all Nodes={} Default=YES State=UP OverSubscribe=FORCE",
        names.join(",")
    );
    text
}
