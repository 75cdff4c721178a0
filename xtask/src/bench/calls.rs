//! What the layer adds to single calls, in nanoseconds and in readings of the processor's clock, which are most of it: bare, as it
//! is by default, and with every message written down. The three take turns, round after round.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run as bounded};

use super::{LIMIT, summary};
use crate::build;

/// Names the group.
pub const GROUP: &str = "calls";
/// What is run in turn: `MPISCOPE_RECORD` with the layer preloaded; none is without the layer.
const SETTINGS: [Option<&str>; 3] = [None, Some("default"), Some("default,messages")];
/// What the program calls a reading of the clock.
const READING: &str = "clock reading";

/// What each case is called, and what it costs in each round.
type Costs = Vec<(String, Vec<f64>)>;

/// Prints for each call of the program what it costs bare and what the layer adds.
///
/// # Errors
/// When the program cannot be compiled or does not run.
pub fn run(library: &Library, dir: &Path, rounds: usize) -> Result<()> {
    let program = dir.join("bench_costs");
    library.cc_with(&[&paths::programs().join("bench_costs.c")], &program, &["-O2"])?;
    let mut costs: [Costs; 3] = Default::default();
    for _ in 0..rounds.max(1) {
        for (setting, costs) in SETTINGS.iter().zip(&mut costs) {
            add(costs, once(library, &program, *setting)?)?;
        }
    }
    let [bare, layer, check] = &costs;
    let reading = cost(bare, READING)?;
    println!("\n  ns a call, median of {rounds} runs of 2 ranks; a clock reading takes {reading:.1} ns");
    let head = ["bare", "layer", "more", "readings", "%", "--check", "more", "%"];
    println!("  {:<34}{}", "", head.map(|title| format!("{title:>9}")).concat());
    for (title, _) in bare.iter().filter(|(title, _)| title != READING) {
        let [bare, layer, check] = [cost(bare, title)?, cost(layer, title)?, cost(check, title)?];
        println!("  {title:<34}{}", row(bare, layer, check, reading));
    }
    Ok(())
}

fn row(bare: f64, layer: f64, check: f64, reading: f64) -> String {
    let more = |with: f64| (with - bare, 100.0 * (with - bare) / bare);
    let ((by, percent), (by_check, percent_check)) = (more(layer), more(check));
    format!(
        "{bare:>9.1}{layer:>9.1}{by:>+9.1}{:>9.1}{percent:>+9.1}{check:>9.1}{by_check:>+9.1}{percent_check:>+9.1}",
        by / reading
    )
}

fn cost(costs: &Costs, title: &str) -> Result<f64> {
    let of = costs.iter().find(|(known, _)| known == title).with_context(|| format!("{title}: no cost"))?;
    Ok(summary(&of.1).1)
}

fn add(costs: &mut Costs, more: Vec<(String, f64)>) -> Result<()> {
    ensure!(!more.is_empty(), "the program told no costs");
    for (title, cost) in more {
        match costs.iter_mut().find(|(known, _)| *known == title) {
            Some((_, of)) => of.push(cost),
            None => costs.push((title, vec![cost])),
        }
    }
    Ok(())
}

fn once(library: &Library, program: &Path, record: Option<&str>) -> Result<Vec<(String, f64)>> {
    let mut command = library.launch(2);
    command.arg(program).env_remove("MPISCOPE_RECORD").env_remove("LD_PRELOAD");
    if let Some(record) = record {
        command.env("LD_PRELOAD", build::released("libmpiscope.so")).env("MPISCOPE_RECORD", record);
    }
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(outcome.stdout.lines().filter_map(told).collect())
}

fn told(line: &str) -> Option<(String, f64)> {
    let (cost, title) = line.strip_prefix("cost ")?.split_once(' ')?;
    Some((title.to_owned(), cost.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{row, told};

    #[test]
    fn a_line_of_the_program_is_read_and_others_are_not() {
        assert_eq!(told("cost 4.5 MPI_Send, MPI_Recv"), Some(("MPI_Send, MPI_Recv".to_owned(), 4.5)));
        assert_eq!((told("costs"), told("cost much MPI_Send")), (None, None));
    }

    #[test]
    fn what_is_added_stands_in_nanoseconds_in_readings_and_in_percent() {
        let row = row(100.0, 120.0, 150.0, 10.0);
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells, ["100.0", "120.0", "+20.0", "2.0", "+20.0", "150.0", "+50.0", "+50.0"]);
    }
}
