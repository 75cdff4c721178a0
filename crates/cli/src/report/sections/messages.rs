//! Sizes of messages between ranks, and the number in flight.

use crate::render::{Block, Table, bytes};
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::{Most, SizeClass};

/// Columns of the longest bar.
const BAR: u64 = 24;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let all = &report.sections.messages;
    if all.sizes.is_empty() && all.received == 0 && all.pending == 0 && all.posted == 0 {
        return Vec::new();
    }
    let unsized_ones = match all.received_unsized {
        0 => String::new(),
        some => format!(", {some} of them with a size that the library did not report"),
    };
    let counts = format!("  {} sent, {} received{unsized_ones}", all.sent, all.received);
    let mut blocks = if all.sizes.is_empty() {
        vec![Block::Line(counts)]
    } else {
        vec![Block::Caption(counts), sizes(&all.sizes).into()]
    };
    blocks.push(Block::Line(format!(
        "  at the time of the report: {} operations pending, {} receives posted, {} messages probed and not received",
        all.pending, all.posted, all.matched
    )));
    let most =
        [("operations pending at once", &all.most_pending), ("receives posted at once", &all.most_posted)];
    blocks.extend(most.into_iter().filter_map(|(what, most)| at_most(what, most)));
    blocks
}

fn at_most(what: &str, most: &Most) -> Option<Block> {
    (most.value > 0).then(|| Block::Line(format!("  most {what}: {} ({})", most.value, most.ranks.named())))
}

fn sizes(classes: &[SizeClass]) -> Table {
    let most = classes.iter().map(|class| class.sent.max(class.received)).max().unwrap_or(0).max(1);
    let mut table = Table::new(&["  SIZE", "SENT", "RECEIVED", ""]).numbers(&[1, 2]);
    for class in classes {
        let share = u128::from(class.sent.max(class.received)) * u128::from(BAR) / u128::from(most);
        let bar = "#".repeat((share as usize).max(1));
        table.push(vec![
            format!("  {}", size(class)),
            class.sent.to_string(),
            class.received.to_string(),
            bar,
        ]);
    }
    table
}

/// Formats a size class: `0 B`, `1.02 kB..2.05 kB`.
pub fn size(class: &SizeClass) -> String {
    if class.from == class.to {
        bytes(class.from)
    } else {
        format!("{}..{}", bytes(class.from), bytes(class.to))
    }
}
