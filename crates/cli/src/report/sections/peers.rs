//! How much each rank sent to each other rank.

use super::{mark, messages_marked, more, waited, without_size};
use crate::render::{Block, Table, bytes, count};
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::{Exchange, Pair};
use mpiscope_job::performance::waits::Waits;
use std::collections::BTreeMap;

/// Number of communicators shown.
const MOST_COMMS: usize = 4;
/// Maximum number of ranks in a matrix.
pub const MOST_IN_MATRIX: usize = 9;
/// Number of pairs shown if there is no matrix.
const MOST_PAIRS: usize = 12;
/// Number of pairs shown that waited for each other.
const MOST_WAITING: usize = 6;
/// Shorter waits of a pair are not shown, in seconds.
const LEAST_WAIT: f64 = 0.001;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let all = &report.sections.peers;
    let mut blocks = Vec::new();
    for exchange in all.iter().take(MOST_COMMS) {
        blocks.push(Block::Caption(title(exchange)));
        let names = names(exchange);
        if names.len() <= MOST_IN_MATRIX {
            blocks.push(matrix(exchange, &names).into());
        } else {
            blocks.push(pairs(exchange).into());
            blocks.extend(more(MOST_PAIRS, exchange.pairs.len() + exchange.more_pairs, ["pair", "pairs"]));
        }
        let waiting = waiting(exchange);
        if !waiting.is_empty() {
            let name = format!("waits for messages on {}", without_size(&exchange.communicator));
            blocks.push(waits(&waiting, &report.waits).named(name).into());
            let shown = waiting.iter().take(MOST_WAITING);
            let shown = shown.flat_map(|pair| [pair.sender_wait_s, pair.receiver_wait_s]);
            blocks.extend(mark(shown, messages_marked(&report.waits)));
            blocks.extend(more(MOST_WAITING, waiting.len(), ["pair that waited", "pairs that waited"]));
        }
    }
    blocks.extend(more(MOST_COMMS, all.len(), ["communicator", "communicators"]));
    blocks
}

/// Returns the heading of an exchange.
pub fn title(exchange: &Exchange) -> String {
    let what = if exchange.messages == 1 { "message" } else { "messages" };
    format!(
        "  on {} ({}): {} {what}, {}",
        without_size(&exchange.communicator),
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

/// Returns the pairs whose ends waited for each other, in descending order of time.
fn waiting(exchange: &Exchange) -> Vec<&Pair> {
    let mut all: Vec<&Pair> = exchange.pairs.iter().filter(|pair| waited_s(pair) >= LEAST_WAIT).collect();
    all.sort_by(|a, b| waited_s(b).total_cmp(&waited_s(a)));
    all
}

fn waited_s(pair: &Pair) -> f64 {
    pair.sender_wait_s.unwrap_or(0.0) + pair.receiver_wait_s.unwrap_or(0.0)
}

fn waits(pairs: &[&Pair], all: &Waits) -> Table {
    let marked = messages_marked(all);
    let head = ["  FROM", "TO", "MESSAGES", "RECEIVER WAITED", "SENDER WAITED"];
    let mut table = Table::new(&head).numbers(&[2, 3, 4]);
    for pair in pairs.iter().take(MOST_WAITING) {
        table.push(vec![
            format!("  {}", pair.from),
            pair.to.clone(),
            volume(pair).0.to_string(),
            waited(pair.receiver_wait_s, marked),
            waited(pair.sender_wait_s, marked),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_waited_are_listed_below_the_matrix_the_longest_first() {
        let pair = |from: &str, to: &str, receiver_s: f64| Pair {
            from: from.to_owned(),
            to: to.to_owned(),
            messages: 2,
            bytes: 10,
            receiver_wait_s: Some(receiver_s),
            sender_wait_s: Some(0.0),
            ..Pair::default()
        };
        let mut report = JobReport::new("./app".into(), Vec::new());
        report.sections.peers.push(Exchange {
            communicator: "MPI_COMM_WORLD".into(),
            identity: "0x1".into(),
            size: 3,
            messages: 6,
            bytes: 30,
            pairs: vec![pair("0", "1", 0.5), pair("1", "2", 1.5), pair("2", "0", 0.0)],
            more_pairs: 0,
        });
        report.waits.messages = true;
        let terminal =
            crate::render::Terminal { width: 100, ..crate::render::Terminal::of(&std::io::stderr()) };
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        let at = shown.iter().position(|line| line.contains("RECEIVER WAITED")).unwrap_or_default();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&shown[at + 1]), "1 2 2 1.50 s 0 s", "{shown:#?}");
        assert_eq!(words(&shown[at + 2]), "0 1 2 500 ms 0 s", "{shown:#?}");
        assert_eq!(shown.len(), at + 3, "{shown:#?}");
        report.waits.estimated = Some(mpiscope_job::performance::waits::Estimated::default());
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert_eq!(words(&shown[at + 1]), "1 2 2 ~1.50 s ~0 s", "{shown:#?}");
        assert_eq!(shown[at + 3], "  ~: includes an estimate for waits that were not seen", "{shown:#?}");
        report.waits = Waits::default();
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert!(shown[at + 3].starts_with("  ~: from samples"), "{shown:#?}");
    }
}
