//! `mpiscope top`: shows a job while it runs.
//!
//! ```text
//! sampler (thread) ──► JobSnapshots ──► Interval (between two snapshots) ─┬─► View: strip, places, order, filter ──► screen
//!                                                                         ├─► text (--once)
//!                                                                         └─► JSON lines (--json)
//! ```
//!
//! Ranks are not stopped or queried: every sample reads their images, as `ps` does.

pub mod interval;
mod keys;
mod places;
mod sampler;
mod screen;
mod strip;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod view;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Screen, complain};
use crate::seconds::{self, DAY};
use anyhow::{Result, anyhow, bail};
use interval::Interval;
use sampler::Sampler;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::View;

/// Watch a job while it runs: who computes, who waits, where the time goes
///
/// Ranks are not stopped or slowed. Keys: s sort, r reverse, / filter, space freeze, enter one rank, ? help,
/// q quit. Without a terminal it prints text: one interval, or with --for all of them. Exit status: 0 all is
/// well, 1 a rank is gone, the job hangs, or part of it could not be read, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, or the process id of a rank or of its launcher; not needed if there is only one job
    #[arg(value_name = "JOB|PID")]
    target: Option<OsString>,
    /// Seconds between two samples
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = seconds::between(0.05, DAY))]
    interval: f64,
    /// Exit after this many seconds
    #[arg(long = "for", value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds::between(0.05, DAY))]
    limit: Option<f64>,
    /// Print one interval as text and exit
    #[arg(long)]
    once: bool,
    /// Print one JSON line per interval (schema mpiscope.top/1)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host_scope: HostScope,
}

pub fn top(options: &Options) -> Result<ExitCode> {
    let pause = Duration::from_secs_f64(options.interval);
    let plain = options.once || !std::io::stdout().is_terminal();
    let single = options.once || plain && !options.json && options.limit.is_none();
    let mut sampler = Sampler::begin(options.target.as_deref(), options.host_scope, pause, single)?;
    let until = options.limit.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut view = View::new(sampler.job().to_owned());
    match (options.json, plain) {
        (true, _) => stream(&mut sampler, &mut view, options.once, until)?,
        (false, true) => text(&mut sampler, &mut view, until.filter(|_| !options.once))?,
        (false, false) => terminal::run(&sampler, &mut view, until)?,
    }
    let failure = sampler.failure();
    if view.latest.is_none() {
        failure.iter().try_for_each(|why| Err(anyhow!("{why}")))?;
        bail!("{}: the job ended before it could be sampled twice", view.job);
    }
    match &failure {
        Some(why) => complain("top", why),
        None if !options.json && sampler.over() => complain("top", &format!("job {} has ended", view.job)),
        None => {}
    }
    Ok(exit::answer(view.problem(), view.partial() || failure.is_some()))
}

/// Prints one interval, or all until `until`.
fn text(sampler: &mut Sampler, view: &mut View, until: Option<Instant>) -> Result<()> {
    while let Some(interval) = sampler.next(until) {
        let is_first = view.latest.is_none();
        view.take(interval);
        let mut screen = Screen::stdout();
        if !is_first {
            screen.line("")?;
        }
        screen.page(&text::page(view))?;
        screen.finish_part()?;
        if until.is_none() {
            break;
        }
    }
    Ok(())
}

fn stream(sampler: &mut Sampler, view: &mut View, once: bool, until: Option<Instant>) -> Result<()> {
    while let Some(interval) = sampler.next(until) {
        let mut screen = Screen::stdout();
        screen.json(&*interval)?;
        screen.finish_part()?;
        view.take(interval);
        if once {
            break;
        }
    }
    Ok(())
}

/// The latest interval, if any.
type Latest = Option<Box<Interval>>;
