//! `cargo xtask cluster`: three hosts and a head on this machine, with `ssh` and Slurm between them.

use crate::build;
use anyhow::{Result, bail};
use mpiscope_testkit::cluster::{self, Cluster, Ended};
use mpiscope_testkit::paths;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// The hosts: the first one is where people log in, and where Slurm's controller is.
const HOSTS: [&str; 4] = ["login", "n1", "n2", "n3"];

/// What to do with it.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Make the hosts, and leave them.
    Up,
    /// End them, with everything that runs there.
    Down,
    /// Run a command on a host, of a cluster that ends with it if none is up; without a command the tests that need one.
    Run {
        /// Where the command runs.
        #[arg(long, default_value = "login")]
        on: String,
        /// The command.
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
                bail!("it is up already");
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
    // The hosts are gone, or are meant to stay: nothing is left to be dropped.
    std::process::exit(status.code().unwrap_or(1))
}
