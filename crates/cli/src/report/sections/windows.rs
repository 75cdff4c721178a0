//! The run in windows of time.

use crate::render::{Block, Table, duration};
use mpiscope_job::monitor::windows::{Window, Windows};
use mpiscope_job::report::JobReport;

/// Rows of the table: of more windows, those that follow each other stand in one row.
const MOST: usize = 16;

/// What changes while the job runs, and a table. Nothing of a job that was not followed.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let Some(windows) = report.windows.as_ref().filter(|windows| !windows.list.is_empty()) else {
        return Vec::new();
    };
    let mut blocks: Vec<Block> = windows.said.iter().map(|said| Block::Line(format!("  {said}"))).collect();
    let each = windows.list.len().div_ceil(MOST);
    let length = duration(windows.seconds * each as f64);
    blocks.push(Block::Line(format!("  by time, in windows of {length}")));
    blocks.push(table(windows, each).into());
    blocks
}

fn table(windows: &Windows, each: usize) -> Table {
    // Short, so that all of them have room in 80 columns.
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
    // Where nothing repeats, there is no such column.
    let columns = head.len() - usize::from(windows.iterations.is_none());
    let mut table = Table::new(head.get(..columns).unwrap_or(&head)).numbers(&[0, 1, 2, 3, 4, 5, 6, 8, 9]);
    for row in windows.list.chunks(each) {
        let (Some(first), Some(worst)) = (row.first(), worst(row)) else { continue };
        let slowest = worst.slowest.and_then(|at| windows.ranks.get(at));
        table.push(vec![
            format!("  {}", duration(first.from_s)),
            percent(mean(row, |window| window.parallel_efficiency)),
            percent(mean(row, |window| window.load_balance)),
            percent(mean(row, |window| window.communication_efficiency)),
            percent(mean(row, |window| window.serialisation_efficiency)),
            percent(mean(row, |window| window.transfer_efficiency)),
            percent(mean(row, share)),
            slowest.map_or_else(|| "-".to_owned(), |rank| format!("rank {rank}")),
            worst.over_mean.map_or_else(|| "-".to_owned(), |over| format!("{over:.2}")),
            first.iterations_over.map_or_else(|| "-".to_owned(), |over| format!("{:.0}", over.floor() + 1.0)),
        ]);
    }
    table
}

/// The window of several in which the ranks were least balanced.
fn worst(row: &[Window]) -> Option<&Window> {
    let balance = |window: &&Window| window.load_balance.unwrap_or(f64::INFINITY);
    row.iter().min_by(|a, b| balance(a).total_cmp(&balance(b)))
}

/// The part of the ranks' time that was in MPI.
pub fn share(window: &Window) -> Option<f64> {
    let here: Vec<f64> = window.mpi.iter().flatten().map(|share| f64::from(*share)).collect();
    (!here.is_empty()).then(|| here.iter().sum::<f64>() / here.len() as f64)
}

fn mean(row: &[Window], of: impl Fn(&Window) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = row.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "-".to_owned(), |part| format!("{:.1}", 100.0 * part))
}
