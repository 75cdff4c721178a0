//! The timeline of the HTML page: a row per rank, a cell per window, darker with more time in MPI. The table
//! of all windows serves readers who cannot see the figure.

use super::figures::{LEFT, MOST_ROWS, WIDTH, first_of, scrolled};
use super::sections::windows::share;
use crate::render::duration;
use maud::{Markup, html};
use mpiscope_job::performance::monitor::windows::{Window, Windows};

/// Height of a row, and of the scale below the rows.
const LINE: f64 = 14.0;

/// Renders the figure and its table.
pub fn timeline(windows: &Windows) -> Option<Markup> {
    let count = windows.list.len();
    if count < 2 || windows.ranks.is_empty() {
        return None;
    }
    let ranks = windows.ranks.len().min(MOST_ROWS);
    let (cell, height) = (WIDTH / count as f64, LINE * ranks as f64);
    let whole = windows.list.last().map_or(0.0, |last| last.from_s + windows.seconds);
    let label = "Share of each rank's time in MPI, by window of time; the table below says the same";
    Some(html! {
        figure {
            (scrolled("Time in MPI, by window of time", &html! {
            svg viewBox=(format!("0 0 {} {}", LEFT + WIDTH + 4.0, height + 18.0)) role="img"
                aria-label=(label) {
                @for (row, rank) in windows.ranks.iter().take(ranks).enumerate() {
                    text x=(LEFT - 6.0) y=(number(row as f64 * LINE + 11.0)) text-anchor="end" { "rank " (rank) }
                    @for (column, window) in windows.list.iter().enumerate() {
                        @if let Some(share) = window.mpi.get(row).copied().flatten() {
                            rect .cell x=(number(LEFT + column as f64 * cell)) y=(number(row as f64 * LINE + 1.0))
                                width=(number(cell)) height=(number(LINE - 2.0)) fill-opacity=(number(f64::from(share))) {
                                title { "rank " (rank) ", from " (duration(window.from_s)) ": " (percent(Some(f64::from(share)))) " % in MPI" }
                            }
                        }
                    }
                }
                text x=(LEFT) y=(number(height + 14.0)) { "0 s" }
                text x=(LEFT + WIDTH) y=(number(height + 14.0)) text-anchor="end" { (duration(whole)) }
            }
            }))
            figcaption { "Share of each rank's time in MPI, in windows of " (duration(windows.seconds)) "; full color: all of it" (first_of(windows.ranks.len())) }
        }
        details {
            summary { "All " (count) " windows as a table" }
            div .scroll tabindex="0" role="group" aria-label="all windows" {
                table {
                    caption { span { "all windows" } }
                    thead { tr {
                        @for head in ["FROM", "PARALLEL", "LOAD BALANCE", "COMMUNICATION", "SERIALIZATION", "TRANSFER", "% MPI", "LONGEST"] {
                            th scope="col" { (head) }
                        }
                    } }
                    tbody { @for window in &windows.list { (row(windows, window)) } }
                }
            }
        }
    })
}

fn row(windows: &Windows, window: &Window) -> Markup {
    let slowest = window.slowest.and_then(|at| windows.ranks.get(at));
    html! {
        tr {
            th scope="row" { (duration(window.from_s)) }
            @for part in [window.parallel_efficiency, window.load_balance, window.communication_efficiency] {
                td .n { (percent(part)) }
            }
            @for part in [window.serialisation_efficiency, window.transfer_efficiency, share(window)] {
                td .n { (percent(part)) }
            }
            td { @if let Some(rank) = slowest { "rank " (rank) } }
        }
    }
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "-".to_owned(), |part| format!("{:.1}", 100.0 * part))
}

fn number(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_row_and_every_window_a_cell_and_a_row_in_the_table() {
        let window = |at: u32| Window {
            from_s: f64::from(at),
            load_balance: Some(0.5),
            slowest: Some(1),
            mpi: vec![Some(0.75), (at > 0).then_some(0.25)],
            ..Window::default()
        };
        let windows = Windows {
            seconds: 1.0,
            ranks: vec!["0".into(), "<1>".into()],
            list: (0..3).map(window).collect(),
            ..Windows::default()
        };
        let page = timeline(&windows).unwrap().into_string();
        let count = |what: &str| page.matches(what).count();
        assert_eq!(
            (count("<rect"), count("<tr><th scope=\"row\""), count("role=\"img\"")),
            (5, 3, 1),
            "{page}"
        );
        assert!(page.contains("rank &lt;1&gt;, from 1.00 s: 25.0 % in MPI"), "{page}");
        assert!(!page.contains("the first"), "{page}");
        let many = Windows { ranks: (0..65).map(|rank| rank.to_string()).collect(), ..windows };
        assert!(timeline(&many).unwrap().into_string().contains("the first 64 of 65 ranks"));
        assert!(timeline(&Windows::default()).is_none());
    }
}
