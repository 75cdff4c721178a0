//! `mpiscope inspect`: what is behind handles.
//!
//! ```text
//! target ──► Look (one process: image, objects) ─┬─► table: counts, leaks         (no handle, no kind)
//!            Look ───────────────────────────────┼─► list: a line for each object (--kind)
//!            Look ───────────────────────────────┴─► show: everything about one   (--handle)
//!                             objects that several ranks share are joined: same
//! ```

mod around;
mod handle;
mod json;
mod list;
mod look;
mod same;
mod show;
mod table;

use crate::exit;
use anyhow::{Result, bail};
use look::{Look, Wanted};
use mpiscope_job::objects::Kind;
use mpiscope_job::{Members, RankSet};
use std::io::{self, Write};
use std::process::ExitCode;

/// Show MPI objects: communicators, datatypes, requests, windows, files, ... and what was not freed
///
/// Without options: how many of each kind. --kind lists them, --handle shows one with everything that is known of
/// it. Works on running jobs without stopping them, on saved images and on core files. Exit status: 0 all is well,
/// 1 a problem was found (--leaks: something is not freed), 2 could not look, or there is no such object.
#[derive(clap::Args)]
pub struct Options {
    /// A job, a process id of one of its ranks, saved images or core files; not needed if there is only one job
    #[arg(value_name = "JOB|PID|FILE")]
    target: Vec<String>,
    /// Only this kind: comm, group, datatype, request, message, op, errhandler, info, file, win, session, keyval
    #[arg(long, value_parser = kind)]
    kind: Option<Kind>,
    /// One object: its handle as a number (decimal or 0x...), its identity (id:...), or its name
    #[arg(long, allow_hyphen_values = true)]
    handle: Option<String>,
    /// The handle is an INTEGER of Fortran
    #[arg(long, requires = "handle", requires = "kind")]
    fortran: bool,
    /// Only these ranks of the world: 0,4-7
    #[arg(long, value_name = "SET", value_parser = ranks)]
    rank: Option<RankSet>,
    /// Freed objects too, as far as they are still known
    #[arg(long)]
    freed: bool,
    /// What is not freed, by the place that made it
    #[arg(long, conflicts_with_all = ["handle", "freed"])]
    leaks: bool,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
    /// JSON: type maps and constructors of all datatypes of a list in full, however long they are
    #[arg(long, requires = "json")]
    whole: bool,
    /// The form of that JSON, as JSON Schema, and nothing else
    #[arg(long)]
    schema: bool,
}

fn kind(text: &str) -> Result<Kind, String> {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Kind::parse(text).ok_or_else(|| format!("no such kind; kinds are {}", names.join(", ")))
}

fn ranks(text: &str) -> Result<RankSet, String> {
    let wrong = || "a set of ranks looks like 3 or 0,4-7".to_owned();
    let mut set = RankSet::default();
    for part in text.trim_matches(['[', ']']).split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>(), last.trim().parse::<u32>());
        let (Ok(first), Ok(last)) = (first, last) else { return Err(wrong()) };
        if last < first || last - first > 1 << 24 {
            return Err(wrong());
        }
        set.0.extend(first..=last);
    }
    Ok(set)
}

/// Looks and shows.
pub fn inspect(options: &Options) -> Result<ExitCode> {
    if options.schema {
        writeln!(io::stdout().lock(), "{}", json::schema()?)?;
        return Ok(ExitCode::from(exit::FINE));
    }
    let wanted = Wanted {
        ranks: options.rank.clone(),
        kind: options.kind,
        handle: options.handle.clone(),
        fortran: options.fortran,
        freed: options.freed || options.handle.is_some(),
        leaks: options.leaks,
        whole: options.whole,
    };
    let mut found = look::look(&options.target, &wanted)?;
    if found.looks.is_empty() {
        bail!("{}", nothing(&found, options));
    }
    let mut out = io::stdout().lock();
    if options.json {
        json::write(&mut found, &wanted, &mut out)?;
    } else {
        for line in lines(&mut found, &wanted) {
            writeln!(out, "{}", clean(&line))?;
        }
    }
    for problem in &found.problems {
        eprintln!("mpiscope inspect: {problem}");
    }
    out.flush()?;
    let missing = options.handle.is_some() && found.looks.iter().all(|look| look.objects.is_empty());
    let leaks = options.leaks && found.looks.iter().any(|look| !look.leaks(options.kind).is_empty());
    let blind = found.looks.iter().all(|look| look.blind.is_some());
    Ok(ExitCode::from(match (missing || blind, leaks) {
        (true, _) => exit::COULD_NOT_LOOK,
        (_, true) => exit::PROBLEM,
        _ => exit::FINE,
    }))
}

/// Why there is nothing to look at.
fn nothing(found: &look::Found, options: &Options) -> String {
    if !found.problems.is_empty() {
        return found.problems.join("; ");
    }
    match &options.rank {
        Some(ranks) => format!("no rank of {ranks} is there; ranks that are: {}", found.others),
        None if found.silent > 0 => "no process of the job has called MPI yet; try again".into(),
        None => "there is no process to look at".into(),
    }
}

fn lines(found: &mut look::Found, wanted: &Wanted) -> Vec<String> {
    if wanted.leaks {
        return table::leaks(found, wanted.kind);
    }
    match (&wanted.handle, wanted.kind) {
        (Some(_), _) => show::lines(found),
        (None, Some(kind)) => list::lines(found, kind, wanted.freed),
        (None, None) => table::lines(found, wanted.freed),
    }
}

/// What programs put into names cannot control the terminal.
fn clean(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Processes of looks.
fn who<'a>(looks: impl Iterator<Item = &'a Look>) -> Members {
    looks.map(|look| (look.world, look.process.rank)).collect()
}

/// Processes as a column has them.
fn told(members: &Members) -> String {
    if members.is_empty() { "-".to_owned() } else { members.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_ranks_are_read_as_they_are_printed() {
        assert_eq!(ranks("3").unwrap().to_string(), "3");
        assert_eq!(ranks("[0,4-6]").unwrap().to_string(), "[0,4-6]");
        assert!(ranks("4-").is_err() && ranks("x").is_err() && ranks("6-4").is_err());
        assert!(ranks("0-4294967295").is_err(), "memory is not filled for a slip of the finger");
    }
}
