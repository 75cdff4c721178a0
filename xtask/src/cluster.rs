//! `cargo xtask cluster`: a login host and three compute hosts on this machine, connected by `ssh` and Slurm.

use crate::build;
use anyhow::{Result, bail};
use mpiscope_testkit::cluster::{self, Cluster, Ended};
use mpiscope_testkit::paths;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// The hosts. The first one is the login host, which also runs Slurm's controller.
const HOSTS: [&str; 4] = ["login", "n1", "n2", "n3"];

/// The action.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Start the hosts and leave them running
    Up,
    /// Stop the hosts and everything that runs on them
    Down,
    /// Run a command on a host, or the tests that need a cluster if no command is given; if no cluster is
    /// running, one is started and stopped afterward
    Run {
        /// Host to run the command on
        #[arg(long, default_value = "login")]
        on: String,
        /// Command to run
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

pub fn run(args: &Args) -> Result<()> {
    if let Some(why) = cluster::no_ssh().or_else(cluster::no_slurm) {
        println!("skipped: {why}");
        return Ok(());
    }
    match &args.verb {
        Verb::Up => {
            if Cluster::open(&folder()).is_ok() {
                bail!("the cluster is already running");
            }
            let cluster = make()?;
            for host in cluster.hosts() {
                println!("{} {}: nsenter -t {} -n -m -p -u -T", host.name, host.address, host.first);
            }
            Ok(())
        }
        Verb::Down => {
            if let Ok(cluster) = Cluster::made_in(&folder()) {
                cluster.end();
            }
            Ok(())
        }
        Verb::Run { command, .. } if command.is_empty() => {
            let mut tests = build::cargo();
            tests.args(["test", "--package", "mpiscope", "--test", "cluster"]);
            build::run(tests.env("MPISCOPE_CLUSTER", "1"))
        }
        Verb::Run { on, command } => on_cluster(on, command),
    }
}

fn folder() -> PathBuf {
    paths::target_dir().join("cluster")
}

fn make() -> Result<Cluster> {
    let mut cluster = Cluster::make(&folder(), &HOSTS)?;
    let made = cluster.add_ssh().and_then(|()| cluster.add_slurm());
    if made.is_err() {
        cluster.end();
    }
    made.map(|()| cluster)
}

fn on_cluster(host: &str, words: &[String]) -> Result<()> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let status = |cluster: &Cluster| -> Result<ExitStatus> {
        let command: &mut Command = &mut cluster.on(host, program)?;
        Ok(command.args(arguments).status()?)
    };
    let status = match Cluster::open(&folder()) {
        Ok(up) => status(&up)?,
        Err(_) => status(&Ended(make()?).0)?,
    };
    // The hosts have ended or are meant to stay, so there is nothing to drop.
    std::process::exit(status.code().unwrap_or(1))
}
