//! Files by name.

use super::more;
use crate::render::{Block, Table, bytes, duration};
use mpiscope_job::performance::report::JobReport;

/// Number of files shown.
const MOST: usize = 12;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let files = &report.sections.files;
    if files.is_empty() {
        return Vec::new();
    }
    let head = ["  FILE", "RANKS", "READS", "BYTES IN", "WRITES", "BYTES OUT", "TIME", "MOST", "@RANK"];
    let mut table = Table::new(&head).numbers(&[2, 3, 4, 5, 6, 7]);
    for file in files.iter().take(MOST) {
        table.push(vec![
            format!("  {}", file.path),
            file.ranks.to_string(),
            file.reads.to_string(),
            bytes(file.read_bytes),
            file.writes.to_string(),
            bytes(file.written_bytes),
            duration(file.seconds),
            duration(file.slowest_s),
            if file.slowest.is_empty() { "-".to_owned() } else { format!("@{}", file.slowest) },
        ]);
    }
    let mut blocks = vec![table.named("files by name").into()];
    blocks.extend(more(MOST, files.len(), ["file", "files"]));
    blocks
}
