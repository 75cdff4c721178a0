//! `mpiscope run`: a program under the layer, and a report when it has ended.
//!
//! ```text
//! form 1    mpiscope run ──► mpirun ──► ranks          one parent: starts the launcher, collects, reports
//!               ▲ images ─────────────────┘
//!
//! form 2    mpirun ──► mpiscope run ──► rank           one wrapper a rank; the first one on a host leaves a
//!                          │ image, end                 collector behind, which reports when the last rank of
//!                          └──► collector               the host has ended
//! ```
//!
//! Images come over a local socket ([`protocol`]) and are kept open, so that a killed rank can be read as well.
//! Nothing is written to the program's standard output, and its exit status is ours.

mod banner;
mod child;
mod collector;
pub mod environment;
mod form;
mod launcher;
mod peers;
mod protocol;
mod signals;
mod starter;
mod wrapper;

use anyhow::{Context, Result};
use collector::Collector;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program or a whole job under the layer and report what it did
///
/// Two forms: `mpiscope run mpirun -n 4 ./app` for jobs on this host, and `mpirun -n 4 mpiscope run ./app` for
/// any job; the second also knows of ranks that never called MPI or died before MPI_Init, and gives one report
/// for every host.
#[derive(clap::Args)]
pub struct Options {
    /// Also write DIR/report.json
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Report as JSON (on standard error, like the text)
    #[arg(long)]
    pub json: bool,
    /// Hold every rank at the end of MPI_Init until a debugger lets it go
    #[arg(long)]
    pub hold: bool,
    /// Hold every rank like --hold, and open a debugger on each in tmux
    #[arg(long)]
    pub debug: bool,
    /// Print no report
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl Options {
    /// What the user typed, for people.
    pub fn command(&self) -> String {
        let words = self.program.iter().map(|w| w.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Runs the program; gives its exit status.
pub fn run(options: &Options) -> Result<ExitCode> {
    let layer = environment::find_layer()?;
    if let Some(dir) = &options.out {
        std::fs::create_dir_all(dir).with_context(|| {
            format!("--out {}: the directory cannot be made; name one that you may write to", dir.display())
        })?;
    }
    match form::detect(&options.program) {
        form::Form::Rank(place) => wrapper::run(options, &layer, &place),
        form::Form::Whole => whole(options, &layer),
    }
}

/// Form 1: parent of the launcher.
fn whole(options: &Options, layer: &Path) -> Result<ExitCode> {
    let job = environment::new_job();
    let name = protocol::socket_name(&job);
    let mut collector = Collector::bind(&name).context("the socket for the ranks cannot be opened")?;
    let mut environment = environment::Environment::new(layer, &job)?;
    environment.collector = Some(name);
    environment.hold = options.hold || options.debug || starter::being_debugged();
    let mut starter = starter::Starter::new(options.debug);
    let signals = signals::Signals::block()?;
    let child = match child::spawn(&options.program, &environment, &signals, child::Tie::Loose) {
        Ok(child) => child,
        Err(e) => return Ok(child::not_started(&options.program, &e)),
    };
    let ending = child::supervise(child, &signals, Some((&mut collector, &mut starter)))?;
    collector.settle();
    let scope = banner::Scope { whole: true, ending: Some(ending) };
    banner::deliver(options, collector.report(options.command()), &scope, None);
    signals.mask().restore();
    child::end_like(ending)
}
