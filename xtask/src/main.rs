//! The project's own commands: `cargo xtask VERB`.

mod r#gen;

use clap::Parser;

/// The project's own commands
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Make the Rust tables from the checked-in tables
    Gen(r#gen::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().verb {
        Verb::Gen(args) => r#gen::run(&args),
    }
}
