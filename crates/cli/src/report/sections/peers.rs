//! How much each rank sent to each other rank.

use super::more;
use crate::render::{Block, Table, bytes, count};
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::{Exchange, Pair};
use std::collections::BTreeMap;

/// Number of communicators shown.
const MOST_COMMS: usize = 4;
/// Maximum number of ranks in a matrix.
pub const MOST_IN_MATRIX: usize = 9;
/// Number of pairs shown if there is no matrix.
const MOST_PAIRS: usize = 12;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let all = &report.sections.peers;
    let mut blocks = Vec::new();
    for exchange in all.iter().take(MOST_COMMS) {
        blocks.push(Block::Line(title(exchange)));
        let names = names(exchange);
        if names.len() <= MOST_IN_MATRIX {
            blocks.push(matrix(exchange, &names).into());
        } else {
            blocks.push(pairs(exchange).into());
            blocks.extend(more(MOST_PAIRS, exchange.pairs.len() + exchange.more_pairs, "pairs"));
        }
    }
    blocks.extend(more(MOST_COMMS, all.len(), "communicators"));
    blocks
}

/// Returns the heading of an exchange.
pub fn title(exchange: &Exchange) -> String {
    let what = if exchange.messages == 1 { "message" } else { "messages" };
    format!(
        "  on {} ({}): {} {what}, {}",
        exchange.communicator,
        count(exchange.size as usize, "rank"),
        exchange.messages,
        bytes(exchange.bytes)
    )
}

/// Returns the participants, in the order of ranks.
pub fn names(exchange: &Exchange) -> Vec<String> {
    let mut names: Vec<&String> = exchange.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]).collect();
    let key =
        |name: &&String| name.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect::<Vec<u64>>();
    names.sort_by_key(|name| (key(name).len(), key(name)));
    names.dedup();
    names.into_iter().cloned().collect()
}

/// Makes a table of the bytes sent from each row's rank to each column's rank; empty messages are
/// counted.
fn matrix(exchange: &Exchange, names: &[String]) -> Table {
    let cells: BTreeMap<(&str, &str), &Pair> =
        exchange.pairs.iter().map(|pair| ((pair.from.as_str(), pair.to.as_str()), pair)).collect();
    let mut head = vec!["  FROM \\ TO".to_owned()];
    head.extend(names.iter().cloned());
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head).numbers(&(1..head.len()).collect::<Vec<_>>());
    for from in names {
        let cell = |to: &String| {
            cells.get(&(from.as_str(), to.as_str())).map_or_else(|| "-".to_owned(), |p| cell_of(p))
        };
        table.push(std::iter::once(format!("  {from}")).chain(names.iter().map(cell)).collect());
    }
    table
}

/// Formats a cell: the bytes, or the number of messages if all are empty.
fn cell_of(pair: &Pair) -> String {
    let (messages, moved) = volume(pair);
    if moved == 0 { format!("{messages} x 0 B") } else { bytes(moved) }
}

/// Returns the messages and bytes of a pair, as seen by the sender, or else by the receiver.
pub fn volume(pair: &Pair) -> (u64, u64) {
    if pair.messages > 0 { (pair.messages, pair.bytes) } else { (pair.received, pair.received_bytes) }
}

fn pairs(exchange: &Exchange) -> Table {
    let mut table = Table::new(&["  FROM", "TO", "MESSAGES", "BYTES", "MEAN"]).numbers(&[2, 3, 4]);
    for pair in exchange.pairs.iter().take(MOST_PAIRS) {
        let (messages, moved) = volume(pair);
        table.push(vec![
            format!("  {}", pair.from),
            pair.to.clone(),
            messages.to_string(),
            bytes(moved),
            bytes(moved.checked_div(messages).unwrap_or(0)),
        ]);
    }
    table
}
