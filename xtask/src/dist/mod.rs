//! `cargo xtask dist`: what is given to users.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

mod man;

/// What to make.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// The folder to write to; `target/dist` by default
    #[arg(long, value_name = "DIR", global = true)]
    out: Option<PathBuf>,
}

#[derive(Subcommand)]
enum What {
    /// Manual pages, made from the definition of the command line
    Man,
}

pub fn run(args: &Args) -> Result<()> {
    let out = args.out.clone().unwrap_or_else(|| mpiscope_testkit::paths::target_dir().join("dist"));
    std::fs::create_dir_all(&out)?;
    match args.what {
        What::Man => man::run(&out.join("man")),
    }
}
