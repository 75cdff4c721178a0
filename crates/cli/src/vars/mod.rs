//! `mpiscope vars`: control and performance variables, categories, enumerations, events.
//!
//! Of an MPI library: everything that a tool would find in it under the layer, asked by a helper process ([`library`],
//! [`ask`], [`helper`]). Of a running job ([`job`]): the same, asked by a helper in the environment of each rank, and over it
//! what stands in the images of the ranks: our variables ([`own`]), and those of the library that a tool has written.

mod ask;
mod helper;
mod item;
mod job;
mod library;
mod own;
mod provenance;
mod show;

use anyhow::Result;
use std::process::ExitCode;

/// Show variables of the tool information interface: of a running job, or of an MPI library
///
/// All control and performance variables, event types and enumerations, ours and the library's, with values where
/// they can be read without an object, and where these come from. Of a job: on which ranks they differ; nothing is stopped or
/// slowed. Of a library: as a program would find them that is started here. Exit status: 0 all is well, 1 a
/// variable could not be read, 2 could not look.
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
    #[arg(long)]
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
