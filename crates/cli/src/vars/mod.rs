//! `mpiscope vars`: control and performance variables, categories, enumerations, events.
//!
//! For an MPI library: everything that a tool would find in it under the layer, determined by a helper
//! process ([`library`], [`query`], [`helper`]). For a running job ([`job`]): the same, determined in the
//! environment of each rank, overlaid with the contents of the ranks' images: our own variables, including
//! those of individual objects, and library variables that a tool has written.

mod helper;
mod item;
mod job;
mod library;
pub mod output;
mod provenance;
mod query;

use crate::host_scope::HostScope;
use anyhow::Result;
use std::ffi::OsString;
use std::process::ExitCode;

/// Show variables of the MPI tool information interface, for a running job or an MPI library
///
/// Shows control and performance variables, event types and enumerations, mpiscope's own and the library's,
/// with the values that can be read without an object, and where these come from. For a job, also shows on
/// which ranks they differ; no rank is stopped or slowed. For a library, shows what a program started here
/// would find. Exit status: 0 all is well, 1 a variable or part of the job could not be read, 2 nothing could
/// be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, an evidence file, the directory of `run --out`,
    /// saved images or core files; needed only if there are several jobs
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    targets: Vec<OsString>,
    /// An MPI library: its file (libmpi.so...), or the launcher that came with it
    #[arg(long, value_name = "FILE|MPIRUN", conflicts_with = "targets")]
    library: Option<String>,
    /// Only items with this text in their name or description
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only control variables whose value is not the default
    #[arg(long)]
    changed: bool,
    /// Show all items, each with description, type, scope and binding
    #[arg(long)]
    long: bool,
    /// Show the tree of categories
    #[arg(long)]
    categories: bool,
    #[command(flatten)]
    host_scope: HostScope,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Run as the helper process
    #[arg(long, hide = true)]
    describe: bool,
}

impl Options {
    /// Whether the item matches the user's search.
    fn found(&self, name: &str, desc: &str) -> bool {
        let Some(text) = &self.search else { return true };
        let text = text.to_lowercase();
        name.to_lowercase().contains(&text) || desc.to_lowercase().contains(&text)
    }
}

pub fn vars(options: &Options) -> Result<ExitCode> {
    if options.describe {
        return helper::describe();
    }
    match &options.library {
        Some(library) => library::vars(options, library),
        None => job::vars(options),
    }
}
