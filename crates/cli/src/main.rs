//! `mpiscope`: see inside any MPI job, without rebuilding it.
//!
//! One module per verb. Exit status: 0 nothing wrong, 1 a problem was found or a part could not be read, 2
//! nothing could be read; `run` exits with the status of the program.
#![deny(unsafe_code)]
// These macros panic if the output is closed or full.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod attach;
mod completions;
mod core;
mod diff;
mod doctor;
#[cfg(test)]
mod documented;
mod evidence_files;
mod exit;
mod file_limit;
mod gdb_script;
mod help;
mod host_scope;
mod inspect;
mod metrics;
mod open_files;
mod procs;
mod ps;
#[cfg(test)]
mod published;
mod queues;
mod render;
mod report;
mod run;
mod save;
mod seconds;
mod selection;
mod silent;
mod top;
mod trace;
mod vars;
mod version;
mod whole_file;
mod why;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use render::{ColourChoice, Terminal};
use std::process::ExitCode;

/// See inside any MPI job, without rebuilding it.
#[derive(Parser)]
#[command(version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    // Both options apply to every verb. They are described at the end of the main help page instead of on
    // every page.
    /// When to use colors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true, hide = true)]
    color: ColourChoice,
    /// Never show long output in a pager (PAGER, or else less)
    #[arg(long, global = true, hide = true)]
    no_pager: bool,
}

const AFTER_HELP: &str = "\
Start with:
  mpiscope run mpirun -n 4 ./app  run a job and report what it did
  mpiscope ps                     while it runs: what every rank is doing
  mpiscope why                    when it hangs: the reason in one sentence
  mpiscope queues                 messages not received, receives that wait
  mpiscope top                    live: who computes, who waits, and for what
  mpiscope report                 where the time goes, who talks to whom
  mpiscope diff DIR DIR           what became slower, in runs before and after
  mpiscope trace DIR              each call and message, for Perfetto and pandas
  mpiscope save job.mpiscope      all of this in one file, to inspect elsewhere
  mpiscope inspect                its communicators, datatypes, requests, leaks
  mpiscope vars                   its control and performance variables
  mpiscope doctor mpirun ./app    before: can this job be seen, and if not, why
  mpiscope core FILE...           after a crash: which rank died first, and why

With every verb:
  --color auto|always|never       auto: on a terminal, unless NO_COLOR is set
  --no-pager                      otherwise PAGER, or less, shows long output";

#[derive(Subcommand)]
enum Verb {
    Run(run::Options),
    Ps(ps::Options),
    Why(why::Options),
    Queues(queues::Options),
    Save(save::Options),
    Core(core::Options),
    Report(report::Options),
    Top(top::Options),
    Diff(diff::Options),
    Trace(trace::Options),
    Metrics(metrics::Options),
    Procs(procs::Options),
    Attach(attach::Options),
    Inspect(inspect::Options),
    Vars(vars::Options),
    Doctor(doctor::Options),
    GdbScript(gdb_script::Options),
    Completions(completions::Options),
    Help(help::Options),
    #[command(hide = true)]
    ManPages(completions::ManOptions),
}

/// Returns the command line, with help formatted for a terminal of this width.
fn command(width: usize) -> clap::Command {
    Cli::command().term_width(width)
}

fn main() -> ExitCode {
    file_limit::fails_writes();
    let width = Terminal::of(&std::io::stdout()).width;
    let matches = command(width).try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => execute(cli),
        // Parsing stopped early, so options for every verb may not have been seen.
        Err(mut e) => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            let texts = || words.iter().map(|word| word.to_string_lossy().into_owned());
            help::colours(texts()).unwrap_or_default().choose();
            if help::refuses_pager(texts()) {
                render::refuse_pager();
            }
            // The advice to write `--` before a misspelled option.
            e.remove(ContextKind::Suggested);
            let status = answer(&e).unwrap_or_else(|e| exit::failed(&e));
            if let Some(instead) = help::instead(e.kind(), &words) {
                render::complain("", &instead);
            }
            status
        }
    }
}

/// Prints the result of parsing. Help and version are successes (0); anything else means that nothing could
/// be read (2).
fn answer(asked: &clap::Error) -> anyhow::Result<ExitCode> {
    match asked.kind() {
        ErrorKind::DisplayVersion => version::show(),
        ErrorKind::DisplayHelp => help::print(&asked.render()),
        _ => {
            let status = if asked.use_stderr() { exit::COULD_NOT_READ } else { exit::FINE };
            let _closed = asked.print();
            Ok(ExitCode::from(status))
        }
    }
}

fn execute(cli: Cli) -> ExitCode {
    cli.color.choose();
    if cli.no_pager {
        render::refuse_pager();
    }
    let result = match cli.verb {
        Verb::Run(options) => run::run(&options),
        Verb::Ps(options) => ps::ps(&options),
        Verb::Queues(options) => queues::show(&options),
        Verb::Save(options) => save::save(&options),
        Verb::Core(options) => core::core(&options),
        Verb::Report(options) => report::report(&options),
        Verb::Top(options) => top::top(&options),
        Verb::Diff(options) => diff::diff(&options),
        Verb::Trace(options) => trace::trace(&options),
        Verb::Metrics(options) => metrics::metrics(&options),
        Verb::Procs(options) => procs::procs(&options),
        Verb::Attach(options) => attach::attach(&options),
        Verb::Inspect(options) => inspect::inspect(&options),
        Verb::Vars(options) => vars::vars(&options),
        Verb::Why(options) => why::why(&options),
        Verb::Doctor(options) => doctor::doctor(&options),
        Verb::GdbScript(options) => gdb_script::print(&options),
        Verb::Completions(options) => completions::print(&options),
        Verb::Help(options) => help::help(&options),
        Verb::ManPages(options) => completions::manual(&options),
    };
    result.unwrap_or_else(|e| exit::failed(&e))
}
