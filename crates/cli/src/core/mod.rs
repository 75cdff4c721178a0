//! `mpiscope core`: one story of the core files of a job.

mod files;
mod requests;
mod text;

use crate::exit;
use anyhow::{Result, bail};
use mpiscope_job::story::{Death, Story};
use mpiscope_job::symbols::FileSymbols;
use mpiscope_target::Symbolizer;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Tell from core files who died of what, in which call, and who was waiting for whom
///
/// Name the core files of a job, or a directory that holds them. The program must have run under `mpiscope run`.
/// Exit status: 0 nobody died, 1 somebody did, 2 could not look.
#[derive(clap::Args)]
pub struct Options {
    /// Core files, or directories with core files
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
}

/// Reads the files and tells the story.
pub fn core(options: &Options) -> Result<ExitCode> {
    let symbols = FileSymbols::default();
    let symbolizer = Symbolizer::new();
    let (mut deaths, mut errors) = (Vec::new(), Vec::new());
    for file in files::expand(&options.files)? {
        match Death::open(&file, &symbols, &symbolizer) {
            Ok(death) => deaths.push(death),
            Err(e) => errors.push(e.to_string()),
        }
    }
    if deaths.is_empty() {
        bail!("{}", errors.join("\nmpiscope: "));
    }
    let story = Story::new(deaths, errors);
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string(&story)?)?;
    } else {
        for line in text::lines(&story) {
            writeln!(out, "{line}")?;
        }
        for error in &story.errors {
            eprintln!("mpiscope core: {error}");
        }
    }
    out.flush()?;
    Ok(ExitCode::from(if story.problem() { exit::PROBLEM } else { exit::FINE }))
}
