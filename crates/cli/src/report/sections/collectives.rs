//! Collectives by communicator, and what was given to the last ones.

use super::more;
use crate::render::{Block, Table, bytes, count};
use mpiscope_job::report::JobReport;
use mpiscope_job::report::sections::Collectives;

/// Communicators that are shown.
const MOST_COMMS: usize = 6;
/// Kinds of collectives that are shown of each.
const MOST_KINDS: usize = 6;

/// The section.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let all = &report.sections.collectives;
    let mut blocks = Vec::new();
    for comm in all.iter().take(MOST_COMMS) {
        blocks.push(Block::Line(title(comm)));
        if !comm.last.is_empty() {
            blocks.push(last(comm).into());
            blocks.extend(more(MOST_KINDS, comm.last.len(), "kinds among the last 32 of each rank"));
        }
    }
    blocks.extend(more(MOST_COMMS, all.len(), "communicators"));
    blocks
}

fn title(comm: &Collectives) -> String {
    let size = count(comm.size as usize, "rank");
    let entered = format!("  on {} ({size}): {} entered", comm.communicator, comm.entered);
    if comm.behind.is_empty() {
        entered
    } else {
        format!("{entered}; {} only {}", comm.behind.named(), comm.least)
    }
}

fn last(comm: &Collectives) -> Table {
    let head = ["  OF THE LAST", "COUNT", "DATA", "BYTES", "RANKS", "WHERE"];
    let mut table = Table::new(&head).numbers(&[1, 3]);
    let dash = || "-".to_owned();
    for made in comm.last.iter().take(MOST_KINDS) {
        table.push(vec![
            format!("  {}", made.function),
            made.count.to_string(),
            made.data.clone().unwrap_or_else(dash),
            made.bytes.map_or_else(dash, bytes),
            made.ranks.to_string(),
            made.place.clone().unwrap_or_else(dash),
        ]);
    }
    table
}
