//! `mpiscope`: see inside any MPI job, without rebuilding it.
//!
//! One module for each verb. Exit status: 0 nothing wrong, 1 a problem was found, 2 nothing could be read; `run` exits with
//! the status of the program.
#![deny(unsafe_code)]

mod attach;
mod core;
mod exit;
mod gdb_script;
mod inspect;
mod procs;
mod ps;
mod queues;
mod render;
mod run;
mod save;
mod selection;
mod silent;
mod vars;
mod why;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
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
  mpiscope run mpirun -n 4 ./app  run a job and report what it did
  mpiscope ps                     while it runs: what every rank is doing
  mpiscope why                    when it hangs: the reason in one sentence
  mpiscope queues                 messages not received, receives that wait
  mpiscope save job.mpiscope      all of this in one file, to look at elsewhere
  mpiscope inspect                its communicators, datatypes, requests, leaks
  mpiscope vars                   its control and performance variables
  mpiscope core FILE...           after a crash: which rank died first, and which waited for it";

#[derive(Subcommand)]
enum Verb {
    Run(run::Options),
    Ps(ps::Options),
    Why(why::Options),
    Queues(queues::Options),
    Save(save::Options),
    Core(core::Options),
    Procs(procs::Options),
    Attach(attach::Options),
    Inspect(inspect::Options),
    Vars(vars::Options),
    GdbScript(gdb_script::Options),
}

fn main() -> ExitCode {
    let width = render::Terminal::of(&std::io::stdout()).width;
    let matches = Cli::command().term_width(width).try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Help and version are answers (0); anything else means that nothing could be read (2).
        Err(e) => {
            let status = if e.use_stderr() { exit::COULD_NOT_READ } else { exit::FINE };
            let _ = e.print();
            return ExitCode::from(status);
        }
    };
    let result = match cli.verb {
        Verb::Run(options) => run::run(&options),
        Verb::Ps(options) => ps::ps(&options),
        Verb::Queues(options) => queues::show(&options),
        Verb::Save(options) => save::save(&options),
        Verb::Core(options) => core::core(&options),
        Verb::Procs(options) => procs::procs(&options),
        Verb::Attach(options) => attach::attach(&options),
        Verb::Inspect(options) => inspect::inspect(&options),
        Verb::Vars(options) => vars::vars(&options),
        Verb::Why(options) => why::why(&options),
        Verb::GdbScript(options) => gdb_script::print(&options),
    };
    result.unwrap_or_else(|e| exit::failed(&e))
}
