//! `mpiscope core`: the postmortem of a job from its core files.

pub mod files;
mod output;
mod requests;

use crate::evidence_files::EvidenceFiles;
use crate::exit;
use crate::render::{Screen, while_working};
use crate::why::evidence;
use anyhow::{Result, bail};
use mpiscope_job::questions::postmortem::Postmortem;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show from core files which rank died of what, in which call, and why the others could not proceed
///
/// Name the core files of a job, or a directory that contains them, possibly in one folder per rank. The
/// program must have run under `mpiscope run`. An evidence file, which contains no core files, gets the
/// verdict of `mpiscope why`. Exit status: 0 nothing is wrong, 1 a rank died or waited forever, or part of
/// the job could not be read, 2 no core file could be read.
#[derive(clap::Args)]
pub struct Options {
    /// Core files, or directories with core files; or an evidence file, or the directory of `run --out`
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// Print everything as JSON (schema mpiscope.core/2)
    #[arg(long)]
    json: bool,
}

/// Returns the evidence files if nothing else is meant. In a directory, core files take precedence.
fn evidence_alone(named: &[PathBuf]) -> Option<EvidenceFiles> {
    match named {
        [one] if one.is_file() || files::expand(named).is_err() => EvidenceFiles::of(named),
        _ => None,
    }
}

/// Reads the files and shows the postmortem.
pub fn core(options: &Options) -> Result<ExitCode> {
    let kept = evidence_alone(&options.files).map(|kept| evidence::verdict(&kept)).transpose()?;
    let from_evidence = kept.is_some();
    let postmortem = match kept {
        Some((job, verdict)) => Postmortem::of_evidence(&job, verdict),
        None => {
            let files = files::expand(&options.files)?;
            while_working("reading the core files", || Postmortem::open(&files))
        }
    };
    if postmortem.deaths.is_empty() && !from_evidence {
        bail!("{}", postmortem.errors.join("\nmpiscope: "));
    }
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&postmortem)?;
    } else {
        screen.page(&output::page(&postmortem))?;
    }
    screen.finish()?;
    let partial = postmortem.deaths.iter().any(|death| death.missing_bytes.is_some());
    Ok(exit::answer(postmortem.problem(), partial))
}
