//! `cargo xtask test`: build, fetch the MPI libraries, run every test and the matrix.

use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Result, bail};
use mpiscope_testkit::{mpi, trials};

use crate::failures::Failures;
use crate::{build, mpi as libraries, sanitize};

/// Set where hosts may be made of namespaces.
const CLUSTER: &str = "MPISCOPE_CLUSTER";
/// Minutes of the matrix that no other tests take.
const LEAST: u64 = 6;

/// What to run.
#[derive(clap::Args)]
pub struct Args {
    /// Run only trials of the matrix whose name holds this, and no other tests.
    filter: Option<String>,
    /// Fetch nothing, use what is there.
    #[arg(long)]
    offline: bool,
    /// Trials of the matrix that have not begun after so many minutes are not run, and reported as ignored. However long the tests
    /// before them took, some minutes are theirs.
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
}

pub fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let until = args.within.map(after);
    build::release()?;
    if !args.offline {
        libraries::fetch_all(&[]);
    }
    let (found, skipped) = mpi::survey();
    libraries::print_table(&found);
    libraries::print_skipped(&skipped);
    let mut failures = Failures::default();
    // All of them, also after a failure: one run shows everything.
    let tests = if args.filter.is_none() {
        let sanitized = sanitize::run(&sanitize::Args {});
        let tests = if std::env::var_os(CLUSTER).is_some() {
            failures.run_beside(without_hosts, on_hosts)
        } else {
            failures.run(without_hosts, &[])
        };
        tests.and(sanitized)
    } else {
        Ok(())
    };
    // Not one for each core: a trial alone may have more ranks than a small machine has cores. How many of these run at once is for
    // the trials to say (`testkit::room`).
    let mut arguments = vec!["--test-threads=4"];
    arguments.extend(args.filter.as_deref());
    let until = until.map(|until| until.max(after(LEAST)).to_string());
    let matrix = || {
        // Of the whole workspace: with the matrix alone other features of its dependencies were built, all of them once more.
        let mut command = of(&["--workspace", "--test", "matrix"]);
        command.env("MPISCOPE_MATRIX", "1");
        if let Some(until) = &until {
            command.env(trials::UNTIL, until);
        }
        command
    };
    let ended = failures.run(matrix, &arguments);
    let what = if args.filter.is_none() { "tested on" } else { "at hand for the trials above" };
    println!("\nin {:.0} s, {what}:", start.elapsed().as_secs_f64());
    for library in &found {
        println!("  {}: {}", library.name, library.version);
    }
    libraries::print_skipped(&skipped);
    failures.print();
    tests?;
    ended?;
    if found.is_empty() {
        bail!("no real MPI library was tested; `cargo xtask mpi` says why none could be had");
    }
    Ok(())
}

/// Seconds since 1970, so many minutes from now.
fn after(minutes: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() + 60 * minutes
}

/// All tests but the matrix and those of jobs on several hosts, which are said to be ignored here.
fn without_hosts() -> Command {
    let mut command = of(&["--workspace", "--exclude", "mpiscope-matrix", "--no-fail-fast"]);
    command.env_remove(CLUSTER);
    command
}

/// The tests of jobs on several hosts. They wait for hosts that start and for such that do not answer, so other tests can run
/// beside them.
fn on_hosts() -> Command {
    of(&["--workspace", "--test", "cluster"])
}

/// `cargo test` of some packages.
fn of(packages: &[&str]) -> Command {
    let mut command = build::tests();
    command.args(packages);
    command
}
