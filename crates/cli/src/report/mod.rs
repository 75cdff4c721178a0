//! `mpiscope report`: where the time went, which ranks communicated, and what else is known of a job, running
//! or ended.
//!
//! ```text
//! target ──► JobReport (same values as in report.json) ─┬─► sections: lines and tables ─┬─► text
//!                                                       │                               └─► HTML, with figures
//!                                                       └─► JSON, one line per job
//! ```

mod figures;
mod html;
pub mod sections;
pub mod source;
pub mod summary;
mod timeline;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Block, Screen, complain, while_working};
use crate::run::banner;
use crate::whole_file;
use anyhow::{Context, Result};
use sections::Section;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

pub use source::{Source, read};

/// Show where the time went: functions, peers, collectives, messages, files, memory
///
/// Reads a running job without stopping it, or what `mpiscope run --out DIR` and `mpiscope save` have
/// written. Exit status: 0 all is well, 1 something was wrong with the run or could not be seen, 2 nothing
/// could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, the DIR of `run --out`, evidence files, saved
    /// images, core files or a DIR with them; not needed if there is only one job
    #[arg(value_name = "JOB|PID|DIR|FILE")]
    targets: Vec<OsString>,
    /// Only these sections, in this order; by default, those that have something to report
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    section: Vec<Section>,
    /// Print the report as JSON (schema mpiscope.report/1, as in report.json)
    #[arg(long)]
    json: bool,
    /// Print one line of JSON per target, as a record for administrators
    #[arg(long, conflicts_with_all = ["json", "section"])]
    summary: bool,
    /// Write the report as one HTML page, which needs no network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "summary"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    host_scope: HostScope,
}

pub fn report(options: &Options) -> Result<ExitCode> {
    if options.summary && options.targets.len() > 1 {
        return summaries(options);
    }
    options.html.iter().try_for_each(|path| whole_file::spare_evidence(path))?;
    let source = while_working("reading the ranks", || read(&options.targets, options.host_scope))?;
    if let Some(path) = &options.html {
        let page = html::page(&source, &options.section);
        whole_file::write(path, page.as_bytes()).context("--html")?;
    } else {
        print(options, &source)?;
    }
    source.errors.iter().for_each(|why| complain("report", why));
    Ok(ExitCode::from(status(&source)))
}

fn print(options: &Options, source: &Source) -> Result<()> {
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&source.report)?;
    } else if options.summary {
        screen.json(&summary::Summary::of(source))?;
    } else {
        screen.page(&text(source, &options.section))?;
    }
    screen.finish()
}

/// Prints one line per target. Targets that cannot be read are reported and skipped.
fn summaries(options: &Options) -> Result<ExitCode> {
    let mut screen = Screen::stdout();
    let mut worst = exit::FINE;
    for target in &options.targets {
        match read(std::slice::from_ref(target), options.host_scope) {
            Ok(source) => {
                screen.json(&summary::Summary::of(&source))?;
                worst = worst.max(status(&source));
            }
            Err(why) => {
                complain("report", &format!("{why:#}"));
                worst = exit::COULD_NOT_READ;
            }
        }
    }
    screen.finish()?;
    Ok(ExitCode::from(worst))
}

fn status(source: &Source) -> u8 {
    let Source { report, errors, .. } = source;
    let wrong = banner::ended_badly(report) || !errors.is_empty() || !report.findings.is_empty();
    if wrong { exit::PROBLEM } else { exit::FINE }
}

fn text(source: &Source, wanted: &[Section]) -> Vec<Block> {
    let mut page = sections::head(&source.report);
    for (section, blocks) in sections::all(&source.report, wanted) {
        page.push(Block::Line(String::new()));
        page.push(Block::Head(section.title().to_owned()));
        page.extend(blocks);
    }
    page
}
