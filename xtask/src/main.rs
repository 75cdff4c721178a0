//! What the project does with itself: fetching of real MPI libraries, the test matrix, the demo, benchmarks.
//!
//! One verb, one file.

use anyhow::Result;
use clap::Parser;

mod mpi;

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Verb {
    /// Fetch the real MPI libraries and print what there is.
    Mpi(mpi::Args),
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Mpi(args) => mpi::run(&args),
    }
}
