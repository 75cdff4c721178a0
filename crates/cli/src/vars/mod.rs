//! `mpiscope vars`: control and performance variables, categories, enumerations, events.
//!
//! Of a running job: what the layer of each rank recorded of its own control variables ([`job`]). Of an MPI library:
//! everything that a tool would find in it under the layer, asked by a helper process ([`library`]).

mod helper;
mod job;
mod library;
mod show;

use anyhow::Result;
use std::process::ExitCode;

/// Show variables of the tool information interface: of a running job, or of an MPI library
///
/// Of a job: mpiscope's control variables with their values, and on which ranks they differ. Of a library: all control
/// and performance variables, event types and enumerations, ours and the library's, without starting MPI. Exit
/// status: 0 all is well, 1 a variable could not be read, 2 could not look.
#[derive(clap::Args)]
pub struct Options {
    /// A job, a process id of one of its ranks, a saved image, or a core file; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE")]
    target: Option<String>,
    /// An MPI library: its file (libmpi.so...), or the launcher that came with it
    #[arg(long, value_name = "FILE|MPIRUN", conflicts_with = "target")]
    library: Option<String>,
    /// Only what has this text in its name or description
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only control variables whose value is not the default
    #[arg(long)]
    changed: bool,
    /// The tree of categories
    #[arg(long, requires = "library")]
    categories: bool,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
    /// The helper itself
    #[arg(long, hide = true)]
    describe: bool,
}

impl Options {
    /// Is this what the user searches for?
    fn found(&self, name: &str, desc: &str) -> bool {
        let Some(text) = &self.search else { return true };
        let text = text.to_lowercase();
        name.to_lowercase().contains(&text) || desc.to_lowercase().contains(&text)
    }
}

/// Looks and shows.
pub fn vars(options: &Options) -> Result<ExitCode> {
    if options.describe {
        return helper::describe();
    }
    match &options.library {
        Some(library) => library::vars(options, library),
        None => job::vars(options),
    }
}
