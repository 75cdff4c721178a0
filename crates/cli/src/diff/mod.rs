//! `mpiscope diff`: compares two runs, or several of each: what became slower, where, and whether that is
//! more than chance.
//!
//! ```text
//! A1,A2,… ──► reports ──► Side ─┐
//! B1,B2,… ──► reports ──► Side ─┴─► Comparison (each quantity: means, difference, Welch's t-test) ──► text, JSON
//! ```

pub mod compare;
mod output;
mod side;
mod stats;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, complain, while_working};
use anyhow::Result;
use compare::Comparison;
use side::Side;
use std::ffi::OsString;
use std::process::ExitCode;

/// Compare two runs, or several of each: what became slower, and where
///
/// A side is a DIR of `run --out`, an evidence file, a saved image, a running job, or several of these
/// separated by commas. Differences between single runs may be chance; with two or more runs of each side
/// Welch's t-test tells how likely that is, corrected for the number of comparisons (Benjamini and Hochberg).
/// Exit status: 0 B is not slower, 1 B is slower by more than chance or part of a run could not be read, 2
/// nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// Before: DIR,DIR,... or files
    #[arg(value_name = "A")]
    before: OsString,
    /// After
    #[arg(value_name = "B")]
    after: OsString,
    /// Differences that chance alone would produce with a higher probability than this count as noise
    #[arg(long, value_name = "PART", default_value_t = 0.05, allow_negative_numbers = true, value_parser = part)]
    chance: f64,
    /// Print everything as JSON (schema mpiscope.diff/1)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host_scope: HostScope,
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| *part > 0.0 && *part < 1.0);
    part.ok_or_else(|| "write a number greater than 0 and less than 1, such as 0.05".to_owned())
}

/// Compares the runs and shows the result.
pub fn diff(options: &Options) -> Result<ExitCode> {
    let (a, b) = while_working("reading the runs", || {
        let a = Side::read(&options.before, options.host_scope)?;
        Ok::<_, anyhow::Error>((a, Side::read(&options.after, options.host_scope)?))
    })?;
    let found = Comparison::new(&a, &b, options.chance);
    let mut screen = Screen::paged();
    if options.json {
        screen.json(&found)?;
    } else {
        screen.page(&output::page(&found))?;
    }
    screen.finish()?;
    a.errors.iter().chain(&b.errors).for_each(|why| complain("diff", why));
    Ok(exit::answer(found.slower, !a.errors.is_empty() || !b.errors.is_empty()))
}
