//! Overhead of the layer per call, in nanoseconds and in readings of the processor's clock, which account for
//! most of it: with default settings, with every message recorded, with a trace, and with nothing recorded.
//! The settings take turns, round after round.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run as bounded};

use super::{LIMIT, summary};
use crate::build;

/// Name of the group.
pub const GROUP: &str = "calls";
/// The settings that take turns. The first is without the layer and is the base of the comparison. The trace
/// is small enough to be overwritten repeatedly: until its memory has been written once, page faults add to
/// the cost of calls.
const SETTINGS: [Setting; 5] = [
    Setting { name: "bare", preloaded: false, variables: &[] },
    Setting { name: "layer", preloaded: true, variables: &[] },
    Setting {
        name: "--check",
        preloaded: true,
        variables: &[("MPISCOPE_RECORD", "default,messages,contents")],
    },
    Setting { name: "--trace", preloaded: true, variables: &[("MPISCOPE_TRACE", "4M")] },
    Setting { name: "off", preloaded: true, variables: &[("MPISCOPE_RECORD", "off")] },
];
/// The setting that is also expressed in clock readings.
const IN_READINGS: &str = "layer";
/// The program's name for a clock reading.
const READING: &str = "clock reading";

/// One configuration of the layer.
struct Setting {
    /// The heading of its columns.
    name: &'static str,
    preloaded: bool,
    variables: &'static [(&'static str, &'static str)],
}

/// The name of each case, and its cost in each round.
type Costs = Vec<(String, Vec<f64>)>;

/// Prints, for each call of the program, its cost without the layer and the layer's overhead.
///
/// # Errors
/// If the program cannot be compiled or does not run.
pub fn run(library: &Library, dir: &Path, rounds: usize) -> Result<()> {
    let program = dir.join("bench_costs");
    library.cc_with(&[&paths::programs().join("bench_costs.c")], &program, &["-O2"])?;
    let mut costs: [Costs; SETTINGS.len()] = Default::default();
    for _ in 0..rounds.max(1) {
        for (setting, costs) in SETTINGS.iter().zip(&mut costs) {
            add(costs, once(library, &program, setting)?)?;
        }
    }
    let [bare, layers @ ..] = &costs;
    let reading = cost(bare, READING)?;
    println!("\n  ns per call, median of {rounds} runs of 2 ranks; a clock reading takes {reading:.1} ns");
    println!("  {:<34}{}", "", head());
    for (title, _) in bare.iter().filter(|(title, _)| title != READING) {
        let layers: Vec<f64> = layers.iter().map(|costs| cost(costs, title)).collect::<Result<_>>()?;
        println!("  {title:<34}{}", row(cost(bare, title)?, &layers, reading));
    }
    Ok(())
}

/// The column headings.
fn head() -> String {
    let [bare, layers @ ..] = &SETTINGS;
    let mut head = format!("{:>9}", bare.name);
    for setting in layers {
        head += &format!("{:>9}{:>9}", setting.name, "more");
        if setting.name == IN_READINGS {
            head += &format!("{:>9}", "readings");
        }
        head += &format!("{:>9}", "%");
    }
    head
}

fn row(bare: f64, layers: &[f64], reading: f64) -> String {
    let mut row = format!("{bare:>9.1}");
    for (setting, with) in SETTINGS.iter().skip(1).zip(layers) {
        let more = with - bare;
        row += &format!("{with:>9.1}{more:>+9.1}");
        if setting.name == IN_READINGS {
            row += &format!("{:>9.1}", more / reading);
        }
        row += &format!("{:>+9.1}", 100.0 * more / bare);
    }
    row
}

fn cost(costs: &Costs, title: &str) -> Result<f64> {
    let of = costs.iter().find(|(known, _)| known == title).with_context(|| format!("{title}: no cost"))?;
    Ok(summary(&of.1).1)
}

fn add(costs: &mut Costs, more: Vec<(String, f64)>) -> Result<()> {
    ensure!(!more.is_empty(), "the program printed no costs");
    for (title, cost) in more {
        match costs.iter_mut().find(|(known, _)| *known == title) {
            Some((_, of)) => of.push(cost),
            None => costs.push((title, vec![cost])),
        }
    }
    Ok(())
}

fn once(library: &Library, program: &Path, setting: &Setting) -> Result<Vec<(String, f64)>> {
    let mut command = library.launch(2);
    command.arg(program);
    for variable in ["MPISCOPE_RECORD", "MPISCOPE_TRACE", "LD_PRELOAD"] {
        command.env_remove(variable);
    }
    if setting.preloaded {
        command.env("LD_PRELOAD", build::released("libmpiscope.so"));
    }
    command.envs(setting.variables.iter().copied());
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(outcome.stdout.lines().filter_map(printed).collect())
}

fn printed(line: &str) -> Option<(String, f64)> {
    let (cost, title) = line.strip_prefix("cost ")?.split_once(' ')?;
    Some((title.to_owned(), cost.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{head, printed, row};

    #[test]
    fn a_line_of_the_program_is_read_and_others_are_not() {
        assert_eq!(printed("cost 4.5 MPI_Send, MPI_Recv"), Some(("MPI_Send, MPI_Recv".to_owned(), 4.5)));
        assert_eq!((printed("costs"), printed("cost much MPI_Send")), (None, None));
    }

    #[test]
    fn the_added_cost_is_shown_in_nanoseconds_in_clock_readings_and_in_percent() {
        let row = row(100.0, &[120.0, 150.0, 160.0, 101.0], 10.0);
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[..8], ["100.0", "120.0", "+20.0", "2.0", "+20.0", "150.0", "+50.0", "+50.0"]);
        assert_eq!(cells[8..], ["160.0", "+60.0", "+60.0", "101.0", "+1.0", "+1.0"]);
        assert_eq!(head().len(), row.len(), "headings and figures are aligned");
    }
}
