//! The project's own tasks: fetching real MPI libraries, running the test matrix, the demo, benchmarks,
//! generating tables and more.
//!
//! Each verb is in its own file or folder.

use anyhow::Result;
use clap::Parser;

mod aarch64;
mod bench;
mod build;
mod check;
mod cluster;
mod demo;
mod dist;
mod failures;
mod fuzz;
mod r#gen;
mod mpi;
mod sanitize;
mod site;
mod test;

/// The project's own tasks
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Verb {
    /// Run test programs for AArch64 under an emulator
    Aarch64(aarch64::Args),
    /// Measure the overhead of the layer
    Bench(bench::Args),
    /// Check the sources: format, lints, generated files, models, other architecture, oldest Rust,
    /// dependencies
    Check(check::Args),
    /// Start a cluster on this machine, with namespaces as hosts, ssh and Slurm
    Cluster(cluster::Args),
    /// Run a real job and look inside it
    Demo(demo::Args),
    /// Make the packages for users: manual pages, archives, wheels
    Dist(dist::Args),
    /// Fuzz the readers of images, core files, evidence files, tables and answers of hosts
    Fuzz(fuzz::Args),
    /// Generate the Rust tables from the checked-in tables
    Gen(r#gen::Args),
    /// Fetch real MPI libraries and list those available
    Mpi(mpi::Args),
    /// Run the tests of the tool interface's engine under AddressSanitizer
    Sanitize(sanitize::Args),
    /// Build the documentation site, with a reference generated from the code
    Site(site::Args),
    /// Build, fetch the MPI libraries and run all tests
    Test(test::Args),
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Aarch64(args) => aarch64::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Cluster(args) => cluster::run(&args),
        Verb::Demo(args) => demo::run(&args),
        Verb::Dist(args) => dist::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Gen(args) => r#gen::run(&args),
        Verb::Mpi(args) => mpi::run(&args),
        Verb::Sanitize(args) => sanitize::run(&args),
        Verb::Site(args) => site::run(&args),
        Verb::Test(args) => test::run(&args),
    }
}
