//! Figures of the HTML page, as inline SVG. Each has an accessible name and repeats the contents of a table.

use super::sections::messages::size;
use super::sections::{name_of, peers};
use crate::render::{bytes, escape};
use maud::{Markup, html};
use mpiscope_job::RankReport;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::{Exchange, SizeClass};
use std::collections::BTreeMap;

/// Number of ranks shown in separate rows.
pub const MOST_ROWS: usize = 64;
/// Width of figures with a scale.
pub const WIDTH: f64 = 636.0;
/// Space for names on the left.
pub const LEFT: f64 = 80.0;
/// Width of a letter and height of a line in figures.
const LETTER: f64 = 7.0;
const LINE: f64 = 14.0;

/// Draws how the time of each rank is divided.
pub fn shares(report: &JobReport) -> Option<Markup> {
    if !report.times || report.ranks.is_empty() {
        return None;
    }
    let shown = report.ranks.iter().take(MOST_ROWS);
    let (line, height) = (18.0, 18.0 * shown.len() as f64);
    let longest = report.wall_s.max(1e-9);
    let parts = |rank: &RankReport| {
        let (useful, polling) = (rank.useful_share, rank.polling_share);
        [("useful", 0.0, useful), ("polling", useful, polling), ("mpi", useful + polling, rank.mpi_share)]
    };
    let bar = |number: usize, rank: &RankReport| {
        let y = number as f64 * line;
        let scale = WIDTH * rank.wall_s / longest;
        html! {
            text x=(LEFT - 6.0) y=(y + 13.0) text-anchor="end" { "rank " (name_of(rank)) }
            @for (class, before, share) in parts(rank) {
                rect class=(class) x=(number_of(LEFT + before * scale)) y=(y + 2.0) width=(number_of(share * scale)) height=(line - 4.0) {
                    title { "rank " (name_of(rank)) ": " (class) " " (format!("{:.1} %", share * 100.0)) }
                }
            }
        }
    };
    Some(html! {
        figure {
            (scrolled("How the time of each rank divides", &html! {
                svg viewBox=(format!("0 0 {} {height}", LEFT + WIDTH + 4.0)) role="img" aria-label="How the time of each rank divides" {
                    @for (number, rank) in shown.enumerate() { (bar(number, rank)) }
                }
            }))
            figcaption {
                span .key .useful {} "outside of MPI" span .key .polling {} "polling" span .key .mpi {} "in MPI; the width is the wall time"
                (first_of(report.ranks.len()))
            }
        }
    })
}

/// Makes a figure that is wider than the page move in itself.
pub fn scrolled(name: &str, figure: &Markup) -> Markup {
    html! { div .scroll tabindex="0" role="group" aria-label=(name) { (figure) } }
}

/// Notes that a figure shows only the first ranks, if there are more.
pub fn first_of(ranks: usize) -> String {
    if ranks > MOST_ROWS { format!("; the first {MOST_ROWS} of {ranks} ranks") } else { String::new() }
}

/// Draws how much each rank sends to each other rank; groups of consecutive ranks share a row and a column if there
/// are too many.
pub fn matrix(exchange: &Exchange) -> Option<Markup> {
    let names = peers::names(exchange);
    if names.len() < 2 {
        return None;
    }
    let together = names.len().div_ceil(MOST_ROWS);
    let groups: Vec<String> = names.chunks(together).map(group).collect();
    let group_of: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at / together)).collect();
    let mut cells: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for pair in &exchange.pairs {
        if let (Some(from), Some(to)) = (group_of.get(&*pair.from), group_of.get(&*pair.to)) {
            let moved = cells.entry((*from, *to)).or_default();
            *moved = moved.saturating_add(peers::volume(pair).1);
        }
    }
    let most = cells.values().copied().max().unwrap_or(0).max(1) as f64;
    let cell = (420.0 / groups.len() as f64).clamp(8.0, 40.0);
    let side = cell * groups.len() as f64;
    let longest = LETTER * groups.iter().map(String::len).max().unwrap_or(0) as f64 + 6.0;
    // One in so many rows and columns is named, so that names do not overlap.
    let named = (longest.max(LINE) / cell).ceil() as usize;
    let (left, top) = (longest.max(24.0), 24.0);
    // The last column's name may be wider than the column.
    let width = left + side + longest / 2.0;
    let one = if together == 1 { "rank" } else { "group of ranks" };
    let label = format!("Bytes from {one} (row) to {one} (column) on {}", escape(&exchange.communicator));
    let sizes = if together == 1 { String::new() } else { format!(", {together} ranks in each group") };
    Some(html! {
        figure {
            (scrolled(&label, &html! {
            svg .matrix viewBox=(format!("0 0 {} {}", width, top + side + 4.0)) style=(format!("width:{width}px")) role="img"
                aria-label=(label) {
                @for (row, from) in groups.iter().enumerate() {
                    @if row % named == 0 {
                        text x=(left - 6.0) y=(number_of(top + (row as f64 + 0.65) * cell)) text-anchor="end" { (from) }
                        text x=(number_of(left + (row as f64 + 0.5) * cell)) y=(top - 6.0) text-anchor="middle" { (from) }
                    }
                    @for (column, to) in groups.iter().enumerate() {
                        @let moved = cells.get(&(row, column)).copied().unwrap_or(0);
                        rect .cell x=(number_of(left + column as f64 * cell)) y=(number_of(top + row as f64 * cell))
                            width=(number_of(cell - 1.0)) height=(number_of(cell - 1.0))
                            fill-opacity=(number_of(shade(moved, most))) {
                            title { (from) " to " (to) ": " (bytes(moved)) }
                        }
                    }
                }
            }
            }))
            figcaption { (label) (sizes) "; full color: " (bytes(most as u64)) }
        }
    })
}

/// Returns how much color a cell has: even a little is told from nothing.
fn shade(moved: u64, most: f64) -> f64 {
    if moved == 0 { 0.0 } else { 0.1 + 0.9 * moved as f64 / most }
}

/// Names a group of ranks by the first and the last one.
fn group(names: &[String]) -> String {
    match names {
        [first, .., last] => format!("{first}..{last}"),
        one => one.concat(),
    }
}

/// Draws the number of messages by size.
pub fn sizes(classes: &[SizeClass]) -> Option<Markup> {
    let most = classes.iter().map(|class| class.sent.max(class.received)).max()?.max(1) as f64;
    let line = 26.0;
    let height = line * classes.len() as f64;
    let (left, width) = (LEFT + 40.0, WIDTH - 40.0);
    Some(html! {
        figure {
            (scrolled("Messages by size", &html! {
            svg viewBox=(format!("0 0 {} {height}", left + width + 4.0)) role="img" aria-label="Messages by size" {
                @for (number, class) in classes.iter().enumerate() {
                    @let y = number as f64 * line;
                    text x=(left - 6.0) y=(y + 16.0) text-anchor="end" { (size(class)) }
                    @for (name, count, lower) in [("sent", class.sent, 2.0), ("received", class.received, 13.0)] {
                        rect class=(name) x=(left) y=(y + lower) width=(number_of(count as f64 / most * width)) height="10" {
                            title { (size(class)) ": " (count) " " (name) }
                        }
                    }
                }
            }
            }))
            figcaption { span .key .sent {} "sent" span .key .received {} "received" }
        }
    })
}

fn number_of(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::Pair;

    fn ring(ranks: usize) -> String {
        let pair = |from: usize| Pair {
            from: from.to_string(),
            to: ((from + 1) % ranks).to_string(),
            messages: 1,
            bytes: 1000,
            ..Pair::default()
        };
        let exchange = Exchange {
            communicator: "c".into(),
            identity: "0x7".into(),
            size: ranks as u32,
            messages: ranks as u64,
            bytes: 1000 * ranks as u64,
            pairs: (0..ranks).map(pair).collect(),
            more_pairs: 0,
        };
        matrix(&exchange).unwrap().into_string()
    }

    #[test]
    fn many_ranks_share_the_cells_of_the_matrix_without_loss() {
        let few = ring(3);
        assert_eq!(few.matches("<rect").count(), 9);
        assert!(few.contains("<title>2 to 0: 1.00 kB</title>"), "{few}");
        let many = ring(1000);
        assert_eq!(many.matches("<rect").count(), 63 * 63);
        assert!(many.contains("<title>0..15 to 0..15: 15.0 kB</title>"), "{many}");
        assert!(many.contains("<title>992..999 to 0..15: 1.00 kB</title>") && many.len() < 1_000_000);
        assert!(many.contains("16 ranks in each group"));
        assert!(many.contains(">0..15</text>") && many.matches("<text").count() < 2 * 63 / 5, "{many}");
    }
}
