//! Places in the program: what was called there, how often and how long, and which calls are still open.

use std::collections::BTreeMap;

use super::{more, percent};
use crate::ps::rows::short;
use crate::render::{Block, ESTIMATED, Table, bytes, count, duration, time_of_calls};
use crate::run::banner::at_rank;
use mpiscope_job::Members;
use mpiscope_job::performance::report::JobReport;

/// Number of places shown.
const MOST: usize = 15;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let found = &report.call_sites;
    let mut blocks = still_open(report);
    if found.sites.is_empty() {
        return blocks;
    }
    blocks.push(table(report).named("calls by place").into());
    blocks.extend(more(MOST, found.sites.len(), ["place", "places"]));
    if report.times && found.sites.iter().take(MOST).any(|site| site.totals.estimated > 0) {
        blocks.push(Block::Line(format!("  {ESTIMATED}")));
    }
    let rest = found.rest.iter().fold(0u64, |sum, rest| sum.saturating_add(rest.totals.calls));
    if rest > 0 {
        let functions = count(found.rest.len(), "function");
        blocks
            .push(Block::Line(format!("  {rest} more calls of {functions} are counted without their place")));
    }
    blocks
}

/// Calls that have not returned, one line per function and place. The table counts only those that have.
fn still_open(report: &JobReport) -> Vec<Block> {
    let mut places: BTreeMap<(&str, Option<&str>), (Members, f64)> = BTreeMap::new();
    for rank in &report.ranks {
        for thread in rank.open_threads() {
            let function = thread.in_call.as_deref().unwrap_or_default();
            let (ranks, longest) = places.entry((function, thread.call_place.as_deref())).or_default();
            ranks.add(rank.world_number, rank.rank);
            *longest = longest.max(thread.in_call_s);
        }
    }
    let shown = places.iter().take(MOST).map(|((function, place), (ranks, longest))| {
        let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
        let time = if report.times { format!(", for up to {}", duration(*longest)) } else { String::new() };
        Block::Line(format!("  still open: {function}{place} on {}{time}", ranks.named()))
    });
    let lines: Vec<Block> = shown.collect();
    lines
        .into_iter()
        .chain(more(MOST, places.len(), ["place with open calls", "places with open calls"]))
        .collect()
}

fn table(report: &JobReport) -> Table {
    // The place comes last: it may take several lines.
    let head = ["  FUNCTION", "ON", "CALLS", "TIME", "% TIME", "MOST", "@RANK", "BYTES", "WHERE"];
    let mut table = Table::new(&head).numbers(&[2, 3, 4, 5, 7]);
    for site in report.call_sites.sites.iter().take(MOST) {
        let dash = || "-".to_owned();
        let timed = |time: Option<f64>| time.filter(|_| report.times);
        table.push(vec![
            format!("  {}", site.function),
            if site.object.is_empty() { dash() } else { short(&site.object) },
            site.totals.calls.to_string(),
            time_of_calls(timed(site.totals.time_s), site.totals.estimated),
            timed(site.totals.time_s).map_or_else(dash, |time| percent(time, report.thread_s)),
            timed(site.max.time_s).map_or_else(dash, duration),
            at_rank(&site.max),
            bytes(site.totals.bytes()),
            if site.place.is_empty() { "?".to_owned() } else { site.place.clone() },
        ]);
    }
    table
}
