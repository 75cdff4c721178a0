//! What the project does with itself: fetching of real MPI libraries, the test matrix, the demo, benchmarks, the
//! generator of its tables.
//!
//! One verb, one file.

use anyhow::Result;
use clap::Parser;

mod r#gen;
mod mpi;

/// The project's own tasks
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Verb {
    /// Make the Rust tables from the checked-in tables
    Gen(r#gen::Args),
    /// Fetch the real MPI libraries and print what there is
    Mpi(mpi::Args),
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Gen(args) => r#gen::run(&args),
        Verb::Mpi(args) => mpi::run(&args),
    }
}
