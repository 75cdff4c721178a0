//! `cargo xtask test`: builds, fetches the MPI libraries, and runs all tests and the matrix.

use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Result, bail};
use mpiscope_testkit::{mpi, trials};

use crate::failures::Failures;
use crate::{build, mpi as libraries, sanitize};

/// Set on machines where hosts can be simulated with namespaces.
const CLUSTER: &str = "MPISCOPE_CLUSTER";
/// Minutes reserved for the matrix.
const LEAST: u64 = 4;

/// The options of the run.
#[derive(clap::Args)]
pub struct Args {
    /// Run only trials of the matrix whose name contains this, and no other tests
    filter: Option<String>,
    /// Fetch nothing, use the installed libraries
    #[arg(long)]
    offline: bool,
    /// Ignore trials of the matrix that have not begun after this many minutes; a few minutes are reserved
    /// for them, however long the tests before them take
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
    // Run all of them even after a failure: one run shows everything.
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
    // Not one per core: a single trial may have more ranks than a small machine has cores. The trials
    // themselves limit how many of these run at once (`testkit::room`).
    let mut arguments = vec!["--test-threads=4"];
    arguments.extend(args.filter.as_deref());
    let until = until.map(|until| until.max(after(LEAST)).to_string());
    let matrix = || {
        // On the whole workspace: for the matrix alone, its dependencies would be rebuilt with other
        // features.
        let mut command = of(&["--workspace", "--test", "matrix"]);
        command.env("MPISCOPE_MATRIX", "1");
        if let Some(until) = &until {
            command.env(trials::UNTIL, until);
        }
        command
    };
    let ended = failures.run(matrix, &arguments);
    let what = if args.filter.is_none() { "tested on" } else { "available for the trials above" };
    println!("\nin {:.0} s, {what}:", start.elapsed().as_secs_f64());
    for library in &found {
        println!("  {}: {}", library.name, library.version);
    }
    libraries::print_skipped(&skipped);
    failures.print();
    tests?;
    ended?;
    if found.is_empty() {
        bail!("no real MPI library was tested; `cargo xtask mpi` lists the reasons");
    }
    Ok(())
}

/// The time in this many minutes, in seconds since 1970.
fn after(minutes: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() + 60 * minutes
}

/// All tests except the matrix and those of jobs on several hosts, which are reported as ignored.
fn without_hosts() -> Command {
    let mut command = of(&["--workspace", "--exclude", "mpiscope-matrix", "--no-fail-fast"]);
    command.env_remove(CLUSTER);
    command
}

/// The tests of jobs on several hosts. They mostly wait for hosts to start or to time out, so other tests can
/// run at the same time.
fn on_hosts() -> Command {
    of(&["--workspace", "--test", "cluster"])
}

/// `cargo test` of some packages.
fn of(packages: &[&str]) -> Command {
    let mut command = build::tests();
    command.args(packages);
    command
}
