//! `mpiscope`: see inside any MPI job, without rebuilding it.
//!
//! One module a verb. Exit status: 0 nothing wrong, 1 a problem was found, 2 could not look; `run` exits with
//! the status of the program.
#![deny(unsafe_code)]

mod attach;
mod core;
mod exit;
mod inspect;
mod procs;
mod ps;
mod run;
mod vars;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// See inside any MPI job, without rebuilding it.
#[derive(Parser)]
#[command(version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Start with:
  mpiscope run mpirun -n 4 ./app     run a job and report what it did
  mpiscope ps                        while it runs: what every rank is doing
  mpiscope inspect                   its communicators, datatypes, requests, ...; what is not freed
  mpiscope vars --library mpirun     what a tool can see in an MPI library; `vars` alone: in a running job
  mpiscope core FILE...              after a crash: who died of what, who waited for whom";

#[derive(Subcommand)]
enum Verb {
    Run(run::Options),
    Ps(ps::Options),
    Core(core::Options),
    Procs(procs::Options),
    Attach(attach::Options),
    Inspect(inspect::Options),
    Vars(vars::Options),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are answers (0); anything else means that nothing could be looked at (2).
        Err(e) => {
            let status = if e.use_stderr() { exit::COULD_NOT_LOOK } else { exit::FINE };
            let _ = e.print();
            return ExitCode::from(status);
        }
    };
    let result = match cli.verb {
        Verb::Run(options) => run::run(&options),
        Verb::Ps(options) => ps::ps(&options),
        Verb::Core(options) => core::core(&options),
        Verb::Procs(options) => procs::procs(&options),
        Verb::Attach(options) => attach::attach(&options),
        Verb::Inspect(options) => inspect::inspect(&options),
        Verb::Vars(options) => vars::vars(&options),
    };
    result.unwrap_or_else(|e| exit::failed(&e))
}
