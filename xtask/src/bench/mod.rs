//! `cargo xtask bench`: measures the overhead of the layer.
//!
//! A *group* is a file here with a list of [`Case`]s. A case is one program on one library. It runs under
//! each of its settings in turn, round after round, so that changes in the machine's speed affect all
//! settings alike. Each run yields one value, its best; the table has the minimum and the median over the
//! rounds.

mod calls;
mod discover;
mod events;
mod hosts;
mod instructions;
mod layer;
mod objects;
mod tool;
mod tools;
mod waits;
mod why;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::run as bounded;

use crate::build;
use crate::mpi as libraries;

const LIMIT: Duration = Duration::from_secs(120);
const LIBRARIES: [&str; 2] = ["mpich-5.0", "openmpi-5.0"];
const GROUPS: [(&str, Group); 4] =
    [("layer", layer::cases), ("objects", objects::cases), ("tool", tool::cases), ("events", events::cases)];

/// Benchmark groups that need no MPI library. They take the number of rounds.
const ALONE: [(&str, Alone); 1] = [(discover::GROUP, discover::run)];

/// Measures and prints.
type Alone = fn(usize) -> Result<()>;

/// Creates the cases of a group for one library, compiling programs into the directory.
type Group = fn(&Library, &Path) -> Result<Vec<Case>>;

/// The measurements to make.
#[derive(clap::Args)]
pub struct Args {
    /// Groups to run: calls, layer, objects, tool, events, instructions, waits, discover (default: all of
    /// these), or tools, why and hosts, which run only if named
    groups: Vec<String>,
    /// Another libmpiscope.so to compare with: its instructions per call are printed next to those of this
    /// one
    #[arg(long)]
    against: Option<PathBuf>,
    /// MPI library to measure on; can be repeated
    #[arg(long = "library", value_name = "NAME", default_values = LIBRARIES)]
    libraries: Vec<String>,
    /// Number of runs of each setting
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

impl Args {
    /// Whether this is one of the libraries to measure on.
    fn chose(&self, library: &Library) -> bool {
        self.libraries.contains(&library.name)
    }

    fn wants(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|wanted| wanted == group)
    }
}

/// A setting of the layer.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The heading of the column.
    pub name: &'static str,
    /// The value of `MPISCOPE_RECORD`, if any, with the layer preloaded; the outer `None` means without the
    /// layer.
    pub record: Option<Option<&'static str>>,
}

/// One program on one library.
pub struct Case {
    /// The measured quantity and its unit.
    pub title: String,
    /// The compiled program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<&'static str>,
    /// Number of ranks; a single rank is started without a launcher.
    pub ranks: usize,
    /// The settings; the first is the base of the comparison.
    pub settings: Vec<Setting>,
}

pub fn run(args: &Args) -> Result<()> {
    check_names(&args.groups)?;
    match &*args.groups {
        [one] if one == why::GROUP => return why::run(),
        [one] if one == hosts::GROUP => return hosts::run(),
        [one] if one == tools::GROUP => return tools::run(args.rounds),
        _ => {}
    }
    build::release()?;
    for (_, group) in ALONE.iter().filter(|(name, _)| args.wants(name)) {
        group(args.rounds)?;
    }
    if !of_libraries().any(|name| args.wants(name)) {
        return Ok(());
    }
    libraries::fetch_all(&args.libraries);
    let (found, skipped) = mpi::survey();
    if !found.iter().any(|library| args.chose(library)) {
        libraries::print_skipped(&skipped);
        bail!("none of {} is installed", args.libraries.join(", "));
    }
    if args.wants("events") {
        events::engine()?;
    }
    let dir = tempfile::tempdir()?;
    found.iter().try_for_each(|library| measure_library(library, &dir.path().join(&library.name), args))
}

/// Returns the groups that are measured on each library.
fn of_libraries() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.0).chain([instructions::GROUP, calls::GROUP, waits::GROUP])
}

fn check_names(groups: &[String]) -> Result<()> {
    let alone = ALONE.iter().map(|group| group.0).chain([why::GROUP, hosts::GROUP, tools::GROUP]);
    let known: Vec<&str> = of_libraries().chain(alone).collect();
    let unknown = groups.iter().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| bail!("no group is called {name}; known are {}", known.join(", ")))
}

/// Measures the requested groups on one library; `home` is a folder for its programs.
fn measure_library(library: &Library, home: &Path, args: &Args) -> Result<()> {
    // The cost of single calls differs most between libraries, so it is measured on all of them.
    let (calls, others) = (args.wants(calls::GROUP), args.chose(library));
    if !calls && !others {
        return Ok(());
    }
    println!("\n{}: {}", library.name, library.version);
    std::fs::create_dir_all(home)?;
    if calls {
        calls::run(library, home, args.rounds)?;
    }
    if !others {
        return Ok(());
    }
    for (_, group) in GROUPS.iter().filter(|(name, _)| args.wants(name)) {
        for case in group(library, home)? {
            show(&case, &measure(library, &case, args.rounds)?);
        }
    }
    if args.wants(waits::GROUP) {
        waits::run(library, home)?;
    }
    if args.wants(instructions::GROUP) {
        instructions::run(library, home, args.against.as_deref())?;
    }
    Ok(())
}

/// Returns one value per round for each setting.
fn measure(library: &Library, case: &Case, rounds: usize) -> Result<Vec<Vec<f64>>> {
    let mut values = vec![Vec::new(); case.settings.len()];
    for _ in 0..rounds.max(1) {
        for (setting, values) in case.settings.iter().zip(&mut values) {
            values.push(once(library, case, setting)?);
        }
    }
    Ok(values)
}

fn once(library: &Library, case: &Case, setting: &Setting) -> Result<f64> {
    let mut command = if case.ranks == 1 {
        let mut command = Command::new(&case.program);
        library.set_environment(&mut command);
        command
    } else {
        let mut command = library.launch(case.ranks);
        command.arg(&case.program);
        command
    };
    command.args(&case.arguments).env_remove("MPISCOPE_RECORD").env_remove("LD_PRELOAD");
    command.env("BENCH_INSPECT", build::released("mpiscope"));
    if let Some(record) = setting.record {
        command.env("LD_PRELOAD", build::released("libmpiscope.so"));
        if let Some(record) = record {
            command.env("MPISCOPE_RECORD", record);
        }
    }
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    let value = outcome.stdout.lines().find_map(|line| line.strip_prefix("value ")?.trim().parse().ok());
    match value {
        Some(value) if outcome.success() => Ok(value),
        _ => bail!("{} with {}: {}", case.title, setting.name, outcome.describe()),
    }
}

fn show(case: &Case, values: &[Vec<f64>]) {
    println!("\n  {}", case.title);
    println!("  {:<12} {:>10} {:>10} {:>10} {:>10}", "", "min", "median", "more", "ratio");
    let base = values.first().map_or((0.0, 0.0), |values| summary(values));
    for (setting, values) in case.settings.iter().zip(values) {
        println!("  {:<12} {}", setting.name, row(summary(values), base));
    }
}

/// A row of the table. A library that lacks the variable yields no number, and nothing is compared.
fn row((min, median): (f64, f64), base: (f64, f64)) -> String {
    if min.is_nan() {
        return "not available".to_owned();
    }
    let figures = format!("{min:>10.2} {median:>10.2}");
    if base.0 > 0.0 { format!("{figures} {:>+10.2} {:>10.3}", min - base.0, min / base.0) } else { figures }
}

/// The minimum and the median.
fn summary(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    (at(0), at(sorted.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::{row, summary};

    #[test]
    fn the_summary_is_minimum_and_median() {
        assert_eq!(summary(&[3.0, 1.0, 2.0]), (1.0, 2.0));
        assert!(summary(&[]).0.is_nan());
    }
    #[test]
    fn a_library_without_the_feature_is_not_compared() {
        let none = (f64::NAN, f64::NAN);
        assert_eq!(row(none, none), "not available");
        assert_eq!(row((5.0, 6.0), none).split_whitespace().count(), 2);
        assert!(row((6.0, 6.5), (4.0, 5.0)).ends_with("+2.00      1.500"));
    }
}
