//! The run divided into windows of time.

use crate::render::{Block, Table, duration};
use mpiscope_job::performance::monitor::windows::{Window, Windows};
use mpiscope_job::performance::report::JobReport;

/// Changes during the run, and a table. Empty if the job was not followed.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let Some(windows) = report.windows.as_ref().filter(|windows| !windows.list.is_empty()) else {
        return Vec::new();
    };
    let mut blocks: Vec<Block> = windows.said.iter().map(|said| Block::Line(format!("  {said}"))).collect();
    // Reports of older versions have no rows.
    if !windows.rows.is_empty() {
        blocks.push(Block::Caption(format!("  by time, in windows of {}", duration(windows.row_s()))));
        blocks.push(table(windows).into());
    }
    blocks
}

fn table(windows: &Windows) -> Table {
    // Short names, so that all columns fit into 80 characters.
    let head = [
        "  FROM",
        "PARALLEL",
        "LOAD BALANCE",
        "COMM",
        "SERIAL",
        "TRANSFER",
        "% MPI",
        "LONGEST",
        "x MEAN",
        "ITER",
    ];
    // Without iterations the last column is omitted.
    let columns = head.len() - usize::from(windows.iterations.is_none());
    let mut table = Table::new(head.get(..columns).unwrap_or(&head)).numbers(&[0, 1, 2, 3, 4, 5, 6, 8, 9]);
    for row in &windows.rows {
        let slowest = row.slowest.and_then(|at| windows.ranks.get(at));
        table.push(vec![
            format!("  {}", duration(row.from_s)),
            percent(row.parallel_efficiency),
            percent(row.load_balance),
            percent(row.communication_efficiency),
            percent(row.serialisation_efficiency),
            percent(row.transfer_efficiency),
            percent(share(row)),
            slowest.map_or_else(|| "-".to_owned(), |rank| format!("rank {rank}")),
            row.over_mean.map_or_else(|| "-".to_owned(), |over| format!("{over:.2}")),
            windows.iteration_of(row).map_or_else(|| "-".to_owned(), |number| number.to_string()),
        ]);
    }
    table
}

/// Returns the share of the ranks' time spent in MPI.
pub fn share(window: &Window) -> Option<f64> {
    let here: Vec<f64> = window.mpi.iter().flatten().map(|share| f64::from(*share)).collect();
    (!here.is_empty()).then(|| here.iter().sum::<f64>() / here.len() as f64)
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "-".to_owned(), |part| format!("{:.1}", 100.0 * part))
}
