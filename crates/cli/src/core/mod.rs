//! `mpiscope core`: the postmortem of a job from its core files.

pub mod files;
mod output;
mod requests;

use crate::exit;
use crate::render::{Screen, while_working};
use anyhow::{Result, bail};
use mpiscope_job::postmortem::Postmortem;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show from core files which rank died of what, in which call, and why the others could not go on
///
/// Name the core files of a job, or a directory that contains them, also in one folder per rank. The program must have run
/// under `mpiscope run`. Exit status: 0 nothing is wrong, 1 a rank died or waited for ever, 2 no core file could be read.
#[derive(clap::Args)]
pub struct Options {
    /// Core files, or directories with core files
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// Everything as JSON (schema mpiscope.core/2)
    #[arg(long)]
    json: bool,
}

/// Reads the files and shows the postmortem.
pub fn core(options: &Options) -> Result<ExitCode> {
    let files = files::expand(&options.files)?;
    let postmortem = while_working("reading the core files", || Postmortem::open(&files));
    if postmortem.deaths.is_empty() {
        bail!("{}", postmortem.errors.join("\nmpiscope: "));
    }
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&postmortem)?;
    } else {
        screen.page(&output::page(&postmortem))?;
    }
    screen.finish()?;
    Ok(ExitCode::from(if postmortem.problem() { exit::PROBLEM } else { exit::FINE }))
}
