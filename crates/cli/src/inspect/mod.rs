//! `mpiscope inspect`: shows the objects behind handles.
//!
//! ```text
//! target ──► Look (one process: image, objects) ─┬─► counts: number of each kind, leaks  (no handle, no kind)
//!            Look ───────────────────────────────┼─► list: a line for each object        (--kind)
//!            Look ───────────────────────────────┴─► describe: everything about one      (--handle)
//!                              shared: merges objects that several ranks share
//! ```

mod collect;
mod counts;
pub mod describe;
pub mod json;
mod list;
mod merge;
mod one;
mod shared;

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{Block, Screen, complain, unless_gone, while_working};
use anyhow::{Result, bail};
use collect::Wanted;
use mpiscope_job::RankSet;
use mpiscope_job::model::objects::Kind;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// Show MPI objects: communicators, datatypes, requests, windows, files, ... and what was not freed
///
/// Without options: the number of each kind. --kind lists the objects of a kind; --handle shows everything
/// known about one object. Works on running jobs without stopping them, on saved images and on core files.
/// Exit status: 0 all is well, 1 a problem was found (--leaks: something was not freed) or part of the job
/// could not be read, 2 nothing could be read, or there is no such object.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of its launcher or of a rank (which is shown alone), an evidence file, the
    /// directory of `run --out`, saved images or core files; needed only if there are several jobs
    #[arg(value_name = "JOB|PID|FILE|DIR")]
    target: Vec<OsString>,
    #[arg(long, value_parser = kind, help = format!("Only this kind: {}", kinds()))]
    kind: Option<Kind>,
    /// One object: its handle as a number (decimal or 0x...), its identity (id:...), or its name
    #[arg(long, allow_hyphen_values = true)]
    handle: Option<String>,
    /// The handle is a Fortran INTEGER
    #[arg(long, requires = "handle", requires = "kind")]
    fortran: bool,
    /// Only these ranks of the world, for example 0,4-7 or 0-60:4
    #[arg(long, value_name = "SET")]
    rank: Option<RankSet>,
    /// Include freed objects, as far as they are still known
    #[arg(long)]
    freed: bool,
    /// Show what was not freed, by the place that created it
    #[arg(long, conflicts_with_all = ["handle", "freed"])]
    leaks: bool,
    #[command(flatten)]
    host_scope: HostScope,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// With --json: include complete type maps and constructors of all listed datatypes, however long they
    /// are
    #[arg(long, requires = "json")]
    whole: bool,
    /// Print the JSON Schema of that output, and nothing else
    #[arg(long)]
    schema: bool,
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::parse(text).ok_or_else(|| format!("no such kind; kinds are {}", kinds()))
}

fn kinds() -> String {
    Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}

/// The schema `mpiscope.inspect/3`; a test checks it against the code.
const SCHEMA: &str = include_str!("../../../../share/mpiscope.inspect.3.schema.json");

pub fn inspect(options: &Options) -> Result<ExitCode> {
    if options.schema {
        io::stdout().lock().write_all(SCHEMA.as_bytes())?;
        return Ok(ExitCode::from(exit::FINE));
    }
    let wanted = Wanted {
        host_scope: options.host_scope,
        ranks: options.rank.clone(),
        kind: options.kind,
        handle: options.handle.clone(),
        fortran: options.fortran,
        freed: options.freed || options.handle.is_some(),
        leaks: options.leaks,
        whole: options.whole,
    };
    let mut found = while_working("reading the ranks", || collect::look(&options.target, &wanted))?;
    if found.looks.is_empty() {
        bail!("{}", nothing(&found, options));
    }
    if options.json {
        unless_gone(json::write(&mut found, &wanted, &mut io::stdout().lock()))?;
    } else {
        let mut screen = Screen::paged();
        screen.page(&page(&mut found, &wanted))?;
        screen.finish()?;
    }
    found.problems.iter().for_each(|problem| complain("inspect", problem));
    let missing = options.handle.is_some() && found.looks.iter().all(|look| look.objects.is_empty());
    let leaks = options.leaks && found.looks.iter().any(|look| !look.leaks(options.kind).is_empty());
    let blind = found.looks.iter().all(|look| look.blind.is_some());
    Ok(match missing || blind {
        true => ExitCode::from(exit::COULD_NOT_READ),
        false => exit::answer(leaks, !found.problems.is_empty()),
    })
}

/// Explains why there is no process to examine.
fn nothing(found: &collect::Inspection, options: &Options) -> String {
    if !found.problems.is_empty() {
        return found.problems.join("; ");
    }
    match &options.rank {
        Some(ranks) => format!("there is no rank {ranks}; existing ranks: {}", found.others),
        None if found.silent > 0 => "no process of the job has called MPI yet; try again".into(),
        None => "there is no process to inspect".into(),
    }
}

fn page(found: &mut collect::Inspection, wanted: &Wanted) -> Vec<Block> {
    let lines = |lines: Vec<String>| lines.into_iter().map(Block::Line).collect();
    if wanted.leaks {
        return lines(counts::leaks(found, wanted.kind));
    }
    match (&wanted.handle, wanted.kind) {
        (Some(_), _) => lines(one::lines(found)),
        (None, Some(kind)) => list::page(found, kind, wanted.freed),
        (None, None) => counts::page(found, wanted.freed),
    }
}
